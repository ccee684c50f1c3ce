// The records of a scope: to search, read, write and change them.

import { get, post, slept } from '../api.js';
import { fill, h } from '../dom.js';
import { endless } from '../parts/endless.js';
import { everyoneSwitch, isEveryone } from '../parts/everyone.js';
import { hasMembers, picker } from '../parts/picker.js';
import { takeSavedRow } from '../parts/scroll_restore.js';
import { shortcut } from '../parts/shortcuts.js';
import { showError } from '../problems.js';
import { address, replaceAddress } from '../router.js';
import { may, whoami } from '../session.js';
import { compact, number, t } from '../words.js';
import { ListActions } from './memory/actions.js';
import { cells, columns } from './memory/cells.js';
import { filters } from './memory/filters.js';
import { news } from './memory/news.js';
import { FIRST_FOUND, MOST_FOUND, PAGE, SAMPLE, asAddress, asCounting, asListing, asSearch, isNarrowed, viewOf } from './memory/view.js';

const HEIGHT = 64;
// What a person was told last. Coming back they see it at once; it is counted anew when they stay.
const counted = new WeakMap();
const STAYS = 1000; // milliseconds
/** What a search found: how likely each record answers, by its id, and how many were left out as too unlikely. */
const NOTHING_FOUND = { relevance: new Map(), nearest: 0 };

export async function show(place, { part, query, signal }) {
  const view = viewOf(part, { ...query, everyone: isEveryone(query) ? 'true' : '' });
  const selects = may('writer');
  const page = {
    view,
    signal,
    chosen: new Map(),
    height: HEIGHT,
    fresh: h('div', { class: 'fresh' }),
    counting: null,
    found: NOTHING_FOUND,
    ...known(),
  };
  const actions = new ListActions(page);
  page.list = endless({
    label: t('frame.memory'),
    height: HEIGHT,
    signal,
    columns: columns(),
    onOpen: (record) => actions.open(record),
    empty: () => t(view.q && page.found.nearest ? 'frame.no-answer' : isWhole(view) ? 'memory.none' : 'memory.nothing'),
    load: (cursor, until) => load(page, cursor, until),
    row: (record) =>
      cells(record, { actions, chosen: page.chosen, scoped: Boolean(view.scope), selects, relevance: page.found.relevance.get(record.id) }),
    onRows: (rows, ended) => {
      page.more = !ended;
      bar.paint();
      beginning.paint(rows, ended);
    },
  });
  const beginning = makeBeginning(page);
  page.filters = filters(view, () => page.refresh());
  const head = pageHead(page, actions);
  const bar = toolbar(page, actions, selects);
  selection(page, bar);
  page.busy = bar.busy;
  page.recount = (anew, pause) => recount(page, bar, anew, pause);
  page.refresh = (anew = false) => {
    replaceAddress('memory', view.scope, asAddress(view));
    page.filters.paint();
    head.paint();
    page.chosen.clear();
    if (!page.list.querySelector('.editing form')?.isTouched()) page.list.querySelector('.editing')?.remove();
    page.news.forget();
    const rows = page.list.reload();
    bar.paint();
    page.recount(anew);
    return rows;
  };
  page.news = news({ view, isKnown: page.isKnown, onNews: bar.news, signal });
  page.parts = [page.filters.element, bar.element, page.list];
  fill(place, head.element, head.note, beginning.element, page.filters.element, page.fresh, bar.element, page.list);
  head.paint();
  keys(page, actions);
  page.recount(true, STAYS);
  const row = takeSavedRow();
  if (row) comeBack(page, row);
}

/** Where one looks, and the way to write something: `element`, `note` below it, and `paint()` when the view has changed. */
function pageHead(page, actions) {
  const { view, signal } = page;
  const everyone = everyoneSwitch((isOn) => change({ everyone: isOn ? 'true' : '' }));
  const openDialog = { click: () => openMembers(view.scope, signal) };
  const members = h('button', { type: 'button', hidden: true, on: openDialog }, t('memory.members.open'));
  const talk = h('a', { class: 'button', hidden: true }, t('memory.talk'));
  const write = { type: 'button', class: 'primary', title: t('memory.new.key'), on: { click: () => actions.write() } };
  const change = (changes) => {
    Object.assign(view, changes);
    page.refresh();
  };
  const paint = () => {
    members.hidden = !hasMembers(view.scope);
    talk.hidden = !view.session;
    talk.href = address('session', view.session, { scope: view.scope });
    everyone.paint({ isOn: Boolean(view.everyone), hasScope: Boolean(view.scope) });
  };
  const element = h(
    'div',
    { class: 'page-head' },
    h('h1', {}, t('frame.memory')),
    picker({ value: view.scope, signal, onPick: (scope) => change({ scope }) }),
    members,
    talk,
    everyone.element,
    h('span', { class: 'grow' }),
    may('writer') && h('button', write, t('memory.new')),
  );
  return { element, note: everyone.note, paint };
}

/** All of the memory, not a part of it. */
const isWhole = (view) => !view.scope && !isNarrowed(view);

