// What is in quarantine: why, from where, and what it would change. Let it out, mend it, reject it, or remove it for good.

import { get } from '../../api.js';
import { fill, fresh, h, later, plain } from '../../dom.js';
import { source, time, trust } from '../../parts/badge.js';
import { differences } from '../../parts/differences.js';
import { marked } from '../../parts/marked.js';
import { picker } from '../../parts/picker.js';
import { showError } from '../../problems.js';
import { named, t } from '../../words.js';
import { accept, mend, purge, reject } from './decisions.js';
import { desk, toRecord } from './desk.js';
import { rollback } from './rollback.js';

const PAGE = 100;
const MOST = 20_000;
const MOST_SUGGESTED = 50;

export function quarantine(panel, { query, signal, settle }) {
  fill(panel, new QuarantineTab({ query, signal, settle }).elements);
}

class QuarantineTab {
  #signal;
  #settle;
  #filter; // { scope, source, session }, each '' if it is open
  #boxes; // for source and session
  #suggestions; // the datalist of each box
  #scope;
  #desk;
  #wholeButtons = h('span', { class: 'row' });

  constructor({ query: { scope = '', source = '', session = '' }, signal, settle }) {
    this.#signal = signal;
    this.#settle = settle;
    this.#filter = { scope, source, session };
    this.#boxes = { source: this.#box('source'), session: this.#box('session') };
    const datalists = Object.entries(this.#boxes).map(([name, box]) => [name, h('datalist', { id: box.getAttribute('list') })]);
    this.#suggestions = Object.fromEntries(datalists);
    this.#scope = picker({ value: scope, onPick: (picked) => this.#narrow({ scope: picked }), signal });
    this.#desk = this.#makeDesk();
    fill(this.#wholeButtons, this.#buttonsForWhole());
  }

  get elements() {
    const boxes = [...Object.values(this.#boxes), ...Object.values(this.#suggestions)];
    return [
      h('p', { class: 'soft' }, t('review.quarantine.lead')),
      h('div', { class: 'filters' }, this.#scope, boxes, h('span', { class: 'grow' }), this.#wholeButtons),
      this.#desk,
    ];
  }

  #makeDesk() {
    const reload = () => this.#desk.reload();
    const narrow = (changes) => this.#narrow(changes);
    return desk({
      label: t('review.quarantine'),
      empty: () => t('review.quarantine.empty'),
      load: (cursor, signal) => this.#load(cursor, signal),
      lines,
      actions: [
        { name: 'accept', label: t('review.accept'), key: 'a', kind: 'primary', act: (items) => accept(items, { onBack: reload }) },
        { name: 'mend', label: t('review.mend'), key: 'e', alone: true, act: ([item]) => mend(item) },
        { name: 'reject', label: t('review.reject'), key: 'r', kind: 'danger', act: (items) => reject(items, { onBack: reload }) },
        { name: 'purge', label: t('review.purge'), kind: 'danger', act: (items) => purge(items) },
      ],
      // A finding can be let out or purged; it has no earlier version to be brought back.
      fits: (action, item) => item.type === 'record' || !['mend', 'reject'].includes(action.name),
      signal: this.#signal,
      onRows: (rows) => this.#suggest(rows),
      detail: (item, place, signal) => detail(item, place, signal, { narrow, again: reload }),
    });
  }

  async #load(cursor, signal) {
    const page = await get('/v1/review', { ...this.#filter, limit: PAGE, cursor }, { signal });
    return { rows: [...page.findings.map(finding), ...page.waiting.map(record)], cursor: page.cursor };
  }

  // ---- the filters

  #box(name) {
    const label = t(`review.${name}`);
    const narrow = later(() => this.#narrow({ [name]: this.#boxes[name].value.trim() }), 250);
    return h('input', {
      'type': 'search',
      'aria-label': label,
      'placeholder': label,
      'value': this.#filter[name],
      'list': fresh(name),
      'on': { input: narrow },
    });
  }

  #suggest(rows) {
    for (const [name, datalist] of Object.entries(this.#suggestions)) {
      const values = new Set(rows.slice(0, 1000).map((item) => item[name]));
      const options = [...values].filter(Boolean).slice(0, MOST_SUGGESTED);
      fill(
        datalist,
        options.map((value) => h('option', { value })),
      );
    }
  }

  #narrow(changes) {
    const filter = Object.assign(this.#filter, changes);
    this.#boxes.source.value = filter.source;
    this.#boxes.session.value = filter.session;
    this.#scope.pick(filter.scope);
    this.#settle(filter);
    fill(this.#wholeButtons, this.#buttonsForWhole());
    this.#desk.reload();
  }

  /** Where one source or one session is shown, all of it can be decided on at once, what was not scrolled to as well. */
  #buttonsForWhole() {
    const filters = Object.entries(this.#filter).filter(([, value]) => value);
    if (filters.length !== 1 || filters[0][0] === 'scope') return null;
    const [[name, value]] = filters;
    const button = (action, decide, kind) => {
      const click = async () => {
        const ids = await decide([], { whole: { [name]: value }, onBack: () => this.#desk.reload() });
        if (ids && !this.#signal.aborted) this.#desk.reload();
      };
      const label = t(`review.${action}-${name}`);
      return h('button', { 'type': 'button', 'class': kind, 'aria-label': label, 'on': { click } }, t(`review.${action}-all`));
    };
    return [button('accept', accept, ''), button('reject', reject, 'danger')];
  }
}

const finding = (one) => ({ type: 'finding', ...one, text: one.summary, source: null, session: null });
const record = (one) => ({
  type: 'record',
  id: one.record.id,
  title: one.record.text,
  text: one.record.text,
  source: one.record.source,
  session: one.record.session,
  scope: one.record.scope,
  reasons: one.reasons,
  sentence: one.sentence,
  since: one.since,
  beside: one.beside,
  key: one.key,
  record: one.record,
});

function lines(one) {
  const why = one.reasons.map((reason) => named('review.sign', reason)).join(t('review.comma'));
  return [
    h('div', { class: 'review-line' }, h('span', { class: 'cut' }, plain(one.title, 200)), h('small', { class: 'soft' }, time(one.since))),
    h(
      'div',
      { class: 'cut small soft' },
      one.source ? source(one.source) : h('span', { class: 'badge' }, t('review.finding')),
      ' ',
      why,
      ' · ',
      h('span', { class: 'mono' }, one.scope),
    ),
  ];
}

const text = (words, sentence = null) => h('div', { class: 'text review-text' }, marked(words, sentence, MOST));

const sign = (reason) =>
  h('li', {}, h('strong', {}, named('review.sign', reason)), ' ', h('code', {}, reason), h('br'), named('review.sign.told', reason));

async function detail(one, place, signal, ways) {
  const beside = h('div', {});
  const isFinding = one.type === 'finding';
  fill(
    place,
    h('h2', {}, t('review.why')),
    h('ul', { class: 'review-signs' }, one.reasons.map(sign)),
    beside,
    isFinding ? found(one) : told(one, ways),
  );
  if (!one.beside) {
    return fill(
      beside,
      h('h2', {}, t(isFinding ? 'review.finding' : 'review.text')),
      isFinding && h('h3', {}, marked(one.title, one.sentence, 500)),
      text(one.text, one.sentence),
    );
  }
  fill(beside, h('p', { class: 'soft' }, t('frame.loading')));
  try {
    return compare(beside, await get(`/v1/records/${one.beside}`, {}, { signal }), one);
  } catch (error) {
    if (error.name === 'AbortError') return null;
    // It may be gone, or in a scope that this key does not reach: what waits can be read all the same.
    if (error.status !== 404) showError(error);
    return fill(beside, h('p', { class: 'warn' }, t('review.beside.gone')), h('h2', {}, t('review.text')), text(one.text, one.sentence));
  }
}

function compare(place, held, one) {
  one.held = held;
  return fill(
    place,
    h(
      'div',
      { class: 'columns' },
      h(
        'div',
        {},
        h('h2', {}, t('review.beside.now')),
        h('p', { class: 'small' }, source(held.source), ' ', trust(held.trust), ' ', toRecord(held.id, t('review.open'))),
        text(held.text),
      ),
      h(
        'div',
        {},
        h('h2', {}, t('review.beside.then')),
        h('p', { class: 'small' }, source(one.source), ' ', trust(one.record.trust)),
        text(one.text, one.sentence),
      ),
    ),
    h('h2', {}, t('review.beside.differences')),
    h('div', { class: 'text review-text' }, differences(held.text, one.text)),
  );
}

const facts = (pairs) =>
  h(
    'dl',
    { class: 'facts' },
    pairs.filter(([, value]) => value).map(([name, value]) => [h('dt', {}, t(name)), h('dd', {}, value)]),
  );
const mono = (value, most = 255) => value && h('span', { class: 'mono' }, plain(value, most));

const found = (one) =>
  facts([
    ['review.scope', mono(one.scope)],
    ['review.coverage', mono(one.coverage_key, 500)],
    ['review.since', time(one.since)],
  ]);

function told(one, { narrow, again }) {
  const held = one.record;
  const metadata = Object.fromEntries(Object.entries(held.metadata).filter(([name]) => name !== 'quarantine'));
  const press = (name, act) => h('button', { type: 'button', class: 'quiet small', on: { click: act } }, t(name));
  const only = (name, value, ...more) =>
    value &&
    h(
      'span',
      { class: 'row' },
      mono(value),
      press(`review.only-${name}`, () => narrow({ source: '', session: '', scope: '', [name]: value })),
      more,
    );
  return [
    h('h2', {}, t('review.origin')),
    facts([
      [
        'review.source',
        only(
          'source',
          one.source,
          press('review.rollback.this', () => rollback({ by: 'source', value: one.source, onDone: again })),
        ),
      ],
      ['review.session', only('session', one.session)],
      ['review.scope', mono(held.scope)],
      ['review.trust', trust(held.trust)],
      ['review.key', (one.key ?? held.key) && h('code', {}, plain(one.key ?? held.key, 255))],
      ['review.speaker', held.speaker && plain(held.speaker, 255)],
      ['review.actor', held.actor && plain(held.actor, 255)],
      ['review.run', mono(held.provenance.run)],
      ['review.message', mono(held.provenance.message)],
      ['review.file', mono(held.provenance.file, 500)],
      ['review.since', time(one.since ?? held.created_at)],
      ['review.record', toRecord(held.id)],
    ]),
    Object.keys(metadata).length > 0 &&
      h('details', {}, h('summary', {}, t('review.metadata')), h('pre', {}, plain(JSON.stringify(metadata, null, 2), MOST))),
  ];
}
