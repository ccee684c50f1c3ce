// A list that stays quick at a hundred thousand rows: only those in sight are in the document, all of one height.

import { fill, h } from '../dom.js';
import { errorNotice } from '../problems.js';
import { t } from '../words.js';

const OVERSCAN = 8; // rows above and below those in sight
const MOST_PRINTED = 2000;
const AHEAD = 60; // so many rows before the last the next page is asked for

/**
 * `load(cursor, signal)` answers { rows, cursor }: the next rows, and where to go on (null: that is all). `row(record, index)` makes the cells
 * of a row; `onOpen(record)` is for Enter and a click on a row, `onActive(record)` for the row that the keys are at, or null. `height` is in pixels.
 * `columns`: the names of the columns. `empty()`: what to say if there is nothing. `onRows(rows, isEnd)`: there are other rows now.
 *
 * Answers the element with `reload()`, `coming` (a promise: the rows that were asked for last are there, or did not come), `rows`, `active`,
 * `update(id, row)`, `drop(id)`, `insert(row, index)`, `replace(rows, ids)`, `repaint()`, `focusOn(index)`. While `reload` waits for its rows,
 * those before it stay in sight, and are no longer there for anybody who asks.
 */
export function endless(options) {
  return new EndlessList(options).element;
}

class EndlessList {
  element;
  #options;
  #head;
  #body;
  #note;
  #nodes = new Map(); // id -> { node, index, row } of each row in the document

  #rows = [];
  #active = 0; // the index that the keys are at
  #announced = null; // the row that onActive was called with last

  #cursor = null;
  #isEnd = false;
  #isBroken = false; // the last page did not come
  #isLoading = false;
  #coming = null; // the promise of the last load
  #generation = 0; // counts reloads: what an older one loads is dropped
  #abort = new AbortController(); // of the rows since the last reload
  #isStale = false; // what is in sight was asked for before the last reload

  // As the browser said last: to ask it again while rows come and go would lay all of them out at once.
  #top = 0;
  #viewport = 0;
  #isPrinting = false; // on paper nobody scrolls

