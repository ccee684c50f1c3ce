// A secret that is shown this once: it stays until somebody says that they have it.

import { fill, fresh, h } from '../dom.js';
import { t } from '../words.js';
import { dialog } from './dialog.js';

/** Show `secret`. `words`: { title, warning, label, kept } are the page's. Resolves when it is put away. */
export function secretShown(secret, words) {
  return new Promise((resolve) => {
    const id = fresh('secret');
    const box = h('textarea', {
      id,
      class: 'mono',
      rows: 2,
      value: secret,
      readOnly: true,
      spellcheck: 'false',
      autocomplete: 'off',
      on: { focus: () => box.select() },
    });
    const told = h('p', { role: 'status', class: 'good small' });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(secret);
        fill(told, t('frame.copied'));
      } catch {
        // Browsers keep the clipboard from pages that came without TLS from another machine.
        box.focus();
        fill(told, words.select);
      }
    };
    const made = dialog(
      words.title,
      h(
        'div',
        { class: 'stack' },
        h('p', { class: 'warn' }, h('strong', {}, words.warning)),
        h('label', { for: id }, words.label),
        h('div', { class: 'row secret' }, box, h('button', { type: 'button', on: { click: copy } }, t('frame.copy'))),
        told,
        h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', on: { click: () => made.close() } }, words.kept)),
      ),
      {
        onClose: () => {
          box.value = '';
          resolve();
        },
      },
    );
    // Not by a slip: what is closed here is gone.
    made.addEventListener('cancel', (event) => event.preventDefault());
    made.addEventListener('click', (event) => event.target === made && event.stopImmediatePropagation(), { capture: true });
    box.focus();
  });
}
