// Who touched a record, from the audit, and which searches found it.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import * as badge from '../../parts/badge.js';
import { showError } from '../../problems.js';
import { may } from '../../session.js';
import { named, number, t } from '../../words.js';

const AT_ONCE = 50;

export async function traces(page) {
  const recalls = h('div', {});
  const audit = may('reviewer') ? h('div', {}) : null;
  fill(page.parts.traces, recalls, audit);
  await Promise.all([recalled(page, recalls), audit && touched(page, audit)]).catch((error) => error.status === 404 || showError(error));
}

function table(label, heads, body) {
  const head = h(
    'thead',
    {},
    h(
      'tr',
      {},
      heads.map((one) => h('th', { scope: 'col' }, t(one))),
    ),
  );
  return h('div', { 'class': 'scroll-x', 'tabindex': '0', 'role': 'region', 'aria-label': label }, h('table', {}, head, body));
}
const row = (...values) =>
  h(
    'tr',
    {},
    values.map((one) => h('td', {}, one)),
  );
const word = (value) =>
  value === null || value === undefined || value === '' ? h('span', { class: 'soft' }, '–') : plain(String(value), 120);

async function recalled(page, place) {
  fill(place, h('h2', {}, t('record.recalls')), h('p', { class: 'soft' }, t('frame.loading')));
  const { recalls, searched, complete } = await get(`/v1/records/${page.id}/recalls`, { limit: AT_ONCE }, { signal: page.signal });
  const looked = h('p', { class: 'soft small' }, t(complete ? 'record.recalls.searched' : 'record.recalls.latest', number(searched)));
  if (!recalls.length) return void fill(place, h('h2', {}, t('record.recalls')), h('p', {}, t('record.recalls.none')), looked);
  const body = h(
    'tbody',
    {},
    recalls.map((one) =>
      row(
        badge.time(one.at),
        word(one.by),
        named('record.action', one.action),
        word(one.run ?? one.client),
        t('record.rank', { rank: one.rank }),
      ),
    ),
  );
  const heads = ['record.when', 'record.who', 'record.what', 'record.field.run', 'record.place'];
  fill(place, h('h2', {}, t('record.recalls')), table(t('record.recalls'), heads, body), looked);
}

async function touched(page, place) {
  const body = h('tbody', {});
  const more = h('button', { type: 'button', hidden: true, on: { click: () => next().catch(showError) } }, t('record.audit.more'));
  let cursor = null;
  const next = async () => {
    const found = await get('/v1/audit', { record: page.id, limit: AT_ONCE, cursor }, { signal: page.signal });
    body.append(
      ...found.rows.map((one) =>
        row(
          badge.time(one.at),
          word(one.actor),
          named('record.action', one.action),
          h('span', { class: ['ok', 'unchanged'].includes(one.outcome) ? '' : 'problem' }, named('record.outcome', one.outcome)),
          word(one.door),
          one.version ? `v${one.version}` : word(null),
        ),
      ),
    );
    cursor = found.cursor;
    more.hidden = cursor === null;
  };
  const heads = ['record.when', 'record.who', 'record.what', 'record.how', 'record.door', 'record.field.version'];
  fill(place, h('h2', {}, t('record.audit')), table(t('record.audit'), heads, body), more);
  await next();
}
