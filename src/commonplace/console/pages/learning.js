// How memory learns: the lanes of work and their dead letters, what models cost, and the managed Markdown.

import { get } from '../api.js';
import { may, settle } from '../app.js';
import { fill, h } from '../dom.js';
import { t } from '../words.js';
import { cost } from './learning/cost.js';
import { files } from './learning/files.js';
import { lanes } from './learning/lanes.js';

const TABS = { lanes: ['reader', lanes], cost: ['admin', cost], files: ['reader', files] };
const FEATURE = 'workspace_memory_remember';

export async function show(place, { me, part, query, signal }) {
  const panel = h('div', { role: 'tabpanel', id: 'learning-panel' });
  // Whether there is managed memory for this tenant is asked once, by whoever needs it first.
  let known = null;
  const managed = () => (known ??= get('/capabilities', {}, { signal }).then(({ features }) => features.includes(FEATURE)));
  let leaving = null;

  const tabs = Object.keys(TABS)
    .filter((name) => may(TABS[name][0]))
    .map((name) =>
      h(
        'button',
        {
          'type': 'button',
          'role': 'tab',
          'id': `learning-tab-${name}`,
          'aria-controls': 'learning-panel',
          'data': { name },
          'on': { click: () => choose(name, {}) },
        },
        t(`learning.${name}`),
      ),
    );

  function choose(name, asked) {
    leaving?.abort();
    leaving = new AbortController();
    for (const tab of tabs) {
      tab.setAttribute('aria-selected', String(tab.dataset.name === name));
      tab.tabIndex = tab.dataset.name === name ? 0 : -1;
    }
    panel.setAttribute('aria-labelledby', `learning-tab-${name}`);
    const keep = (kept) => settle('learning', name, kept);
    keep(asked);
    fill(panel);
    return TABS[name][1](panel, { me, query: asked, signal: leaving.signal, settle: keep, managed });
  }

  function onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = (tabs.indexOf(event.target) + step + tabs.length) % tabs.length;
    tabs[at].focus();
    choose(tabs[at].dataset.name, {});
  }

  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.learning'))),
    h('div', { 'class': 'tabs', 'role': 'tablist', 'aria-label': t('frame.learning'), 'on': { keydown: onKey } }, tabs),
    panel,
  );
  signal.addEventListener('abort', () => leaving?.abort());
  await choose(tabs.some((tab) => tab.dataset.name === part) ? part : 'lanes', query);
}