/** What stands above the list, or instead of it, while there is nothing, or nothing but a sample. It is fetched when somebody needs it. */
function makeBeginning(page) {
  const element = h('div', {});
  let shown = null;
  const paint = async (rows, isEnd) => {
    const isEmpty = !rows.length && isEnd && isWhole(page.view);
    const isSample = !isEmpty && rows.some((record) => record.tags.includes(SAMPLE));
    const wanted = may('writer') && (isEmpty ? 'begin' : isSample ? 'sampleNote' : null);
    // While rows are awaited, what is to be seen stays.
    if (wanted === shown || (!rows.length && !isEnd)) return;
    shown = wanted;
    const part = wanted && (await (await import('./memory/begin.js'))[wanted](() => page.refresh(true)));
    if (shown !== wanted) return;
    fill(element, part);
    for (const other of page.parts) other.hidden = wanted === 'begin';
  };
  return { element, paint };
}

/** Few sessions are shared by hand: the form is fetched when somebody wants it. */
async function openMembers(scope, signal) {
  const { showMembers } = await import('../parts/members.js');
  showMembers(scope, signal);
}

/** To the row that was left for its record; where it is gone, to the one in its place. */
async function comeBack({ list, signal }, { id, index }) {
  let at = -1;
  for (let had = -1; at < 0 && !signal.aborted;) {
    await list.coming;
    at = list.rows.findIndex((one) => one.id === id);
    // It lies further down, unless there is nothing further down.
    if (at >= 0 || list.rows.length === had || list.rows.length > index) break;
    had = list.rows.length;
    list.focusOn(Math.max(0, had - 1));
  }
  if (signal.aborted) return;
  list.focusOn(Math.max(0, Math.min(at < 0 ? index : at, list.rows.length - 1)));
  if (document.activeElement === document.body) list.focus();
}

/** Which versions this page has seen or made, so that they are no news. */
function known() {
  const versions = new Map();
  return {
    keep: (record) => versions.set(record.id, Math.max(record.version, versions.get(record.id) ?? 0)),
    isKnown: (id, version) => (versions.get(id) ?? 0) >= version,
  };
}

async function load(page, cursor, signal) {
  const { view } = page;
  if (view.q) {
    // Most questions are answered by the first few, and while one is typed, each letter is a question.
    const limit = cursor ?? FIRST_FOUND;
    const { hits } = await post('/v1/search', asSearch(view, limit), { signal });
    const answers = page.showsNearest === view.q ? hits : hits.filter((hit) => hit.relevant);
    page.found = { relevance: new Map(hits.map((hit) => [hit.record.id, hit.relevance])), nearest: hits.length - answers.length };
    const rows = answers.map((hit) => hit.record);
    rows.forEach(page.keep);
    return { rows, cursor: rows.length === FIRST_FOUND && limit < MOST_FOUND ? MOST_FOUND : null };
  }
  page.found = NOTHING_FOUND;
  const { records, cursor: next } = await get('/v1/records', { ...asListing(view), limit: PAGE, cursor }, { signal });
  records.forEach(page.keep);
  return { rows: records, cursor: next };
}

/** How many there are, and how many each filter would show. Where only those filters changed, we know already. */
async function recount(page, bar, anew = true, pause = 0) {
  const asked = asCounting(page.view);
  const name = JSON.stringify(asked);
  const me = whoami();
  const known = counted.get(me)?.name === name ? counted.get(me).counts : null;
  if (known) tellCounts(page, bar, known);
  // What is being counted, or was, is not counted once more.
  if (!anew && page.counting?.name === name) return;
  page.counting?.stop.abort();
  const mine = { name, stop: new AbortController() };
  page.counting = mine;
  const signal = AbortSignal.any([page.signal, mine.stop.signal]);
  try {
    // The rows first: to count a large memory takes the server longer than they do.
    await page.list.coming;
    if (known) await slept(pause, signal);
    signal.throwIfAborted();
    const { counts } = await get('/v1/counts', asked, { signal });
    counted.set(me, { name, counts });
    tellCounts(page, bar, counts);
  } catch (error) {
    if (page.counting === mine) page.counting = null;
    showError(error);
  }
}

function tellCounts(page, bar, counts) {
  const { kind, source } = page.view;
  const fits = ({ by }) => (!kind || by.kind === kind) && (!source || by.source === source);
  page.filters.count(counts);
  bar.total(counts.filter(fits).reduce((sum, one) => sum + one.records, 0));
}

function selection(page, bar) {
  let last = null;
  page.select = (record, through = false) => {
    const { rows } = page.list;
    const at = rows.findIndex((one) => one.id === record.id);
    const from = through && last !== null ? rows.findIndex((one) => one.id === last) : at;
    const wanted = !page.chosen.has(record.id);
    for (const one of rows.slice(Math.min(at, from < 0 ? at : from), Math.max(at, from) + 1)) {
      if (wanted) page.chosen.set(one.id, one);
      else page.chosen.delete(one.id);
    }
    last = record.id;
    page.list.update(record.id, rows[at]);
    bar.paint();
  };
  page.selectAll = (wanted) => {
    page.chosen.clear();
    if (wanted) for (const one of page.list.rows) page.chosen.set(one.id, one);
    page.list.repaint();
    bar.paint();
  };
  /** After many were changed: those that still belong here, and those that do not. */
  page.replace = (changed, gone) => {
    page.list.replace(
      changed,
      gone.map((one) => one.id),
    );
    bar.paint();
  };
}

