// What waits for a person: what is in quarantine, what others ask to share, what could be promoted; and what one source wrote, to be taken back.

import { fill, h } from '../dom.js';
import { tabs } from '../parts/tabs.js';
import { replaceAddress } from '../router.js';
import { t } from '../words.js';
import { knowledge } from './review/knowledge.js';
import { quarantine } from './review/quarantine.js';
import { requests } from './review/requests.js';
import { rollback } from './review/rollback.js';

const TABS = { quarantine, requests, knowledge };

export async function show(place, { part, query, signal }) {
  let chosen = null;
  const { list, panel, choose } = tabs({
    page: 'review',
    label: t('frame.review'),
    names: Object.fromEntries(Object.keys(TABS).map((name) => [name, t(`review.${name}`)])),
    signal,
    open: (name, inside, until, asked) => {
      const keep = (kept) => {
        chosen = [name, { ...kept }];
        replaceAddress('review', name, kept);
      };
      const again = (wanted) => {
        choose(name, wanted);
        inside.querySelector('select')?.focus();
      };
      keep(asked);
      TABS[name](inside, { query: asked, signal: until, settle: keep, again });
    },
  });
  const takeBack = () => rollback({ onDone: () => !signal.aborted && choose(...chosen) });
  fill(
    place,
    h(
      'div',
      { class: 'page-head' },
      h('h1', {}, t('frame.review')),
      h('span', { class: 'grow' }),
      h('button', { type: 'button', on: { click: takeBack } }, t('review.rollback.open')),
    ),
    list,
    panel,
  );
  choose(Object.hasOwn(TABS, part) ? part : 'quarantine', query);
}
