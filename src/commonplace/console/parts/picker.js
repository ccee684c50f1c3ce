// The scope picker: a box that searches the scopes there are, by pointer or keyboard (an ARIA combobox).

import { get } from '../api.js';
import { eager, fill, fresh, h } from '../dom.js';
import { may } from '../session.js';
import { compact, t } from '../words.js';

const KINDS = ['session', 'agent', 'workspace', 'channel', 'user'];
const MOST_OPTIONS = 50;
const CLOSE_AFTER = 120; // milliseconds without the focus

const isScope = (text) => text === 'global' || KINDS.some((kind) => text.startsWith(`${kind}:`) && text.length > kind.length + 1);

/** Whether a scope has members: others are everybody's, or one person's. */
export const hasMembers = (scope) => /^(session|channel):/.test(scope);

/**
 * `onPick(scope)` is called with what was picked: a scope, or '' for all of them where `all` allows it, which is called `none`. With `anew` a scope
 * that is not there yet may be named. Answers the element; `element.pick(scope)` sets it and calls nobody.
 */
export function picker(options) {
  return new Picker(options).element;
}

class Picker {
  element;
  #options;
  #box;
  #list;
  #scope;
  #entries = []; // { scope, records, isNew }
  #active = -1;
  #request = null; // the AbortController of the last search
  #coming = null; // the promise of the last search
  #isTyped = false; // since the last search
  #closeTimer;

  constructor({ value = '', all = true, anew = false, label = t('frame.scope'), none = t('frame.scope.all'), onPick, signal = null }) {
    this.#options = { all, anew, label, none, onPick, signal };
    this.#scope = value;
    this.#build();
    this.element = h('div', { class: 'picker' }, this.#box, this.#list);
    this.element.pick = (scope) => {
      this.#scope = scope;
      this.#box.value = scope;
    };
    Object.defineProperty(this.element, 'scope', { get: () => this.#scope });
  }

  #build() {
    const { all, label, none } = this.#options;
    const id = fresh('scopes');
    const searchEagerly = eager(() => this.#isTyped && this.#search(this.#box.value.trim()));
    this.#box = h('input', {
      'type': 'text',
      'role': 'combobox',
      'aria-label': label,
      'aria-expanded': 'false',
      'aria-controls': id,
      'aria-autocomplete': 'list',
      'autocomplete': 'off',
      'spellcheck': 'false',
      'placeholder': all ? none : t('frame.scope.choose'),
      'class': 'mono',
      'value': this.#scope,
      'on': {
        focus: () => {
          // Whoever is back at once finds it open.
          clearTimeout(this.#closeTimer);
          this.#box.select();
          this.#search('');
        },
        input: () => {
          this.#isTyped = true;
          searchEagerly();
        },
        keydown: (event) => this.#onKey(event),
        blur: () => {
          this.#closeTimer = setTimeout(() => this.#close(), CLOSE_AFTER);
        },
      },
    });
    this.#list = h('ul', { id, 'role': 'listbox', 'aria-label': label, 'hidden': true, 'class': 'options' });
  }

  // ---- the options

  #search(text) {
    this.#coming = this.#load(text);
    return this.#coming;
  }

  async #load(text) {
    const { all, anew, signal } = this.#options;
    this.#isTyped = false;
    this.#request?.abort();
    this.#request = new AbortController();
    let entries = [];
    try {
      // An admin may name every scope, also those that are somebody else's.
      const everyone = may('admin') || undefined;
      const { scopes } = await get('/v1/scopes', { q: text, limit: MOST_OPTIONS, everyone }, { signal: this.#request.signal });
      entries = scopes.map(({ scope, records }) => ({ scope, records }));
    } catch (error) {
      if (error.name === 'AbortError') return;
    }
    this.#entries = entries;
    if (document.activeElement !== this.#box || signal?.aborted) return;
    if (all && !text) entries.unshift({ scope: '', records: null });
    if (anew && isScope(text) && !entries.some(({ scope }) => scope === text)) entries.unshift({ scope: text, records: null, isNew: true });
    this.#active = entries.findIndex(({ scope }) => scope === (text || this.#scope));
    this.#paint();
  }

  #paint() {
    const nothing = { 'class': 'soft', 'role': 'option', 'aria-disabled': 'true', 'aria-selected': 'false' };
    fill(
      this.#list,
      this.#entries.length ? this.#entries.map((entry, index) => this.#option(entry, index)) : h('li', nothing, t('frame.scope.none')),
    );
    this.#list.hidden = false;
    this.#box.setAttribute('aria-expanded', 'true');
    if (this.#active >= 0) {
      this.#box.setAttribute('aria-activedescendant', `${this.#list.id}-${this.#active}`);
      this.#list.children[this.#active]?.scrollIntoView({ block: 'nearest' });
    } else this.#box.removeAttribute('aria-activedescendant');
  }

  #option({ scope, records, isNew }, index) {
    const isActive = index === this.#active;
    const pointerdown = (event) => {
      event.preventDefault();
      this.#pick(scope);
    };
    return h(
      'li',
      {
        'role': 'option',
        'id': `${this.#list.id}-${index}`,
        'aria-selected': String(isActive),
        'class': isActive ? 'active' : '',
        'on': { pointerdown },
      },
      h('span', { class: scope ? 'mono' : '' }, isNew ? t('frame.scope.new', { scope }) : scope || this.#options.none),
      records !== null && h('span', { class: 'soft small' }, compact(records)),
    );
  }

  // ---- picking

  #close() {
    this.#list.hidden = true;
    this.#box.setAttribute('aria-expanded', 'false');
    this.#box.removeAttribute('aria-activedescendant');
    this.#box.value = this.#scope;
  }

  #pick(scope) {
    this.#scope = scope;
    this.#close();
    this.#box.blur();
    this.#options.onPick?.(scope);
  }

  #onKey(event) {
    if (event.isComposing) return;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (this.#list.hidden) return void this.#search(this.#box.value.trim());
      const { length } = this.#entries;
      this.#active = (this.#active + (event.key === 'ArrowDown' ? 1 : -1) + length) % Math.max(1, length);
      this.#paint();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      this.#pickTyped();
    } else if (event.key === 'Escape' && !this.#list.hidden) {
      // It closes the list, not the dialog around it.
      event.preventDefault();
      event.stopPropagation();
      this.#close();
    }
  }

  async #pickTyped() {
    const { all, anew } = this.#options;
    // Somebody was quicker than the search: what is listed answers an older question.
    await (this.#isTyped ? this.#search(this.#box.value.trim()) : this.#coming);
    if (document.activeElement !== this.#box) return;
    const text = this.#box.value.trim();
    const [first] = this.#entries;
    const active = this.#entries[this.#active];
    if (active) this.#pick(active.scope);
    else if (first && text && !first.isNew) this.#pick(first.scope);
    else if (anew && isScope(text)) this.#pick(text);
    else if (all && !text) this.#pick('');
  }
}
