// Every field of a record.

import { fill, h, plain } from '../../dom.js';
import * as badge from '../../parts/badge.js';
import { membersOf } from '../../parts/members.js';
import { hasMembers } from '../../parts/picker.js';
import { toast } from '../../parts/toast.js';
import { address } from '../../router.js';
import { moment, named, t } from '../../words.js';

const exact = (written) => written && h('time', { datetime: written }, moment(written));

const tagged = (record, tag) => h('a', { class: 'badge', href: address('memory', record.scope, { tag }) }, plain(tag, 80));

/** What was said, as a conversation; else what came from the session. */
const sessionAddress = ({ kind, scope, session, position }) =>
  kind === 'turn' ? address('session', session, { scope, at: position }) : address('memory', scope, { session });

export function facts(page) {
  const { record, parts } = page;
  const { provenance } = record;
  const rows = [
    [
      'id',
      [
        h('code', {}, record.id),
        ' ',
        h('button', { type: 'button', class: 'quiet small', on: { click: () => copy(record.id) } }, t('frame.copy')),
      ],
    ],
    ['scope', h('a', { class: 'mono', href: address('memory', record.scope) }, plain(record.scope))],
    ['kind', named('memory.kind', record.kind)],
    ['key', record.key && h('code', {}, plain(record.key))],
    ['source', badge.source(record.source)],
    ['trust', badge.trust(record.trust)],
    ['visibility', named('record.visibility', record.visibility)],
    ['importance', String(record.importance)],
    [
      'tags',
      record.tags.length > 0 &&
        h(
          'span',
          { class: 'row' },
          record.tags.map((tag) => tagged(record, tag)),
        ),
    ],
    ['version', String(record.version)],
    ['created_at', exact(record.created_at)],
    ['updated_at', exact(record.updated_at)],
    ['at', exact(record.at)],
    ['expires_at', exact(record.expires_at)],
    ['speaker', record.speaker && plain(record.speaker)],
    ['session', record.session && h('a', { class: 'mono', href: sessionAddress(record) }, plain(record.session))],
    ['run', provenance.run && h('span', { class: 'mono' }, plain(provenance.run))],
    ['message', provenance.message && h('span', { class: 'mono' }, plain(provenance.message))],
    ['file', provenance.file && h('span', { class: 'mono' }, plain(provenance.file))],
  ];
  const metadata = Object.keys(record.metadata).length > 0;
  fill(
    parts.facts,
    h('h2', {}, t('record.facts')),
    h(
      'dl',
      { class: 'facts' },
      rows.filter(([, value]) => value).map(([name, value]) => [h('dt', {}, t(`record.field.${name}`)), h('dd', {}, value)]),
    ),
    metadata &&
      h(
        'details',
        {},
        h('summary', {}, t('record.field.metadata')),
        h('pre', { class: 'small' }, plain(JSON.stringify(record.metadata, null, 2), 20_000)),
      ),
    hasMembers(record.scope) && [h('h2', {}, t('memory.members')), shownMembers(page)],
  );
}

/** Asked for once a scope: what is painted anew after each change is the record. */
function shownMembers(page) {
  if (page.membersOf !== page.record.scope) {
    Object.assign(page, { membersOf: page.record.scope, members: membersOf(page.record.scope, page.signal) });
  }
  return page.members;
}

async function copy(text) {
  await navigator.clipboard.writeText(text).then(
    () => toast(t('frame.copied')),
    () => {},
  );
}
