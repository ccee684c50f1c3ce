// Where a record comes from: the turns around it, the file, the run; and which records took whose place.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import * as badge from '../../parts/badge.js';
import { showError } from '../../problems.js';
import { address } from '../../router.js';
import { titleOf } from '../../text/title.js';
import { t } from '../../words.js';

const AROUND = 3;
const LOOKED_AT = 500;

export async function origin(page) {
  const { record, parts } = page;
  const [said, followed, left] = await Promise.all([turns(page), successor(page), predecessors(page)]).catch((error) => {
    showError(error);
    return [null, null, []];
  });
  const { file, run, message } = record.provenance;
  const plainly = [
    ['file', file],
    ['run', run],
    ['message', message],
  ].filter(([, value]) => value);
  const known = said || plainly.length || followed || left.length;
  fill(
    parts.origin,
    h('h2', {}, t('record.origin')),
    !known && h('p', { class: 'soft' }, t('record.origin.none', { actor: record.actor ?? '–' })),
    plainly.length > 0 &&
      h(
        'ul',
        { class: 'plainly' },
        plainly.map(([name, value]) => h('li', {}, t(`record.from.${name}`), ' ', h('code', {}, plain(value)))),
      ),
    followed && linked('record.superseded-by', [followed]),
    left.length > 0 && linked('record.supersedes', left),
    said,
  );
}

function linked(words, records) {
  const link = (one) =>
    h('a', { href: address('record', one.id) }, titleOf(one) ? h('span', { class: 'mono' }, plain(titleOf(one))) : plain(one.text, 80));
  return [
    h('h3', {}, t(words)),
    h(
      'ul',
      { class: 'links' },
      records.map((one) => h('li', {}, link(one), ' ', badge.state(one.state))),
    ),
  ];
}

async function successor({ record, signal }) {
  if (!record.superseded_by) return null;
  // It may be in a scope that this key does not reach, or purged since.
  return get(`/v1/records/${record.superseded_by}`, {}, { signal }).catch((error) => {
    if (error.name === 'AbortError' || error.status !== 404) throw error;
    return { id: record.superseded_by, text: record.superseded_by, key: null, state: 'deleted' };
  });
}

async function predecessors({ record, signal }) {
  return (await get('/v1/records', { superseded_by: record.id }, { signal })).records;
}

/** What was said in the session, around the turn that this record is, or that told it. */
async function turns({ record, signal }) {
  const { session, position, provenance } = record;
  if (!session) return null;
  const { records, cursor } = await get('/v1/records', { session, kind: 'turn', order: 'position', limit: LOOKED_AT }, { signal });
  if (!records.length) {
    const link = h('a', { class: 'mono', href: address('memory', record.scope, { session }) }, plain(session, 60));
    return h('ul', { class: 'plainly' }, h('li', {}, t('record.field.session'), ' ', link));
  }
  const told = (one) =>
    (provenance.message && one.provenance.message === provenance.message) || (position !== null && one.position === position);
  const at = records.findIndex((one) => one.id === record.id || told(one));
  const first = Math.max(0, at - AROUND);
  const near = at < 0 ? records.slice(0, 2 * AROUND + 1) : records.slice(first, at + AROUND + 1);
  const all = h(
    'a',
    { href: address('session', session, { scope: records[0].scope, at: records[at]?.position }) },
    t('record.session.all', cursor ? `${records.length}+` : records.length),
  );
  return [
    h('h3', {}, t('record.session'), ' ', h('code', {}, plain(session, 60))),
    h(
      'ol',
      { class: 'turns' },
      near.map((one) => turn(one, records[at])),
    ),
    h('p', { class: 'small' }, all),
  ];
}

const turn = (one, here) =>
  h(
    'li',
    { 'class': one === here ? 'here' : '', 'aria-current': one === here ? 'true' : null },
    h('a', { href: address('record', one.id), class: 'small' }, plain(one.speaker ?? '–', 60)),
    ' ',
    h('span', { class: 'soft small' }, badge.time(one.at ?? one.created_at)),
    h('div', { class: 'clamp' }, plain(one.text, 300)),
  );
