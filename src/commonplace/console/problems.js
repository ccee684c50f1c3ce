// Errors as people read them. The daemon speaks English; another language has a module with a sentence for each code.

import { Problem } from './api.js';
import { toast } from './parts/toast.js';
import { lookup, replaceNames, t } from './words.js';

/** Whether it is no failure but the answer that somebody else was asked to approve it. */
const isRequest = (error) => error.code === 'review_required' && Boolean(error.details?.request);

/** What an error means, in words alone. */
export function errorMessage(error) {
  if (error.code === 'out_of_reach') return t('frame.problem.out_of_reach');
  if (isRequest(error)) return t('frame.requested');
  return replaceNames(lookup(`problems.${error.code}`) ?? '{message}', error);
}

/** The same as a sentence of its own: that something did not work, and why. */
export const errorNotice = (error) =>
  error.code === 'out_of_reach' ? errorMessage(error) : t('frame.problem', { message: errorMessage(error) });

/** Show an error as a toast, unless it only says that the page was left. */
export function showError(error) {
  if (error.name === 'AbortError') return;
  if (isRequest(error)) return void toast(errorMessage(error), { seconds: 12 });
  if (!(error instanceof Problem)) console.error(error);
  toast(errorNotice(error), { kind: 'problem' });
}
