// What runs found out and nobody has vouched for yet, beside what is vouched for about the same thing: promote it or give it up.

import { get, post } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { differences } from '../../parts/differences.js';
import { field, form, reasoned } from '../../parts/form.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { named, number, t } from '../../words.js';
import { desk, toRecord } from './desk.js';

const MOST = 1_000;
const STATUSES = ['working', 'promoted'];

export function knowledge(panel, { query, signal, again }) {
  const status = STATUSES.includes(query.status) ? query.status : 'working';
  let spaces = null;
  const actions = [
    { name: 'promote', label: t('review.promote'), key: 'a', kind: 'primary', act: (many) => promote(many) },
    { name: 'approve', label: t('review.approve'), key: 'a', kind: 'primary', act: (many) => approve(many) },
    { name: 'deprecate', label: t('review.deprecate'), key: 'r', kind: 'danger', act: (many) => deprecate(many) },
  ];
  const load = async (_, wanted) => {
    spaces ??= get('/v1/knowledge/spaces', {}, { signal: wanted }).then((answer) => new Map(answer.spaces.map((one) => [one.id, one])));
    const [known, { items }] = await Promise.all([spaces, get('/v1/knowledge/items', { status, limit: MOST }, { signal: wanted })]);
    return { rows: items.map((one) => ({ ...one, in: known.get(one.space) })), cursor: null };
  };
  // A key does one thing: which of the two promotions it is depends on what is shown.
  const shown = status === 'working' ? 'promote' : 'approve';
  const made = desk({
    label: t('review.knowledge'),
    empty: () => t('review.knowledge.empty'),
    load,
    lines,
    detail,
    signal,
    actions: actions.filter(({ name }) => name === shown || name === 'deprecate'),
    note: (rows) => rows.length >= MOST && h('span', { class: 'soft small' }, t('review.knowledge.newest', { count: number(MOST) })),
  });
  const choice = h(
    'select',
    { 'value': status, 'aria-label': t('review.status'), 'on': { change: () => again({ status: choice.value }) } },
    STATUSES.map((one) => h('option', { value: one }, t(`review.status.${one}`))),
  );
  fill(panel, h('p', { class: 'soft' }, t('review.knowledge.lead')), h('div', { class: 'filters' }, choice), made);
}

const place = (one) => one.in && (one.in.title ?? [one.in.project ?? one.in.run, one.in.namespace].filter(Boolean).join(' / '));

function lines(one) {
  return [
    h('div', { class: 'cut' }, plain(one.title, 200)),
    h(
      'div',
      { class: 'cut small soft' },
      h('span', { class: 'badge' }, named('review.status.short', one.status)),
      ' ',
      plain(place(one) ?? one.space, 80),
      ' · ',
      plain(one.item_type, 40),
      ' · ',
      time(one.updated_at),
    ),
  ];
}

async function detail(one, panel, signal) {
  const beside = h('div', { class: 'soft' }, t('frame.loading'));
  const payload = Object.keys(one.payload).length > 0;
  fill(
    panel,
    h('h2', { class: 'text' }, plain(one.title, 500)),
    h(
      'div',
      { class: 'text review-text' },
      one.summary ? plain(one.summary, 20_000) : h('span', { class: 'soft' }, t('review.knowledge.no-summary')),
    ),
    h('h2', {}, t('review.knowledge.beside')),
    beside,
    h('h2', {}, t('review.origin')),
    h(
      'dl',
      { class: 'facts' },
      [
        ['review.coverage', h('span', { class: 'mono' }, plain(one.coverage_key, 500))],
        ['review.space', plain(place(one) ?? one.space, 255)],
        ['review.run', one.run && h('span', { class: 'mono' }, plain(one.run, 255))],
        ['review.since', time(one.created_at)],
        ['review.fresh', one.freshness_expires_at && time(one.freshness_expires_at)],
        ['review.records', one.source_memory_ids.length > 0 && one.source_memory_ids.slice(0, 20).map((id) => h('div', {}, toRecord(id)))],
      ]
        .filter(([, value]) => value)
        .map(([name, value]) => [h('dt', {}, t(name)), h('dd', {}, value)]),
    ),
    payload && h('details', {}, h('summary', {}, t('review.metadata')), h('pre', {}, plain(JSON.stringify(one.payload, null, 2), 20_000))),
  );
  try {
    const { items } = await get(
      '/v1/knowledge/items',
      { coverage_key: one.coverage_key, status: ['promoted', 'approved_default'], limit: 20 },
      { signal },
    );
    const held = items
      .filter((other) => other.id !== one.id)
      .sort((a, b) => (b.status === 'approved_default') - (a.status === 'approved_default'));
    beside.className = '';
    fill(beside, held.length ? compare(held[0], one) : h('p', { class: 'soft' }, t('review.knowledge.nothing-beside')));
  } catch (error) {
    showError(error);
  }
}

const told = (one) => [one.title, one.summary].filter(Boolean).join('\n');

const compare = (held, one) => [
  h(
    'p',
    { class: 'small' },
    h('span', { class: 'badge' }, named('review.status.short', held.status)),
    ' ',
    t('review.knowledge.by', { who: held.reviewer_id ?? '–' }),
    ' · ',
    time(held.updated_at),
  ),
  h('div', { class: 'text review-text' }, differences(told(held), told(one))),
];

/** One by one; where one fails, those before it are not asked for again. */
async function each(many, done, act) {
  for (const one of many.filter((each) => !done.has(each.id))) {
    await act(one);
    done.add(one.id);
  }
}

async function decided(name, many, fields, body, danger = false) {
  const { why, row } = reasoned();
  const done = new Set();
  const path = name === 'deprecate' ? 'deprecate' : 'promote';
  const act = async () => {
    await each(many, done, (one) => post(`/v1/knowledge/items/${one.id}/${path}`, { ...body(), reason: why.value.trim() }));
    toast(t(`review.done.${name}`, number(many.length), many.length));
    return many.map((one) => one.id);
  };
  const text = h('p', {}, t(`review.${name}.text`, number(many.length), many.length));
  return form(t(`review.${name}`), [text, ...fields, row], { label: t(`review.${name}`), danger, focus: fields.length ? null : why, act });
}

const promote = (many) => decided('promote', many, [], () => ({ status: 'promoted' }));
const deprecate = (many) => decided('deprecate', many, [], () => ({}), true);

function approve(many) {
  const who = h('input', { required: true, maxlength: 255, autocomplete: 'off' });
  const under = h('input', { required: true, maxlength: 255, autocomplete: 'off' });
  const fields = [
    field(t('review.approve.who'), who, t('review.approve.who.hint')),
    field(t('review.approve.under'), under, t('review.approve.under.hint')),
  ];
  return decided('approve', many, fields, () => ({
    status: 'approved_default',
    reviewer_id: who.value.trim(),
    approval_id: under.value.trim(),
  }));
}
