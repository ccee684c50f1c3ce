// Which scopes a key reaches: patterns as chips, each in words.

import { fill, fresh, h } from '../dom.js';

const KINDS = ['session', 'agent', 'workspace', 'channel', 'user'];

/** What a pattern means: { name, kind, id }; null if it is none. */
export function parsePattern(text) {
  if (text === '*') return { name: 'every', kind: '', id: '' };
  if (text === 'global') return { name: 'global', kind: '', id: '' };
  const at = text.indexOf(':');
  const [kind, id] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 0 || !KINDS.includes(kind) || !id || id.slice(0, -1).includes('*') || text.length > 300) return null;
  if (id === '*') return { name: 'kind', kind, id: '' };
  return id.endsWith('*') ? { name: 'begin', kind, id: id.slice(0, -1) } : { name: 'one', kind, id };
}

/**
 * A box that takes patterns one by one. `words`: { label, hint, add, wrong, describe(pattern), remove(text) }. Answers the element;
 * `element.patterns` are those there are, `element.takeAll()` takes in what is still in the box and answers whether all is well.
 */
export function patterns(words) {
  return new PatternField(words).element;
}

class PatternField {
  element;
  #words;
  #patterns = [];
  #box;
  #status;
  #list;

  constructor(words) {
    this.#words = words;
    this.element = this.#build();
    this.element.takeAll = () => {
      if (this.#add() && this.#patterns.length) return true;
      this.#box.focus();
      return false;
    };
    Object.defineProperty(this.element, 'patterns', { get: () => [...this.#patterns] });
  }

  #build() {
    const { label, hint, add } = this.#words;
    const id = fresh('pattern');
    this.#box = h('input', {
      id,
      'class': 'mono',
      'autocomplete': 'off',
      'spellcheck': 'false',
      'placeholder': 'workspace:web-*',
      'aria-describedby': `${id}-hint ${id}-status`,
      'on': { input: () => this.#describe(), keydown: (event) => this.#onKey(event) },
    });
    this.#status = h('small', { id: `${id}-status`, role: 'status', class: 'soft' });
    this.#list = h('ul', { 'class': 'chips', 'aria-label': label });
    const click = () => {
      this.#add();
      this.#box.focus();
    };
    return h(
      'div',
      { class: 'field' },
      h('label', { for: id }, label),
      this.#list,
      h('div', { class: 'row adding' }, this.#box, h('button', { type: 'button', on: { click } }, add)),
      this.#status,
      h('small', { id: `${id}-hint`, class: 'soft' }, hint),
    );
  }

  /** Say below the box what is in it. */
  #describe() {
    const text = this.#box.value.trim();
    const pattern = text && parsePattern(text);
    const isWrong = Boolean(text) && !pattern;
    this.#status.className = isWrong ? 'problem' : 'soft';
    this.#box.toggleAttribute('aria-invalid', isWrong);
    fill(this.#status, isWrong ? this.#words.wrong : pattern && this.#words.describe(pattern));
  }

  /** Take in what is in the box. False: it is no pattern. */
  #add() {
    const text = this.#box.value.trim();
    if (!text) return true;
    this.#describe();
    if (!parsePattern(text)) return false;
    if (!this.#patterns.includes(text)) this.#patterns.push(text);
    this.#box.value = '';
    this.#describe();
    this.#paint();
    return true;
  }

  #paint() {
    const { describe, remove } = this.#words;
    const chip = (text) =>
      h(
        'li',
        { class: 'chip' },
        h('span', { class: 'mono' }, text),
        h('small', { class: 'soft' }, describe(parsePattern(text))),
        h('button', { 'type': 'button', 'class': 'quiet', 'aria-label': remove(text), 'on': { click: () => this.#remove(text) } }, '×'),
      );
    fill(this.#list, this.#patterns.map(chip));
  }

  #remove(text) {
    this.#patterns = this.#patterns.filter((other) => other !== text);
    this.#paint();
    this.#box.focus();
  }

  #onKey(event) {
    if (event.key === 'Enter' && this.#box.value.trim()) {
      event.preventDefault();
      this.#add();
    } else if (event.key === 'Backspace' && !this.#box.value && this.#patterns.length) {
      this.#patterns.pop();
      this.#paint();
    }
  }
}
