// Which scopes a key reaches: patterns as chips, each said in words.

import { fill, fresh, h } from '../dom.js';

const KINDS = ['session', 'agent', 'workspace', 'channel', 'user'];

/** How a pattern is to be read: { name, kind, id }; null where it is none. */
export function reading(written) {
  if (written === '*') return { name: 'every', kind: '', id: '' };
  if (written === 'global') return { name: 'global', kind: '', id: '' };
  const at = written.indexOf(':');
  const [kind, id] = [written.slice(0, at), written.slice(at + 1)];
  if (at < 0 || !KINDS.includes(kind) || !id || id.slice(0, -1).includes('*') || written.length > 300) return null;
  if (id === '*') return { name: 'kind', kind, id: '' };
  return id.endsWith('*') ? { name: 'begin', kind, id: id.slice(0, -1) } : { name: 'one', kind, id };
}

/**
 * A box that takes patterns one by one. `words`: { label, hint, add, wrong, told(reading), remove(pattern) }. Answers the element; `element.patterns` are
 * those there are, `element.settled()` takes in what is still in the box and answers whether all is well.
 */
export function patterns(words) {
  const id = fresh('pattern');
  const held = [];
  const box = h('input', {
    id,
    'class': 'mono',
    'autocomplete': 'off',
    'spellcheck': 'false',
    'placeholder': 'workspace:web-*',
    'aria-describedby': `${id}-hint ${id}-told`,
    'on': { input: hear, keydown: onKey },
  });
  const told = h('small', { id: `${id}-told`, role: 'status', class: 'soft' });
  const list = h('ul', { 'class': 'chips', 'aria-label': words.label });
  const element = h(
    'div',
    { class: 'field' },
    h('label', { for: id }, words.label),
    list,
    h(
      'div',
      { class: 'row adding' },
      box,
      h(
        'button',
        {
          type: 'button',
          on: {
            click: () => {
              add();
              box.focus();
            },
          },
        },
        words.add,
      ),
    ),
    told,
    h('small', { id: `${id}-hint`, class: 'soft' }, words.hint),
  );

  function hear() {
    const written = box.value.trim();
    const read = written && reading(written);
    told.className = written && !read ? 'problem' : 'soft';
    box.toggleAttribute('aria-invalid', Boolean(written && !read));
    fill(told, !written ? '' : read ? words.told(read) : words.wrong);
  }

  function add() {
    const written = box.value.trim();
    if (!written) return true;
    hear();
    if (!reading(written)) return false;
    if (!held.includes(written)) held.push(written);
    box.value = '';
    hear();
    paint();
    return true;
  }

  function paint() {
    fill(
      list,
      held.map((one) =>
        h(
          'li',
          { class: 'chip' },
          h('span', { class: 'mono' }, one),
          h('small', { class: 'soft' }, words.told(reading(one))),
          h('button', { 'type': 'button', 'class': 'quiet', 'aria-label': words.remove(one), 'on': { click: () => drop(one) } }, '×'),
        ),
      ),
    );
  }

  function drop(one) {
    held.splice(held.indexOf(one), 1);
    paint();
    box.focus();
  }

  function onKey(event) {
    if (event.key === 'Enter' && box.value.trim()) {
      event.preventDefault();
      add();
    } else if (event.key === 'Backspace' && !box.value && held.length) {
      held.pop();
      paint();
    }
  }

  element.settled = () => {
    if (add() && held.length) return true;
    box.focus();
    return false;
  };
  Object.defineProperty(element, 'patterns', { get: () => [...held] });
  return element;
}
