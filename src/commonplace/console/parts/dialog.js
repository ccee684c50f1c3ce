// Dialogs over the page, on the browser's own <dialog>: Escape closes, the focus stays inside and comes back.

import { fresh, h } from '../dom.js';
import { t } from '../words.js';

/** Open a dialog with this title and content. Answers it; `dialog.close()` closes it and removes it. */
export function dialog(title, content, { wide = false, onClose = () => {} } = {}) {
  const id = fresh('dialog');
  const back = document.activeElement;
  const made = h(
    'dialog',
    { 'class': wide ? 'wide' : '', 'aria-labelledby': id },
    h(
      'div',
      { class: 'dialog-head' },
      h('h2', { id }, title),
      h('button', { 'type': 'button', 'class': 'quiet', 'aria-label': t('frame.close'), 'on': { click: () => made.close() } }, '×'),
    ),
    content,
  );
  made.addEventListener('close', () => {
    made.remove();
    back?.focus?.();
    onClose();
  });
  // A click beside it closes it; one on its edge, or a selection that was drawn out of it, does not: something may be typed inside.
  let beside = false;
  made.addEventListener('pointerdown', (event) => {
    beside = event.target === made && isBeside(made, event);
  });
  made.addEventListener('click', (event) => {
    if (beside && event.target === made && isBeside(made, event)) made.close();
  });
  document.body.append(made);
  made.showModal();
  return made;
}

function isBeside(element, { clientX: x, clientY: y }) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return x < left || x > right || y < top || y > bottom;
}

/**
 * Ask before something is done. With `reason: true` a reason is asked for, with `'required'` it must be given. `extra` is shown
 * between the text and the buttons; `focus` is the field in it to begin with. Answers null where the person thought better of it, else { reason }.
 */
export function confirm(title, text, { label = t('frame.ok'), danger = false, reason = false, extra = null, focus = null } = {}) {
  return new Promise((resolve) => {
    let answer = null;
    const id = fresh('reason');
    const why = reason && h('input', { id, required: reason === 'required', maxlength: 500, autocomplete: 'off' });
    const form = h(
      'form',
      {
        method: 'dialog',
        on: {
          submit: (event) => {
            event.preventDefault();
            answer = { reason: why ? why.value.trim() || null : null };
            made.close();
          },
        },
      },
      text && h('p', {}, text),
      extra,
      why && h('label', { for: id }, t('frame.reason'), h('small', { class: 'soft' }, ' ', t('frame.reason.hint'))),
      why,
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', on: { click: () => made.close() } }, t('frame.cancel')),
        h('button', { type: 'submit', class: danger ? 'danger' : 'primary' }, label),
      ),
    );
    const made = dialog(title, form, { onClose: () => resolve(answer) });
    (focus ?? (why || form.querySelector('[type=submit]'))).focus();
    focus?.select();
  });
}

export function closeAll() {
  for (const one of document.querySelectorAll('dialog[open]')) one.close();
}
