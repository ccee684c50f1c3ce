// Several scopes: a picker that adds, and a chip with a way out for each that was chosen. None means all.

import { fill, h } from '../dom.js';
import { t } from '../words.js';
import { picker } from './picker.js';

/**
 * `onChange(scopes)` is told what is chosen now. `words`: { label, add, remove(scope) }, in the page's own language. Answers the element;
 * `element.scopes` is the list.
 */
export function scopes({ value = [], onChange = () => {}, words, signal }) {
  let chosen = [...value];
  const chips = h('ul', { 'class': 'chips', 'aria-label': words.label });
  const box = picker({ all: false, label: words.add, signal, onPick: add });

  function add(scope) {
    box.pick('');
    if (!scope || chosen.includes(scope)) return;
    chosen = [...chosen, scope];
    paint();
    onChange(chosen);
    // The picker gives the focus away; whoever uses the keyboard goes on from what was just added.
    chips.lastElementChild.querySelector('button').focus();
  }

  function drop(scope) {
    chosen = chosen.filter((one) => one !== scope);
    paint();
    onChange(chosen);
    box.querySelector('input').focus();
  }

  function paint() {
    fill(
      chips,
      chosen.length
        ? chosen.map((scope) =>
            h(
              'li',
              { class: 'chip' },
              h('span', { class: 'mono cut' }, scope),
              h(
                'button',
                { 'type': 'button', 'class': 'quiet', 'aria-label': words.remove(scope), 'on': { click: () => drop(scope) } },
                '×',
              ),
            ),
          )
        : h('li', { class: 'soft' }, t('frame.scope.all')),
    );
  }

  paint();
  const element = h('div', { class: 'scopes' }, box, chips);
  Object.defineProperty(element, 'scopes', { get: () => chosen });
  return element;
}

/** Scopes in an address, and out of it again: a comma is between them, one in a name is escaped. */
export const scopesWritten = (list) => list.map((one) => one.replace(/[%,]/g, encodeURIComponent)).join(',');

export function scopesRead(text = '') {
  return text
    .split(',')
    .filter(Boolean)
    .map((one) => {
      try {
        return decodeURIComponent(one);
      } catch {
        return one;
      }
    });
}