/** For what is less likely to answer: it comes for this question only. */
function nearestButton(page) {
  const click = () => {
    page.showsNearest = page.view.q;
    page.list.reload();
    page.list.focus();
  };
  const element = h('button', { type: 'button', hidden: true, on: { click } });
  const paint = (isBusy) => {
    element.hidden = isBusy || !page.found.nearest;
    fill(element, t('frame.no-answer.nearest', page.found.nearest));
  };
  return { element, paint };
}

function toolbar(page, actions, selects) {
  let total = null;
  const all = h('input', { 'type': 'checkbox', 'aria-label': t('memory.select.all'), 'on': { click: () => page.selectAll(all.checked) } });
  const count = h('span', { class: 'count', role: 'status' });
  const action = (what, kind = '') =>
    h('button', { type: 'button', class: kind, on: { click: () => actions.many(what) } }, t(`memory.do.${what}`));
  const buttons = h(
    'div',
    { 'class': 'row', 'role': 'group', 'aria-label': t('memory.selected.do'), 'hidden': true },
    action('pin'),
    action('unpin'),
    action('weigh'),
    action('promote'),
    action('demote'),
    action('delete', 'danger'),
    h('button', { type: 'button', class: 'quiet', on: { click: () => page.selectAll(false) } }, t('memory.select.none')),
  );
  const steps = h('progress', { 'hidden': true, 'aria-label': t('memory.progress') });
  const fresh = h('button', { type: 'button', class: 'news', hidden: true, on: { click: () => page.refresh(true) } });
  const nearest = nearestButton(page);
  const element = h(
    'div',
    { class: 'toolbar row' },
    selects && all,
    count,
    nearest.element,
    steps,
    buttons,
    h('span', { class: 'grow' }),
    fresh,
    page.filters.order,
  );

  function paint() {
    const { size } = page.chosen;
    const loaded = page.list?.rows.length ?? 0;
    all.checked = size > 0 && size === loaded;
    all.indeterminate = size > 0 && size < loaded;
    buttons.hidden = !size;
    nearest.paint(size > 0);
    const text = size ? t('memory.selected', number(size)) : found(loaded);
    // While rows are awaited, what is told is still about those that are to be seen.
    const waits = !size && page.view.q && page.list?.hasAttribute('aria-busy');
    if (!waits && count.textContent !== text) fill(count, text);
  }

  function found(loaded) {
    if (page.view.q && !loaded && page.found.nearest) return t('frame.no-answer');
    if (page.view.q) return t('memory.found', `${number(loaded)}${loaded >= MOST_FOUND || page.more ? '+' : ''}`);
    return total === null ? t('frame.loading') : t('memory.total', total, number(total));
  }

  return {
    element,
    paint,
    total: (value) => {
      total = value;
      paint();
    },
    news: (waiting) => {
      fresh.hidden = !waiting;
      fill(fresh, t('memory.news', waiting, compact(waiting)));
    },
    busy: (at, of) => {
      const done = at === null;
      steps.hidden = done;
      for (const button of buttons.querySelectorAll('button')) button.disabled = !done;
      if (!done) {
        Object.assign(steps, { max: of, value: at });
        fill(count, t('memory.busy', { at, of }));
      } else paint();
    },
  };
}

function keys(page, actions) {
  const on = (key, act) => shortcut(key, t(`memory.key.${act}`), () => page.list.active && actions[act](page.list.active), page.signal);
  const move = (key, name) =>
    shortcut(key, t(`memory.key.${name}`), (event) => !page.list.contains(event.target) && page.list.focus(), page.signal);
  move('j', 'next');
  move('k', 'before');
  on('o', 'open');
  on('m', 'more');
  shortcut(
    '/',
    t('frame.shortcuts.search'),
    () => {
      page.filters.search.focus();
      page.filters.search.select();
    },
    page.signal,
  );
  if (!may('writer')) return;
  // Where something is selected it is meant, as in the review.
  const many = (key, act, what) =>
    shortcut(
      key,
      t(`memory.key.${act}`),
      () => (page.chosen.size ? actions.many(what()) : page.list.active && actions[act](page.list.active)),
      page.signal,
    );
  on('e', 'edit');
  many('p', 'pin', () => ([...page.chosen.values()].every((one) => one.pinned) ? 'unpin' : 'pin'));
  many('i', 'weigh', () => 'weigh');
  many('#', 'remove', () => 'delete');
  shortcut('x', t('memory.key.select'), () => page.list.active && page.select(page.list.active), page.signal);
  shortcut('X', t('memory.key.range'), () => page.list.active && page.select(page.list.active, true), page.signal);
  shortcut('n', t('memory.new'), () => actions.write(), page.signal);
  shortcut('z', t('memory.key.back'), () => actions.back(), page.signal);
  shortcut('Escape', t('memory.select.none'), () => page.chosen.size && page.selectAll(false), page.signal);
}
