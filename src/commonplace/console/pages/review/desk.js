// A list beside what is open of it, to be decided on one by one or many at once. Both halves of the review are made of it.

import { fill, h } from '../../dom.js';
import { endless } from '../../parts/endless.js';
import { shortcut } from '../../parts/shortcuts.js';
import { address } from '../../router.js';
import { number, t } from '../../words.js';

const HEIGHT = 66;
// So many are taken out of the list one by one; for more, the list is loaded again.
const MOST_DROPPED = 50;

/** The way to a record's own page. */
export const toRecord = (id, text) => h('a', { href: address('record', id), class: 'mono small' }, text ?? id);

/**
 * `load` is the list's; `lines(item)` are the two lines of a row; `detail(item, place, signal)` fills what is beside it. `actions`: what can be done,
 * { name, label, key, kind, alone, act(items) }, with `act` answering the ids that are decided. `fits(action, item)`: whether it can be done to this
 * one. `note(rows)`: what stands above the list. Answers the element; `element.reload()` loads the list again.
 */
export function desk(options) {
  return new Desk(options).element;
}

class Desk {
  element;
  #options;
  #list;
  #selected = new Map(); // id -> item
  #looking = null; // the AbortController of what is open
  #all = h('input', { type: 'checkbox', disabled: true, on: { change: () => this.#selectAll(this.#all.checked) } });
  #selection = h('span', { 'aria-live': 'polite' });
  #count = h('span', { class: 'soft small' });
  #buttons = h('span', { class: 'row' });
  #note = h('span', { class: 'row' });
  #side = h('section', { 'class': 'card review-detail', 'aria-label': t('review.detail'), 'tabindex': '-1' });