  constructor({ id = (row) => row.id, height = 56, columns = [], ...options }) {
    this.#options = {
      empty: () => t('frame.nothing'),
      onOpen: () => {},
      onRows: () => {},
      onActive: () => {},
      ...options,
      id,
      height,
    };
    this.element = this.#build(columns);
    this.#expose();
    this.#watch();
    // The first rows are asked for before anything has a size.
    this.#coming = Promise.resolve().then(() => this.#load());
  }

  // ---- the element

  #build(columns) {
    const { label, height } = this.#options;
    this.#body = h('div', { class: 'endless-rows', role: 'rowgroup' });
    // Plain: a grid may hold nothing with a role but rows.
    this.#note = h('div', { class: 'soft endless-note' });
    const names = columns.map((name) => h('span', { role: 'columnheader' }, name));
    this.#head = columns.length
      ? h('div', { role: 'rowgroup', class: 'endless-head' }, h('div', { 'role': 'row', 'aria-rowindex': '1' }, names))
      : null;
    return h(
      'div',
      {
        'class': 'endless',
        'role': 'grid',
        'aria-label': label,
        'aria-rowcount': '-1',
        'tabindex': '0',
        'style': { '--row': `${height}px` },
        'on': { scroll: () => this.#onScroll(), keydown: (event) => this.#onKey(event) },
      },
      this.#head,
      this.#body,
      this.#note,
    );
  }

  #expose() {
    const { element } = this;
    Object.defineProperty(element, 'rows', { get: () => this.#rows });
    Object.defineProperty(element, 'active', { get: () => this.#rows[this.#active] ?? null });
    Object.defineProperty(element, 'coming', { get: () => this.#coming });
    Object.assign(element, {
      reload: () => this.#reload(),
      repaint: () => this.#repaint(),
      focusOn: (index) => this.#focusOn(index),
      update: (key, row) => this.#update(key, row),
      drop: (key) => this.#replace([], [key]),
      insert: (row, index = 0) => this.#insert(row, index),
      replace: (changed, removed = []) => this.#replace(changed, removed),
    });
  }

  #watch() {
    const { signal } = this.#options;
    new ResizeObserver(() => {
      this.#viewport = this.element.clientHeight;
      this.#onScroll();
    }).observe(this.element);
    // What is loaded is printed, in its order; a page of paper shows more of it than a screen does.
    const onPrint = (isPrinting) => () => {
      this.#isPrinting = isPrinting;
      this.#removeNodes();
      this.#paint();
    };
    addEventListener('beforeprint', onPrint(true), { signal });
    addEventListener('afterprint', onPrint(false), { signal });
  }

  // ---- painting

  #paint() {
    if (this.#isStale) return;
    const { height } = this.#options;
    const end = this.#top + this.#viewport;
    const first = this.#isPrinting ? 0 : Math.max(0, Math.floor(this.#top / height) - OVERSCAN);
    const last = Math.min(this.#rows.length, this.#isPrinting ? MOST_PRINTED : Math.ceil(end / height) + OVERSCAN);
    for (const [key, { node, index, row }] of this.#nodes) {
      if (index < first || index >= last || this.#rows[index] !== row) {
        node.remove();
        this.#nodes.delete(key);
      }
    }
    const added = [];
    for (let index = first; index < last; index += 1) {
      if (!this.#nodes.has(this.#options.id(this.#rows[index]))) added.push(this.#addNode(index));
    }
    this.#body.append(...added);
    this.#mark();
    // Half of a short page is read before the next is asked for.
    const ahead = Math.min(AHEAD, this.#rows.length / 2);
    if (!this.#isEnd && !this.#isLoading && end > (this.#rows.length - ahead) * height) this.#coming = this.#load();
  }

  #addNode(index) {
    const { id, height, onOpen } = this.#options;
    const row = this.#rows[index];
    const key = id(row);
    const click = (event) => {
      this.#active = index;
      this.#mark();
      if (!event.target.closest('button, a, input, select, textarea, label')) onOpen(row);
    };
    const node = h(
      'div',
      {
        'role': 'row',
        'class': 'endless-row',
        'aria-rowindex': String(index + 2),
        'id': `row-${key}`,
        'data': { id: key },
        'tabindex': '-1',
        'style': { transform: `translateY(${index * height}px)` },
        'on': { click },
      },
      this.#options.row(row, index),
    );
    this.#nodes.set(key, { node, index, row });
    return node;
  }

  #mark() {
    const { id, onActive } = this.#options;
    for (const { node, index } of this.#nodes.values()) node.classList.toggle('active', index === this.#active);
    const row = this.#rows[this.#active] ?? null;
    if (row !== this.#announced) {
      this.#announced = row;
      onActive(row);
    }
    if (row && this.#nodes.has(id(row))) this.element.setAttribute('aria-activedescendant', `row-${id(row)}`);
    else this.element.removeAttribute('aria-activedescendant');
  }

  #stretch() {
    const { height, empty, onRows } = this.#options;
    const { length } = this.#rows;
    this.#body.style.setProperty('height', `${length * height}px`);
    this.element.setAttribute('aria-rowcount', this.#isEnd && !this.#isBroken ? String(length + 1) : '-1');
    // The button to try again stays while rows change.
    if (!this.#isBroken) fill(this.#note, this.#isEnd ? (length ? t('frame.end') : empty()) : '');
    onRows(this.#rows, this.#isEnd);
  }

  #repaint() {
    this.#clearStale();
    this.#removeNodes();
    this.#stretch();
    this.#paint();
  }

  #removeNodes() {
    for (const { node } of this.#nodes.values()) node.remove();
    this.#nodes.clear();
  }

  /** The rows from before the last reload make room. */
  #clearStale() {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#removeNodes();
    this.#body.inert = false;
    this.element.removeAttribute('aria-busy');
    if (this.#top) this.element.scrollTop = 0;
    this.#top = 0;
  }

  // ---- loading

  async #load() {
    const { load, signal, id } = this.#options;
    const generation = this.#generation;
    const isOld = () => generation !== this.#generation;
    const loading = load(this.#cursor, signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal);
    this.#isLoading = true;
    this.#isBroken = false;
    if (!this.#rows.length) fill(this.#note, t('frame.loading'));
    try {
      const page = await loading;
      if (isOld()) return;
      this.#clearStale();
      const ids = new Set(this.#rows.map(id));
      this.#rows.push(...page.rows.filter((row) => !ids.has(id(row))));
      this.#cursor = page.cursor ?? null;
      this.#isEnd = this.#cursor === null;
      this.#stretch();
    } catch (error) {
      if (error.name !== 'AbortError' && !isOld()) this.#showError(error);
      return;
    } finally {
      if (!isOld()) this.#isLoading = false;
    }
    this.#paint();
  }

  #showError(error) {
    this.#clearStale();
    this.#isEnd = true;
    this.#isBroken = true;
    const click = () => {
      this.#isEnd = false;
      this.#coming = this.#load();
    };
    const retry = h('button', { type: 'button', on: { click } }, t('frame.retry'));
    fill(this.#note, h('span', { role: 'alert' }, errorNotice(error)), ' ', retry);
  }

  #reload() {
    this.#generation += 1;
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#isLoading = false;
    this.#rows = [];
    this.#cursor = null;
    this.#isEnd = false;
    this.#isBroken = false;
    this.#active = 0;
    // Nothing flickers: what is in sight stays, out of reach, until there is something else.
    this.#isStale = true;
    this.#body.inert = true;
    this.element.setAttribute('aria-busy', 'true');
    this.#mark();
    this.#options.onRows(this.#rows, this.#isEnd);
    this.#coming = this.#load();
    return this.#coming;
  }

  // ---- changes from outside

  #update(key, row) {
    const index = this.#rows.findIndex((other) => this.#options.id(other) === key);
    if (index >= 0) this.#rows[index] = row;
    this.#repaint();
  }

  #insert(row, index) {
    this.#rows.splice(index, 0, row);
    this.#repaint();
  }

  /** `changed` in the place of the rows with their ids; the rows with the ids of `removed` go. */
  #replace(changed, removed) {
    const { id } = this.#options;
    const byId = new Map(changed.map((row) => [id(row), row]));
    const ids = new Set(removed);
    this.#rows = this.#rows.filter((row) => !ids.has(id(row))).map((row) => byId.get(id(row)) ?? row);
    this.#active = Math.min(this.#active, Math.max(0, this.#rows.length - 1));
    this.#repaint();
  }

  // ---- moving

  #focusOn(index) {
    const { element } = this;
    const { height } = this.#options;
    this.#active = index;
    const top = index * height;
    const room = element.clientHeight - (this.#head?.offsetHeight ?? 0);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + room) element.scrollTop = top + height - room;
    this.#onScroll();
  }

  #onScroll() {
    this.#top = this.element.scrollTop;
    this.#paint();
  }

  #onKey(event) {
    const { element } = this;
    if (event.target !== element && event.target.closest('input, textarea, select')) return;
    const page = Math.max(1, Math.floor(element.clientHeight / this.#options.height) - 1);
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    const row = this.#rows[this.#active];
    if (step !== undefined) {
      event.preventDefault();
      this.#focusOn(Math.max(0, Math.min(this.#rows.length - 1, this.#active + step)));
    } else if (event.key === 'Enter' && event.target === element && row) {
      event.preventDefault();
      this.#options.onOpen(row);
    }
  }
}
