// A finding as it is shown and decided on, in the review and on the page of its own.

import { get, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { differences } from '../../parts/differences.js';
import { field, form, reasoned } from '../../parts/form.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { day, named, number, t } from '../../words.js';
import { toRecord } from './desk.js';

const ITEMS = '/v1/knowledge/items';

/** Whether nobody should build on it any longer without looking again. */
export const isStale = (one) => Boolean(one.freshness_expires_at) && new Date(one.freshness_expires_at) <= new Date();

/** What a space is called. */
export const spaceName = (space) => space.title ?? [space.project ?? space.run, space.namespace].filter(Boolean).join(' / ');

/** The findings that `query` names, newest first, each with its space as `in`. */
export async function loadFindings(query, signal) {
  const [{ spaces }, { items }] = await Promise.all([get('/v1/knowledge/spaces', {}, { signal }), get(ITEMS, query, { signal })]);
  const known = new Map(spaces.map((one) => [one.id, one]));
  return items.map((one) => ({ ...one, in: known.get(one.space) }));
}

const place = (one) => one.in && spaceName(one.in);

const freshness = (one) =>
  one.freshness_expires_at &&
  h('span', { class: `badge ${isStale(one) ? 'stale' : 'fresh'}` }, t(isStale(one) ? 'review.stale' : 'review.fresh.short'));

export function lines(one) {
  return [
    h('div', { class: 'cut' }, plain(one.title, 200)),
    h(
      'div',
      { class: 'cut small soft' },
      h('span', { class: 'badge' }, named('review.status.short', one.status)),
      ' ',
      freshness(one),
      ' ',
      plain(place(one) ?? one.space, 80),
      ' · ',
      plain(one.item_type, 40),
      ' · ',
      time(one.updated_at),
    ),
  ];
}

export async function detail(one, panel, signal) {
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
        ['review.last-seen', time(one.last_seen_at)],
        ['review.fresh', one.freshness_expires_at ? [day(one.freshness_expires_at), ' ', freshness(one)] : t('review.fresh.always')],
        ['review.promoted-by', one.reviewer_id && plain(one.reviewer_id, 255)],
        ['review.approval', one.approval_id && plain(one.approval_id, 255)],
        ['review.records', one.source_memory_ids.length > 0 && one.source_memory_ids.slice(0, 20).map((id) => h('div', {}, toRecord(id)))],
      ]
        .filter(([, value]) => value)
        .map(([name, value]) => [h('dt', {}, t(name)), h('dd', {}, value)]),
    ),
    payload && h('details', {}, h('summary', {}, t('review.metadata')), h('pre', {}, plain(JSON.stringify(one.payload, null, 2), 20_000))),
  );
  try {
    const { items } = await get(ITEMS, { coverage_key: one.coverage_key, status: ['promoted', 'approved_default'], limit: 20 }, { signal });
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

/** `request(one, reason)` does it to one. Answers the ids that are decided, or null. */
function decided(name, many, fields, request, { isDanger = false } = {}) {
  const { why, row } = reasoned();
  const done = new Set();
  const act = async () => {
    await each(many, done, (one) => request(one, why.value.trim()));
    toast(t(`review.done.${name}`, number(many.length), many.length));
    return many.map((one) => one.id);
  };
  const text = h('p', {}, t(`review.${name}.text`, number(many.length), many.length));
  const label = t(`review.${name}`);
  return form(label, [text, ...fields, row], { label, danger: isDanger, focus: fields.length ? null : why, act });
}

const send = (one, path, body) => post(`${ITEMS}/${one.id}/${path}`, body);

export const promote = (many) => decided('promote', many, [], (one, reason) => send(one, 'promote', { status: 'promoted', reason }));

export const deprecate = (many) => decided('deprecate', many, [], (one, reason) => send(one, 'deprecate', { reason }), { isDanger: true });

/** Confirm these: they are fresh until a day, or for as long again as they were. */
export function refresh(many) {
  const until = h('input', { type: 'date', min: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10) });
  const body = () => (until.value ? { freshness_expires_at: new Date(`${until.value}T23:59:59`).toISOString() } : {});
  const fields = [field(t('review.refresh.until'), until, t('review.refresh.until.hint'))];
  return decided('refresh', many, fields, (one, reason) => send(one, 'refresh', { ...body(), reason }));
}

/** Make these the default, under an approval that can be read elsewhere. */
export function approve(many) {
  const who = h('input', { required: true, maxlength: 255, autocomplete: 'off' });
  const under = h('input', { required: true, maxlength: 255, autocomplete: 'off' });
  const fields = [
    field(t('review.approve.who'), who, t('review.approve.who.hint')),
    field(t('review.approve.under'), under, t('review.approve.under.hint')),
  ];
  const body = () => ({ status: 'approved_default', reviewer_id: who.value.trim(), approval_id: under.value.trim() });
  return decided('approve', many, fields, (one, reason) => send(one, 'promote', { ...body(), reason }));
}

/** Remove these for good: a box says that it is meant. Only their ids stay, in the audit. */
export function removeFindings(many) {
  const done = new Set();
  const sure = h('label', { class: 'check' }, h('input', { type: 'checkbox', required: true }), ' ', t('review.purge.sure'));
  const act = async () => {
    await each(many, done, (one) => remove(`${ITEMS}/${one.id}`));
    toast(t('review.done.remove', number(many.length), many.length));
    return [...done];
  };
  const text = h('p', {}, t('review.remove.text', number(many.length), many.length));
  const label = t('review.remove');
  return form(label, [text, sure], { label, danger: true, act });
}