  constructor({ fits = () => true, note = null, onRows = () => {}, ...options }) {
    this.#options = { ...options, fits, note, onRows };
    const { label, empty, load, signal } = options;
    this.#list = endless({
      label,
      empty,
      load,
      signal,
      row: (item) => this.#row(item),
      height: HEIGHT,
      onOpen: () => this.#side.focus(),
      onRows: (rows, isEnd) => this.#onRows(rows, isEnd),
      onActive: (item) => this.#open(item),
    });
    // Whoever can do nothing with them has nothing to select them for.
    const kind = options.actions.length ? 'review-desk' : 'review-desk read-only';
    this.element = h('div', { class: kind }, h('div', { class: 'review-list' }, this.#bar(), this.#list), this.#side);
    this.element.reload = () => {
      this.#selected.clear();
      this.#list.reload();
    };
    this.#addShortcuts();
    signal.addEventListener('abort', () => this.#looking?.abort());
    this.#paintBar();
    this.#open(null);
  }

  #bar() {
    return h(
      'div',
      { 'class': 'row review-bar', 'role': 'group', 'aria-label': t('review.selection') },
      h('label', { class: 'check' }, this.#all, ' ', this.#selection),
      this.#buttons,
      h('span', { class: 'grow' }),
      this.#note,
      this.#count,
    );
  }

  #row(item) {
    const box = h('input', {
      'type': 'checkbox',
      'checked': this.#selected.has(item.id),
      'aria-label': t('review.select', { text: item.title.slice(0, 80) }),
      'on': { change: () => this.#select(item, box.checked) },
    });
    const lines = this.#options.lines(item);
    return [h('span', { role: 'gridcell', class: 'review-check' }, box), h('div', { role: 'gridcell', class: 'review-lines' }, lines)];
  }

  #onRows(rows, isEnd) {
    for (const id of this.#selected.keys()) if (!rows.some((item) => item.id === id)) this.#selected.delete(id);
    fill(this.#count, rows.length > 0 && t('review.count', rows.length, `${number(rows.length)}${isEnd ? '' : '+'}`));
    this.#paintBar();
    this.#options.onRows(rows, isEnd);
  }

  // ---- what is selected

  #select(item, isOn) {
    if (isOn) this.#selected.set(item.id, item);
    else this.#selected.delete(item.id);
    this.#paintBar();
  }

  #selectAll(isOn) {
    this.#selected.clear();
    if (isOn) for (const item of this.#list.rows) this.#selected.set(item.id, item);
    for (const box of this.#list.querySelectorAll('input[type=checkbox]')) box.checked = isOn;
    this.#paintBar();
  }

  #paintBar() {
    const { actions, fits, note } = this.#options;
    const { rows } = this.#list;
    const items = [...this.#selected.values()];
    Object.assign(this.#all, { checked: items.length > 0 && items.length === rows.length, disabled: !rows.length });
    this.#all.indeterminate = items.length > 0 && items.length < rows.length;
    fill(this.#selection, items.length ? t('review.selected', number(items.length)) : t('review.select-all'));
    // A key acts on those that are selected: then it stands at their buttons.
    this.element.classList.toggle('choosing', items.length > 0);
    const offered = items.length ? actions.filter((action) => !action.alone && items.every((item) => fits(action, item))) : [];
    const label = (action) => ({ 'aria-label': t('review.of-selected', { deed: action.label }) });
    fill(
      this.#buttons,
      offered.map((action) => this.#button(action, items, label(action))),
    );
    fill(this.#note, note?.(rows));
  }

  #button(action, items, props = {}) {
    return h(
      'button',
      {
        'type': 'button',
        'class': action.kind ?? '',
        'aria-keyshortcuts': action.key,
        'on': { click: () => this.#perform(action, items) },
        ...props,
      },
      action.label,
      action.key && h('kbd', { 'aria-hidden': 'true' }, action.key),
    );
  }

  // ---- what is open

  #open(item) {
    const { actions, fits, detail } = this.#options;
    this.#looking?.abort();
    this.#looking = new AbortController();
    if (!item) return fill(this.#side, h('p', { class: 'soft' }, t('review.none-open')));
    const offered = actions.filter((action) => fits(action, item));
    const buttons = offered.map((action) => this.#button(action, [item]));
    const body = h('div', {});
    fill(this.#side, h('div', { class: 'row review-deeds' }, buttons), body);
    this.#side.scrollTop = 0;
    return detail(item, body, this.#looking.signal);
  }

  async #perform(action, items) {
    const list = this.#list;
    const ids = await action.act(items);
    if (!ids || this.#options.signal.aborted) return null;
    const at = Math.max(0, list.rows.indexOf(list.active));
    if (ids.length > MOST_DROPPED) return this.element.reload();
    for (const id of ids) {
      this.#selected.delete(id);
      list.drop(id);
    }
    list.focusOn(Math.min(at, Math.max(0, list.rows.length - 1)));
    return list.focus();
  }

  // ---- keys

  #addShortcuts() {
    const { actions, signal } = this.#options;
    shortcut('j', t('review.key.next'), () => this.#move(1), signal);
    shortcut('k', t('review.key.previous'), () => this.#move(-1), signal);
    for (const action of actions.filter(({ key }) => key)) {
      shortcut(action.key, t('review.key.deed', { deed: action.label }), () => this.#performByKey(action), signal);
    }
    shortcut('x', t('review.key.select'), () => this.#toggleActive(), signal);
    shortcut('Escape', t('review.key.none'), () => this.#selected.size && this.#selectAll(false), signal);
  }

  #move(step) {
    const { rows, active } = this.#list;
    const at = rows.indexOf(active);
    if (at >= 0) this.#list.focusOn(Math.max(0, Math.min(rows.length - 1, at + step)));
  }

  #performByKey(action) {
    const isMany = this.#selected.size && !action.alone;
    const items = isMany ? [...this.#selected.values()] : [this.#list.active].filter(Boolean);
    if (items.length && items.every((item) => this.#options.fits(action, item))) this.#perform(action, items);
  }

  #toggleActive() {
    const item = this.#list.active;
    if (!item) return;
    this.#select(item, !this.#selected.has(item.id));
    const box = document.getElementById(`row-${item.id}`)?.querySelector('input');
    if (box) box.checked = this.#selected.has(item.id);
  }
}
