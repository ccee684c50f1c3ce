// Short messages at the foot of the page, spoken by screen readers, some with a thing to do.

import { h } from '../dom.js';
import { t } from '../words.js';

let shelf;

/** Say `text`. `action`: { label, act } is a button. It goes away by itself, later where there is something to do. */
export function toast(text, { kind = 'news', action = null, seconds = action ? 10 : kind === 'problem' ? 8 : 4 } = {}) {
  shelf ??= document.body.appendChild(
    h('div', { 'class': 'toasts', 'role': 'region', 'aria-live': 'polite', 'aria-label': t('frame.messages') }),
  );
  const gone = () => made.remove();
  const act = async () => {
    gone();
    await action.act();
  };
  const made = h(
    'div',
    { class: `toast ${kind}`, role: kind === 'problem' ? 'alert' : 'status' },
    h('span', {}, text),
    action && h('button', { type: 'button', class: 'quiet', on: { click: act } }, action.label),
    h('button', { 'type': 'button', 'class': 'quiet', 'aria-label': t('frame.close'), 'on': { click: gone } }, '×'),
  );
  if (shelf.childElementCount > 3) shelf.firstElementChild.remove();
  shelf.append(made);
  let timer = setTimeout(gone, seconds * 1000);
  // Whoever reads it with a pointer or the keyboard is not hurried.
  for (const [enter, leave] of [
    ['pointerenter', 'pointerleave'],
    ['focusin', 'focusout'],
  ]) {
    made.addEventListener(enter, () => clearTimeout(timer));
    made.addEventListener(leave, () => {
      timer = setTimeout(gone, 2000);
    });
  }
  return gone;
}
