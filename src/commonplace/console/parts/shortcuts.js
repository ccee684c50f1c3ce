// Keys that do something: one alone, or two after each other ("g m"). Not while somebody types.

import { h } from '../dom.js';
import { t } from '../words.js';
import { dialog } from './dialog.js';

const known = new Map();
let before = '';
let timer;

/** `act` is called for `keys`, until `signal` aborts. `told` is what the list of shortcuts says. */
export function shortcut(keys, told, act, signal = null) {
  const entry = { told, act };
  known.set(keys, entry);
  signal?.addEventListener('abort', () => known.get(keys) === entry && known.delete(keys));
}

export function showShortcuts() {
  dialog(
    t('frame.shortcuts'),
    h(
      'dl',
      { class: 'shortcuts' },
      [...known].map(([keys, { told }]) => [
        h(
          'dt',
          {},
          keys.split(' ').map((key) => h('kbd', {}, key)),
        ),
        h('dd', {}, told),
      ]),
    ),
  );
}

// A box that is ticked takes no letters.
const typing = (target) => target.closest?.('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]');

addEventListener('keydown', (event) => {
  if (
    event.defaultPrevented ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    typing(event.target) ||
    document.querySelector('dialog[open]')
  )
    return;
  const keys = [before ? `${before} ${event.key}` : null, event.key].filter(Boolean);
  const found = keys.map((one) => known.get(one)).find(Boolean);
  clearTimeout(timer);
  before = '';
  if (found) {
    event.preventDefault();
    found.act(event);
  } else if ([...known.keys()].some((one) => one.startsWith(`${event.key} `))) {
    before = event.key;
    timer = setTimeout(() => {
      before = '';
    }, 1200);
  }
});
