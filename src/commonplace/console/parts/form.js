// A form in a dialog that stays, with all that was typed, until the server has said yes.

import { fill, fresh, h } from '../dom.js';
import { errorNotice } from '../problems.js';
import { t } from '../words.js';
import { dialog } from './dialog.js';

const KEPT = 5;
let reasons = []; // given since the console was opened, the latest first

/** A label, what it labels, and a hint below. */
export function field(label, control, hint = null) {
  control.id ||= fresh('field');
  const note = hint && h('small', { class: 'soft', id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: control.id }, label), control, note);
}

/** The field for a reason, which must be given. Those given lately are offered: whoever has forty to decide on writes one for many. */
export function reasoned() {
  const list = h(
    'datalist',
    { id: fresh('reasons') },
    reasons.map((value) => h('option', { value })),
  );
  const why = h('input', { name: 'reason', list: list.id, required: true, maxlength: 500, autocomplete: 'off' });
  const row = field(t('frame.reason'), why, t('frame.reason.hint'));
  row.append(list);
  return { why, row };
}

function keep(reason) {
  if (reason) reasons = [reason, ...reasons.filter((one) => one !== reason)].slice(0, KEPT);
}

/**
 * Ask for what `content` holds, then `act()`: where that throws a Problem it is told inside the dialog. Answers what `act` answered, or null
 * where the person thought better of it.
 */
export function form(title, content, { label = t('frame.ok'), danger = false, wide = false, focus = null, act }) {
  return new Promise((resolve) => {
    let answer = null;
    const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    const go = h('button', { type: 'submit', class: danger ? 'danger' : 'primary' }, label);
    const submit = async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      go.disabled = true;
      problem.hidden = true;
      try {
        answer = { done: await act() };
        keep(body.querySelector('[name=reason]')?.value.trim());
        made.close();
      } catch (error) {
        if (error.name === 'AbortError') return;
        fill(problem, errorNotice(error));
        problem.hidden = false;
      } finally {
        go.disabled = false;
      }
    };
    const body = h(
      'form',
      { class: 'stack', on: { submit } },
      content,
      problem,
      h('div', { class: 'buttons' }, h('button', { type: 'button', on: { click: () => made.close() } }, t('frame.cancel')), go),
    );
    const made = dialog(title, body, { wide, onClose: () => resolve(answer?.done ?? null) });
    (focus ?? body.querySelector('input:not([type=radio]), textarea, select') ?? go).focus();
  });
}
