// What runs found out and nobody has vouched for yet, beside what is vouched for about the same thing: promote it or give it up.

import { fill, h } from '../../dom.js';
import { address } from '../../router.js';
import { number, t } from '../../words.js';
import { desk } from './desk.js';
import { approve, deprecate, detail, lines, loadFindings, promote, refresh } from './finding.js';

const MOST = 1_000;
const STATUSES = ['working', 'promoted'];

export function knowledge(panel, { query, signal, again }) {
  const status = STATUSES.includes(query.status) ? query.status : 'working';
  // A key does one thing: which of the two promotions it is depends on what is shown.
  const [name, raise] = status === 'working' ? ['promote', promote] : ['approve', approve];
  const confirm = async (many) => {
    if (await refresh(many)) list.reload();
    return null;
  };
  const list = desk({
    label: t('review.knowledge'),
    empty: () => t('review.knowledge.empty'),
    load: async (_, until) => ({ rows: await loadFindings({ status, limit: MOST }, until), cursor: null }),
    lines,
    detail,
    signal,
    actions: [
      { name, label: t(`review.${name}`), key: 'a', kind: 'primary', act: raise },
      { name: 'refresh', label: t('review.refresh'), key: 'f', act: confirm },
      { name: 'deprecate', label: t('review.deprecate'), key: 'r', kind: 'danger', act: deprecate },
    ],
    note: (rows) => rows.length >= MOST && h('span', { class: 'soft small' }, t('review.knowledge.newest', { count: number(MOST) })),
  });
  const choice = h(
    'select',
    { 'value': status, 'aria-label': t('review.status'), 'on': { change: () => again({ status: choice.value }) } },
    STATUSES.map((one) => h('option', { value: one }, t(`review.status.${one}`))),
  );
  const all = h('a', { href: address('knowledge') }, t('review.knowledge.all'));
  fill(panel, h('p', { class: 'soft' }, t('review.knowledge.lead'), ' ', all), h('div', { class: 'filters' }, choice), list);
}
