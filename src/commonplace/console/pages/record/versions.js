// Every version of a record: what was changed, by whom, when and why. A difference is worked out when it is looked at.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import * as badge from '../../parts/badge.js';
import { differences } from '../../parts/differences.js';
import { lengthy } from '../../parts/lengthy.js';
import { allowedActions } from '../../parts/record_actions.js';
import { showError } from '../../problems.js';
import { moment, named, t } from '../../words.js';

const AT_ONCE = 20;
const FIELDS =
  'scope key kind source tags metadata pinned importance trust visibility at expires_at demoted superseded_by deleted_at'.split(' ');
const MOMENTS = new Set(['at', 'expires_at', 'deleted_at']);

/** Answers the latest of them; null where there is none any more, which the page itself tells. */
export async function versions(page) {
  const place = page.parts.versions;
  if (!place.childElementCount) fill(place, h('h2', {}, t('record.versions')), h('p', { class: 'soft' }, t('frame.loading')));
  let found;
  try {
    found = (await get(`/v1/records/${page.id}/versions`, {}, { signal: page.signal })).versions;
  } catch (error) {
    if (error.status !== 404) showError(error);
    return null;
  }
  const list = h('ol', { class: 'versions', reversed: true });
  const more = h('button', { type: 'button', on: { click: () => grow() } }, t('record.versions.more'));
  let next = found.length - 1;
  const grow = () => {
    const upTo = Math.max(-1, next - AT_ONCE);
    for (; next > upTo; next -= 1) list.append(item(page, found[next], found[next - 1] ?? null, next === found.length - 1));
    more.hidden = next < 0;
  };
  grow();
  fill(place, h('h2', {}, t('record.versions'), ' ', h('span', { class: 'soft small' }, String(found.length))), list, more);
  return found.at(-1);
}

function item(page, version, before, isLatest) {
  const body = h('div', { class: 'change' });
  const details = h(
    'details',
    {
      on: {
        toggle: () => {
          if (details.open && !body.childElementCount) fill(body, changes(version, before));
        },
      },
    },
    h(
      'summary',
      {},
      h('span', { class: 'version' }, `v${version.version}`),
      ' ',
      h('strong', {}, told(version)),
      ' ',
      h('span', { class: 'soft small' }, version.actor && [plain(version.actor, 80), ' · '], badge.time(version.updated_at)),
    ),
    version.reason && h('p', { class: 'small' }, t('record.because'), ' ', h('q', {}, plain(version.reason))),
    body,
    !isLatest &&
      allowedActions(page.record).edit &&
      h(
        'p',
        {},
        h('button', { type: 'button', on: { click: () => page.goBack(version) } }, t('record.go-back', { version: version.version })),
      ),
  );
  if (isLatest && before) {
    details.open = true;
    fill(body, changes(version, before));
  }
  return h('li', {}, details);
}

const told = (version) =>
  version.restores === null ? named('record.change', version.change) : t('record.change.restores', { version: version.restores });

function changes(version, before) {
  if (!before)
    return [h('p', { class: 'soft small' }, t('record.first')), lengthy({ class: 'text difference' }, version.text, { most: 20_000 })];
  const fields = FIELDS.filter((name) => JSON.stringify(version[name]) !== JSON.stringify(before[name]));
  const parts = [];
  if (version.text !== before.text) parts.push(differences(before.text, version.text));
  if (fields.length) {
    parts.push(
      h(
        'dl',
        { class: 'facts' },
        fields.map((name) => [
          h('dt', {}, t(`record.field.${name}`)),
          h('dd', {}, h('del', {}, shown(name, before[name])), ' → ', h('ins', {}, shown(name, version[name]))),
        ]),
      ),
    );
  }
  return parts.length ? parts : h('p', { class: 'soft small' }, t('record.same'));
}

function shown(name, value) {
  if (value === null || (Array.isArray(value) && !value.length)) return t('record.empty');
  if (typeof value === 'boolean') return t(value ? 'record.yes' : 'record.no');
  if (MOMENTS.has(name)) return moment(value);
  if (name === 'trust') return named('frame.trust', value);
  if (name === 'visibility') return named('record.visibility', value);
  if (Array.isArray(value)) return plain(value.join(', '), 2000);
  return plain(typeof value === 'object' ? JSON.stringify(value) : String(value), 2000);
}
