// How the memory fares, in pictures: how much there is, from where, how quick recall is, and what looks after it.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import * as badge from '../parts/badge.js';
import { bars, columns, lines, stacked } from '../parts/chart.js';
import { showError } from '../problems.js';
import { address } from '../router.js';
import { may } from '../session.js';
import { compact, day, named, number, size, t } from '../words.js';
import { retention } from './health/retention.js';

const SCOPES = 12;
// As the badges have them.
const TINTS = { manual: 1, auto: 3, director: 4, import: 2, file: 7, turn: 6, distilled: 5, resource: 5, managed: 5 };
const minute = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit' });

export async function show(place, { signal }) {
  const part = (name, wide = false) => {
    const inner = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
    return { inner, card: h('section', { class: wide ? 'card wide' : 'card' }, h('h2', {}, t(`health.${name}`)), inner) };
  };
  const [growth, latency, scopes, trust] = [part('growth', true), part('latency', true), part('scopes'), part('trust')];
  const tiles = h('dl', { class: 'tiles' });
  const inUse = h('p', { class: 'soft' });
  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.health'))),
    tiles,
    inUse,
    h('div', { class: 'columns' }, growth.card, latency.card, scopes.card, trust.card),
    may('admin') && retention(signal),
  );

  // What an admin tends is all there is; others see what they may read.
  const everyone = may('admin') || undefined;
  const ask = (path, query) => get(path, query, { signal });
  const drawn = async (promise, draw) => {
    try {
      draw(await promise);
    } catch (error) {
      showError(error);
    }
  };
  await Promise.all([
    drawn(Promise.all([ask('/v1/stats', { everyone }), ask('/health')]), ([stats, daemon]) => {
      fill(tiles, numbers(stats));
      fill(inUse, used(stats, daemon));
    }),
    drawn(ask('/v1/counts', { by: ['day', 'source'], everyone }), (found) => fill(growth.inner, overTime(found))),
    drawn(ask('/v1/latency'), (found) => fill(latency.inner, quickness(found))),
    drawn(ask('/v1/counts', { by: 'scope', everyone }), (found) => fill(scopes.inner, byScope(found))),
    drawn(
      ask('/v1/counts', { by: ['trust', 'state'], state: ['live', 'demoted', 'superseded', 'expired', 'deleted'], everyone }),
      (found) => fill(trust.inner, byTrust(found)),
    ),
  ]);
}

function used(stats, daemon) {
  const embedders = Object.entries(stats.embedders).map(([name, dimensions]) => t('health.embedder.one', { name, dimensions }));
  return t('health.in-use', {
    store: stats.store,
    schema: stats.schema,
    embedders: embedders.join(', ') || t('health.embedder.none'),
    version: daemon.version,
  });
}

function numbers(stats) {
  const tile = (name, value) => h('div', { class: 'tile' }, h('dt', {}, t(`health.${name}`)), h('dd', {}, value));
  return [
    tile('live', number(stats.live)),
    stats.versions !== null && tile('versions', number(stats.versions)),
    tile('passages', number(stats.passages)),
    stats.bytes !== null && tile('storage', size(stats.bytes)),
    tile('deleted', number(stats.deleted)),
  ];
}

function overTime({ counts, total }) {
  const found = columns(
    counts.map((one) => ({ day: one.by.day, name: one.by.source, records: one.records })),
    { others: t('health.others') },
  );
  if (!total) return h('p', { class: 'soft' }, t('health.none'));
  const series = found.series.map((one) => ({ ...one, name: named('frame.source', one.name), tint: `var(--c${TINTS[one.name] ?? 8})` }));
  const label = t(found.step === 7 ? 'health.growth.weeks' : 'health.growth.days', {
    total: number(total),
    first: day(found.days[0]),
    last: day(found.days.at(-1)),
  });
  return stacked({ label, days: found.days, series, format: compact, day });
}

function quickness({ count, p50, p95, p99, minutes }) {
  if (!count) return h('p', { class: 'soft' }, t('health.latency.none'));
  const ms = (seconds) => `${number(Math.round(seconds * 10_000) / 10)} ms`;
  const points = minutes.map((one) => ({ at: one.at, values: [one.p50 * 1000, one.p95 * 1000] }));
  const label = t('health.latency.told', { count: number(count), p50: ms(p50), p95: ms(p95), p99: ms(p99) });
  return [
    h('p', {}, label),
    lines({
      label,
      points,
      names: [t('health.latency.p50'), t('health.latency.p95')],
      format: (value) => `${number(Math.round(value * 10) / 10)} ms`,
      at: (one) => minute.format(new Date(one)),
    }),
  ];
}

function byScope({ counts, total }) {
  if (!total) return h('p', { class: 'soft' }, t('health.none'));
  const rows = counts.slice(0, SCOPES).map((one) => ({ name: one.by.scope, value: one.records, href: address('memory', one.by.scope) }));
  const rest = total - rows.reduce((sum, one) => sum + one.value, 0);
  if (rest > 0) rows.push({ name: t('health.others'), value: rest });
  return bars({ label: t('health.scopes'), rows, tint: 0 });
}

function byTrust({ counts, total }) {
  if (!total) return h('p', { class: 'soft' }, t('health.none'));
  const sums = (name) => {
    const made = new Map();
    for (const one of counts) made.set(one.by[name], (made.get(one.by[name]) ?? 0) + one.records);
    return [...made].sort((one, other) => other[1] - one[1]);
  };
  return [
    bars({ label: t('health.trust'), rows: sums('trust').map(([name, value]) => ({ name, value, badge: badge.trust(name) })), tint: 2 }),
    bars({ label: t('health.states'), rows: sums('state').map(([name, value]) => ({ name, value, badge: badge.state(name) })), tint: 1 }),
  ];
}
