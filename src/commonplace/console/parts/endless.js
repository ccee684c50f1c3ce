// A list that stays quick at a hundred thousand rows: only those in sight are in the document, all of one height.

import { fill, h } from '../dom.js';
import { errorNotice } from '../problems.js';
import { t } from '../words.js';

/**
 * `load(cursor, signal)` answers { rows, cursor }: the next rows, and where to go on (null: that is all). `row(one, index)` makes the cells
 * of a row; `onOpen(one)` is for Enter and a click on a row, `onActive(one)` for the row that the keys are at, or null. `height` is in pixels.
 * `columns`: the names of the columns. `empty()`: what to say where there is nothing.
 *
 * Answers the element with `reload()`, `coming` (a promise: the rows that were asked for last are there, or did not come), `rows`, `active`,
 * `update(id, row)`, `drop(id)`, `insert(row, index)`, `replace(rows, ids)`, `repaint()`, `focusOn(index)`. While `reload` waits for its rows,
 * those before it are still to be seen, and are no longer there for anybody who asks.
 */
export function endless({
  load,
  row,
  columns = [],
  label,
  id = (one) => one.id,
  height = 56,
  signal,
  empty = () => t('frame.nothing'),
  onOpen = () => {},
  onRows = () => {},
  onActive = () => {},
}) {
  const OVER = 8;
  const PRINTED = 2000;
  let rows = [];
  let cursor = null;
  let ended = false;
  let loading = null;
  let coming = null; // the same, and what becomes of it
  let active = 0;
  let run = 0;
  let told = null;
  let broken = false; // the last page did not come
  let stale = false; // what is to be seen was asked for before
  let asking = new AbortController(); // for the rows since the last reload
  // As the browser told last: to ask it again while rows come and go would lay all of them out at once.
  let top = 0;
  let sight = 0;
  let whole = false; // on paper nobody scrolls

  const inner = h('div', { class: 'endless-rows', role: 'rowgroup' });
  // Plain: a grid may hold nothing with a role but rows.
  const note = h('div', { class: 'soft endless-note' });
  const names = columns.map((name) => h('span', { role: 'columnheader' }, name));
  const head = columns.length
    ? h('div', { role: 'rowgroup', class: 'endless-head' }, h('div', { 'role': 'row', 'aria-rowindex': '1' }, names))
    : null;
  const element = h(
    'div',
    {
      'class': 'endless',
      'role': 'grid',
      'aria-label': label,
      'aria-rowcount': '-1',
      'tabindex': '0',
      'style': { '--row': `${height}px` },
      'on': { scroll: scrolled, keydown: onKey },
    },
    head,
    inner,
    note,
  );
  const live = new Map();

  function scrolled() {
    top = element.scrollTop;
    paint();
  }

  function paint() {
    if (stale) return;
    const first = whole ? 0 : Math.max(0, Math.floor(top / height) - OVER);
    const last = Math.min(rows.length, whole ? PRINTED : Math.ceil((top + sight) / height) + OVER);
    for (const [key, { node, index, one }] of live) {
      if (index < first || index >= last || rows[index] !== one) {
        node.remove();
        live.delete(key);
      }
    }
    const made = [];
    for (let index = first; index < last; index += 1) {
      const one = rows[index];
      const key = id(one);
      if (live.has(key)) continue;
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
          'on': {
            click: (event) => {
              active = index;
              mark();
              if (!event.target.closest('button, a, input, select, textarea, label')) onOpen(one);
            },
          },
        },
        row(one, index),
      );
      live.set(key, { node, index, one });
      made.push(node);
    }
    inner.append(...made);
    mark();
    // Half of a short page is read before the next is asked for.
    const left = Math.min(60, rows.length / 2);
    if (!ended && !loading && top + sight > (rows.length - left) * height) coming = more();
  }

  function mark() {
    for (const { node, index } of live.values()) node.classList.toggle('active', index === active);
    const one = rows[active] ?? null;
    if (one !== told) {
      told = one;
      onActive(one);
    }
    if (one && live.has(id(one))) element.setAttribute('aria-activedescendant', `row-${id(one)}`);
    else element.removeAttribute('aria-activedescendant');
  }

  async function more() {
    const mine = run;
    loading = load(cursor, signal ? AbortSignal.any([signal, asking.signal]) : asking.signal);
    broken = false;
    if (!rows.length) fill(note, t('frame.loading'));
    try {
      const page = await loading;
      if (mine !== run) return;
      refreshed();
      const had = new Set(rows.map(id));
      rows.push(...page.rows.filter((one) => !had.has(id(one))));
      cursor = page.cursor;
      ended = cursor === null || cursor === undefined;
      stretch();
    } catch (error) {
      if (error.name === 'AbortError' || mine !== run) return;
      refreshed();
      ended = true;
      broken = true;
      const again = h(
        'button',
        {
          type: 'button',
          on: {
            click: () => {
              ended = false;
              coming = more();
            },
          },
        },
        t('frame.retry'),
      );
      fill(note, h('span', { role: 'alert' }, errorNotice(error)), ' ', again);
      return;
    } finally {
      if (mine === run) loading = null;
    }
    paint();
  }

  function stretch() {
    inner.style.setProperty('height', `${rows.length * height}px`);
    element.setAttribute('aria-rowcount', ended && !broken ? String(rows.length + 1) : '-1');
    // The way to try again stays where rows change meanwhile.
    if (!broken) fill(note, ended ? (rows.length ? t('frame.end') : empty()) : '');
    onRows(rows, ended);
  }

  function again() {
    refreshed();
    emptied();
    stretch();
    paint();
  }

  function emptied() {
    for (const { node } of live.values()) node.remove();
    live.clear();
  }

  /** What was to be seen until now makes room. */
  function refreshed() {
    if (!stale) return;
    stale = false;
    emptied();
    inner.inert = false;
    element.removeAttribute('aria-busy');
    if (top) element.scrollTop = 0;
    top = 0;
  }

  function onKey(event) {
    if (event.target !== element && event.target.closest('input, textarea, select')) return;
    const page = Math.max(1, Math.floor(element.clientHeight / height) - 1);
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      element.focusOn(Math.max(0, Math.min(rows.length - 1, active + step)));
    } else if (event.key === 'Enter' && event.target === element && rows[active]) {
      event.preventDefault();
      onOpen(rows[active]);
    }
  }

  Object.defineProperty(element, 'rows', { get: () => rows });
  Object.defineProperty(element, 'active', { get: () => rows[active] ?? null });
  element.focusOn = (index) => {
    active = index;
    const from = index * height;
    const room = element.clientHeight - (head?.offsetHeight ?? 0);
    if (from < element.scrollTop) element.scrollTop = from;
    else if (from + height > element.scrollTop + room) element.scrollTop = from + height - room;
    scrolled();
  };
  element.reload = () => {
    run += 1;
    asking.abort();
    asking = new AbortController();
    loading = null;
    rows = [];
    cursor = null;
    ended = false;
    broken = false;
    active = 0;
    // Nothing flickers: what is to be seen stays, out of reach, until there is something else.
    stale = true;
    inner.inert = true;
    element.setAttribute('aria-busy', 'true');
    mark();
    onRows(rows, ended);
    coming = more();
    return coming;
  };
  element.update = (key, one) => {
    const index = rows.findIndex((held) => id(held) === key);
    if (index >= 0) rows[index] = one;
    again();
  };
  element.drop = (key) => {
    rows = rows.filter((held) => id(held) !== key);
    active = Math.min(active, Math.max(0, rows.length - 1));
    again();
  };
  element.insert = (one, index = 0) => {
    rows.splice(index, 0, one);
    again();
  };
  element.repaint = again;
  /** After many changed at once: `changed` in the place of those with their ids, those of `gone` left out. */
  element.replace = (changed, gone = []) => {
    const anew = new Map(changed.map((one) => [id(one), one]));
    const out = new Set(gone);
    rows = rows.filter((held) => !out.has(id(held))).map((held) => anew.get(id(held)) ?? held);
    active = Math.min(active, Math.max(0, rows.length - 1));
    again();
  };
  new ResizeObserver(() => {
    sight = element.clientHeight;
    scrolled();
  }).observe(element);
  // What is loaded is printed, in its order; a page of paper shows more of it than a screen does.
  const printed = (on) => () => {
    whole = on;
    emptied();
    paint();
  };
  addEventListener('beforeprint', printed(true), { signal });
  addEventListener('afterprint', printed(false), { signal });
  // The first rows are asked for before anything has a size.
  coming = Promise.resolve().then(more);
  Object.defineProperty(element, 'coming', { get: () => coming });
  return element;
}
