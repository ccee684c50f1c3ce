// The switch with which an admin looks at other people's memory, too; and the sentence that says what that means.

import { h } from '../dom.js';
import { may } from '../session.js';
import { t } from '../words.js';

/** Whether the address asks for everyone's memory, and this person may. */
export const isEveryone = (query) => query.everyone === 'true' && may('admin');

/**
 * `onChange(isOn)` is called when it is switched. Answers `element`, the switch, which is null for anybody but admins; `note`, the sentence; and
 * `paint({ isOn, hasScope })`: whoever names a scope is asked for that alone.
 */
export function everyoneSwitch(onChange) {
  const box = h('input', { type: 'checkbox', on: { change: () => onChange(box.checked) } });
  const note = h('p', { class: 'warn small everyone-note', role: 'status', hidden: true }, t('frame.everyone.note'));
  const label = h('label', { class: 'check everyone' }, box, ' ', t('frame.everyone'));
  const paint = ({ isOn, hasScope }) => {
    box.checked = isOn && !hasScope;
    box.disabled = hasScope;
    label.title = t(hasScope ? 'frame.everyone.scope' : 'frame.everyone.note');
    note.hidden = !box.checked;
  };
  return { element: may('admin') ? label : null, note, paint };
}
