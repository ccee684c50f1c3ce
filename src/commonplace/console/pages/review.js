// What waits for a person: what is in quarantine, what could be promoted, and what one source wrote, to be taken back.

import { settle } from '../app.js';
import { fill, h } from '../dom.js';
import { t } from '../words.js';
import { knowledge } from './review/knowledge.js';
import { quarantine } from './review/quarantine.js';
import { rollback } from './review/rollback.js';

const TABS = { quarantine, knowledge };

export async function show(place, { part, query, signal }) {
  const panel = h('div', { role: 'tabpanel', id: 'review-panel' });
  let leaving = null;
  let chosen = null;

  const tabs = Object.keys(TABS).map((name) =>
    h(
      'button',
      {
        'type': 'button',
        'role': 'tab',
        'id': `review-tab-${name}`,
        'aria-controls': 'review-panel',
        'data': { name },
        'on': { click: () => choose(name, {}) },
      },
      t(`review.${name}`),
    ),
  );

  function choose(name, asked) {
    leaving?.abort();
    leaving = new AbortController();
    chosen = [name, asked];
    for (const tab of tabs) {
      tab.setAttribute('aria-selected', String(tab.dataset.name === name));
      tab.tabIndex = tab.dataset.name === name ? 0 : -1;
    }
    panel.setAttribute('aria-labelledby', `review-tab-${name}`);
    settle('review', name, asked);
    fill(panel);
    const keep = (kept) => {
      chosen = [name, { ...kept }];
      settle('review', name, kept);
    };
    const again = (wanted) => {
      choose(name, wanted);
      panel.querySelector('select')?.focus();
    };
    TABS[name](panel, { query: asked, signal: leaving.signal, settle: keep, again });
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
    h(
      'div',
      { class: 'page-head' },
      h('h1', {}, t('frame.review')),
      h('span', { class: 'grow' }),
      h(
        'button',
        { type: 'button', on: { click: () => rollback({ onDone: () => !signal.aborted && choose(...chosen) }) } },
        t('review.rollback.open'),
      ),
    ),
    h('div', { 'class': 'tabs', 'role': 'tablist', 'aria-label': t('frame.review'), 'on': { keydown: onKey } }, tabs),
    panel,
  );
  signal.addEventListener('abort', () => leaving?.abort());
  choose(Object.hasOwn(TABS, part) ? part : 'quarantine', query);
}
