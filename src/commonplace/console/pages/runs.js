// Runs: how the turns of agents and other work went, step by step, and the files that came of it.

import { fill, h } from '../dom.js';
import { tabs } from '../parts/tabs.js';
import { replaceAddress } from '../router.js';
import { t } from '../words.js';
import { artifactsOf } from './runs/artifacts.js';
import { listOf } from './runs/list.js';
import { runOf } from './runs/run.js';

const TABS = { runs: listOf, artifacts: artifactsOf };

export async function show(place, { part, query, signal }) {
  if (part) return runOf(place, part, query, signal);
  const made = tabs({
    page: 'runs',
    label: t('frame.runs'),
    names: { runs: t('frame.runs'), artifacts: t('runs.artifacts') },
    open: (name, panel, leaving, asked) => {
      replaceAddress('runs', '', { tab: name === 'runs' ? '' : name, ...asked });
      return TABS[name](panel, asked, leaving);
    },
    signal,
  });
  fill(place, h('div', { class: 'page-head' }, h('h1', {}, t('frame.runs'))), made.list, made.panel);
  const { tab, ...asked } = query;
  await made.choose(Object.hasOwn(TABS, tab ?? '') ? tab : 'runs', asked);
}
