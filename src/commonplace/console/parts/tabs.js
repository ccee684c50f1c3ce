// Parts of a page of which one is shown (ARIA tabs): arrows move between them.

import { fill, h } from '../dom.js';

/**
 * `names` maps each tab to what it is called. `open(name, panel, signal, asked)` fills the panel; `signal` aborts when another is chosen or
 * the page is left. Answers `list` and `panel`, which belong into the page, and `choose(name, asked)`.
 */
export function tabs({ page, label, names, open, signal }) {
  const panel = h('div', { role: 'tabpanel', id: `${page}-panel` });
  let leaving = null;
  const made = Object.entries(names).map(([name, told]) =>
    h(
      'button',
      {
        'type': 'button',
        'role': 'tab',
        'id': `${page}-tab-${name}`,
        'aria-controls': panel.id,
        'data': { name },
        'on': { click: () => choose(name, {}) },
      },
      told,
    ),
  );

  function choose(name, asked) {
    leaving?.abort();
    leaving = new AbortController();
    for (const tab of made) {
      tab.setAttribute('aria-selected', String(tab.dataset.name === name));
      tab.tabIndex = tab.dataset.name === name ? 0 : -1;
    }
    panel.setAttribute('aria-labelledby', `${page}-tab-${name}`);
    fill(panel);
    return open(name, panel, leaving.signal, asked);
  }

  function onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = (made.indexOf(event.target) + step + made.length) % made.length;
    made[at].focus();
    choose(made[at].dataset.name, {});
  }

  signal.addEventListener('abort', () => leaving?.abort());
  const list = h('div', { 'class': 'tabs', 'role': 'tablist', 'aria-label': label, 'on': { keydown: onKey } }, made);
  return { list, panel, choose };
}
