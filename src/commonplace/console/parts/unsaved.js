// What was typed and not stored: whoever would leave it is asked first.

import { t } from '../words.js';
import { confirm } from './dialog.js';

const held = new Set();

/** As long as `isTouched()` there is something to lose, until `signal` aborts. */
export function unsaved(isTouched, signal = null) {
  held.add(isTouched);
  signal?.addEventListener('abort', () => held.delete(isTouched));
}

const isUnsaved = () => [...held].some((one) => one());

/** Whether what was typed may be lost; true at once where nothing was. */
export const mayBeLost = async (isTouched = isUnsaved) =>
  !isTouched() || Boolean(await confirm(t('frame.leave'), t('frame.leave.ask'), { label: t('frame.leave.go'), danger: true }));

addEventListener('beforeunload', (event) => {
  if (isUnsaved()) event.preventDefault();
});
