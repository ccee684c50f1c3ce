// How memory learns: the lanes of work and their dead letters, what models cost, and the managed Markdown.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { tabs } from '../parts/tabs.js';
import { replaceAddress } from '../router.js';
import { may } from '../session.js';
import { t } from '../words.js';
import { cost } from './learning/cost.js';
import { files } from './learning/files.js';
import { lanes } from './learning/lanes.js';

const TABS = { lanes: ['reader', lanes], cost: ['admin', cost], files: ['reader', files] };
const FEATURE = 'workspace_memory_remember';

export async function show(place, { me, part, query, signal }) {
  // Whether there is managed memory for this tenant is asked once, by whoever needs it first.
  let known = null;
  const managed = () => (known ??= get('/capabilities', {}, { signal }).then(({ features }) => features.includes(FEATURE)));
  const offered = Object.keys(TABS).filter((name) => may(TABS[name][0]));
  const { list, panel, choose } = tabs({
    page: 'learning',
    label: t('frame.learning'),
    names: Object.fromEntries(offered.map((name) => [name, t(`learning.${name}`)])),
    signal,
    open: (name, inside, until, asked) => {
      const keep = (kept) => replaceAddress('learning', name, kept);
      keep(asked);
      return TABS[name][1](inside, { me, query: asked, signal: until, settle: keep, managed });
    },
  });
  fill(place, h('div', { class: 'page-head' }, h('h1', {}, t('frame.learning'))), list, panel);
  await choose(offered.includes(part) ? part : 'lanes', query);
}
