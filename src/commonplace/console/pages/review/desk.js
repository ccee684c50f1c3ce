// A list beside what is open of it, to be decided on one by one or many at once. Both halves of the review are made of it.

import { fill, h } from '../../dom.js';
import { endless } from '../../parts/endless.js';
import { shortcut } from '../../parts/shortcuts.js';
import { address } from '../../router.js';
import { number, t } from '../../words.js';

const HEIGHT = 66;
// So many are taken out of the list one by one; more, and it is asked for anew.
const MANY = 50;

/** The way to a record's own page. */
export const toRecord = (id, text) => h('a', { href: address('record', id), class: 'mono small' }, text ?? id);

/**
 * `load` is the list's; `lines(one)` are the two lines of a row; `detail(one, place, signal)` fills what is beside it. `deeds`: what can be done,
 * { name, label, key, kind, act(chosen) }, with `act` answering the ids that are settled. `fits(deed, one)`: whether it can be done to this one.
 */
export function desk({ label, empty, load, lines, detail, deeds, fits = () => true, note = null, onRows = () => {}, signal }) {
  const chosen = new Map();
  let looking = null;

  const every = h('input', { type: 'checkbox', disabled: true, on: { change: () => chooseAll(every.checked) } });
  const told = h('span', { 'aria-live': 'polite' });
  const count = h('span', { class: 'soft small' });
  const [ways, more] = [h('span', { class: 'row' }), h('span', { class: 'row' })];
  const bar = h(
    'div',
    { 'class': 'row review-bar', 'role': 'group', 'aria-label': t('review.selection') },
    h('label', { class: 'check' }, every, ' ', told),
    ways,
    h('span', { class: 'grow' }),
    more,
    count,
  );
  const side = h('section', { 'class': 'card review-detail', 'aria-label': t('review.detail'), 'tabindex': '-1' });
  const list = endless({ label, empty, load, row, height: HEIGHT, signal, onOpen: () => side.focus(), onRows: rowsCame, onActive: look });
  const element = h('div', { class: 'review-desk' }, h('div', { class: 'review-list' }, bar, list), side);

  function row(one) {
    const box = h('input', {
      'type': 'checkbox',
      'checked': chosen.has(one.id),
      'aria-label': t('review.select', { text: one.title.slice(0, 80) }),
      'on': { change: () => choose(one, box.checked) },
    });
    return [h('span', { role: 'gridcell', class: 'review-check' }, box), h('div', { role: 'gridcell', class: 'review-lines' }, lines(one))];
  }

  function choose(one, on) {
    if (on) chosen.set(one.id, one);
    else chosen.delete(one.id);
    paintBar();
  }

  function chooseAll(on) {
    chosen.clear();
    if (on) for (const one of list.rows) chosen.set(one.id, one);
    for (const box of list.querySelectorAll('input[type=checkbox]')) box.checked = on;
    paintBar();
  }

  function paintBar() {
    const many = [...chosen.values()];
    Object.assign(every, { checked: many.length > 0 && many.length === list.rows.length, disabled: !list.rows.length });
    every.indeterminate = many.length > 0 && many.length < list.rows.length;
    fill(told, many.length ? t('review.selected', number(many.length)) : t('review.select-all'));
    // What a key does it does to those that are selected: then it stands at their buttons.
    element.classList.toggle('choosing', many.length > 0);
    fill(
      ways,
      many.length > 0 &&
        deeds
          .filter((deed) => !deed.alone && many.every((one) => fits(deed, one)))
          .map((deed) =>
            h(
              'button',
              {
                'type': 'button',
                'class': deed.kind ?? '',
                'aria-label': t('review.of-selected', { deed: deed.label }),
                'aria-keyshortcuts': deed.key,
                'on': { click: () => perform(deed, many) },
              },
              deed.label,
              deed.key && h('kbd', { 'aria-hidden': 'true' }, deed.key),
            ),
          ),
    );
    fill(more, note?.(list.rows));
  }

  function rowsCame(rows, ended) {
    for (const id of chosen.keys()) if (!rows.some((one) => one.id === id)) chosen.delete(id);
    fill(count, rows.length > 0 && t('review.count', rows.length, `${number(rows.length)}${ended ? '' : '+'}`));
    paintBar();
    onRows(rows, ended);
  }

  function look(one) {
    looking?.abort();
    looking = new AbortController();
    if (!one) return fill(side, h('p', { class: 'soft' }, t('review.none-open')));
    const buttons = h(
      'div',
      { class: 'row review-deeds' },
      deeds
        .filter((deed) => fits(deed, one))
        .map((deed) =>
          h(
            'button',
            {
              'type': 'button',
              'class': deed.kind ?? '',
              'aria-keyshortcuts': deed.key,
              'on': { click: () => perform(deed, [one]) },
            },
            deed.label,
            deed.key && h('kbd', { 'aria-hidden': 'true' }, deed.key),
          ),
        ),
    );
    const body = h('div', {});
    fill(side, buttons, body);
    side.scrollTop = 0;
    return detail(one, body, looking.signal);
  }

  async function perform(deed, many) {
    const settled = await deed.act(many);
    if (!settled || signal.aborted) return null;
    const at = Math.max(0, list.rows.indexOf(list.active));
    if (settled.length > MANY) return element.reload();
    for (const id of settled) {
      chosen.delete(id);
      list.drop(id);
    }
    list.focusOn(Math.min(at, Math.max(0, list.rows.length - 1)));
    return list.focus();
  }

  const step = (by) => () => {
    const at = list.rows.indexOf(list.active);
    if (at >= 0) list.focusOn(Math.max(0, Math.min(list.rows.length - 1, at + by)));
  };
  shortcut('j', t('review.key.next'), step(1), signal);
  shortcut('k', t('review.key.previous'), step(-1), signal);
  for (const deed of deeds.filter((one) => one.key)) {
    shortcut(
      deed.key,
      t('review.key.deed', { deed: deed.label }),
      () => {
        const many = chosen.size && !deed.alone ? [...chosen.values()] : [list.active].filter(Boolean);
        if (many.length && many.every((one) => fits(deed, one))) perform(deed, many);
      },
      signal,
    );
  }
  shortcut(
    'x',
    t('review.key.select'),
    () => {
      const one = list.active;
      if (!one) return;
      choose(one, !chosen.has(one.id));
      const box = document.getElementById(`row-${one.id}`)?.querySelector('input');
      if (box) box.checked = chosen.has(one.id);
    },
    signal,
  );
  shortcut('Escape', t('review.key.none'), () => chosen.size && chooseAll(false), signal);
  signal.addEventListener('abort', () => looking?.abort());
  paintBar();
  look(null);
  element.reload = () => {
    chosen.clear();
    list.reload();
  };
  return element;
}
