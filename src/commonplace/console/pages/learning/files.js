// The managed Markdown: the files of each folder beside the one that is open, and what changed lately.

import { get, listen, post } from '../../api.js';
import { fill, h, later, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { address } from '../../router.js';
import { may } from '../../session.js';
import { moment, named, number, t } from '../../words.js';
import { drafts } from './drafts.js';
import { opened } from './file.js';
import { made } from './making.js';

const INDEX = 'MEMORY.md';
const MOST_SHOWN = 200;

export async function files(place, { me, query, signal, settle, managed }) {
  let roots = [];
  let wanted = query.root && query.path ? { root: query.root, path: query.path } : null;
  let showing = null; // { root, path, leaving, refresh }
  const kept = drafts(me);

  const find = h('input', {
    'type': 'search',
    'placeholder': t('learning.files.find'),
    'aria-label': t('learning.files.find'),
    'on': { input: later(paint, 80) },
  });
  const list = h(
    'nav',
    { 'class': 'learning-list', 'aria-label': t('learning.files.label') },
    h('p', { class: 'soft' }, t('frame.loading')),
  );
  const create = may('writer') && h('button', { type: 'button', disabled: true, on: { click: make } }, t('learning.new'));
  const detail = h('div', { class: 'learning-detail card' });
  const past = h('ul', { class: 'learning-changes' });
  const desk = h(
    'div',
    { class: 'learning-desk' },
    h('div', { class: 'learning-shelf' }, h('div', { class: 'filters' }, find, create), list),
    detail,
  );

  async function load() {
    const [found, changed] = await Promise.all([get('/v1/managed', {}, { signal }), get('/v1/managed/changes', {}, { signal })]);
    roots = found.roots;
    if (create) create.disabled = !roots.length;
    paint();
    fill(past, changed.changes.length ? changed.changes.map((one) => change(one)) : h('li', { class: 'soft' }, t('learning.changes.none')));
  }
  const again = () => (signal.aborted ? null : load().catch(showError));

  async function news() {
    await again();
    await showing?.refresh();
  }

  function isThere(root, path) {
    const shelved = roots.find((one) => one.root === root);
    // Not all of a great many are listed.
    return Boolean(shelved) && (path === INDEX || shelved.total > shelved.files.length || shelved.files.some((one) => one.path === path));
  }

  // ---- the list

  function paint() {
    const asked = find.value.trim().toLowerCase();
    const fits = (file) => !asked || [file.path, file.name, file.description].some((text) => text?.toLowerCase().includes(asked));
    const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    fill(
      list,
      roots.map((root) => shelf(root, root.files.filter(fits), asked)),
    );
    if (focused) [...list.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
  }

  function shelf({ root, scope, total }, some, asked) {
    const rest = some.length - MOST_SHOWN;
    return h(
      'section',
      {},
      h(
        'h2',
        {},
        t(`learning.root.${root}`),
        ' ',
        h('small', { class: 'soft mono' }, plain(scope, 60)),
        ' ',
        h('small', { class: 'soft' }, number(total)),
      ),
      h(
        'ul',
        {},
        !asked && h('li', {}, link(root, INDEX, h('strong', {}, t('learning.index')), h('span', { class: 'mono soft small' }, INDEX))),
        some.slice(0, MOST_SHOWN).map((file) => h('li', {}, link(root, file.path, ...summary(root, file)))),
        !some.length && h('li', { class: 'soft' }, t(asked ? 'learning.files.no-fit' : 'learning.files.none')),
        rest > 0 && h('li', { class: 'soft' }, t('learning.files.more', rest)),
      ),
    );
  }

  function link(root, path, ...content) {
    const current = showing?.root === root && showing.path === path;
    return h(
      'a',
      {
        'href': address('learning', 'files', { root, path }),
        'aria-current': current && 'true',
        'on': {
          click: (event) => {
            if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
              event.preventDefault();
              open(root, path, { focus: true });
            }
          },
        },
      },
      content,
    );
  }

  function summary(root, file) {
    return [
      h(
        'span',
        { class: 'learning-name' },
        h('strong', { class: 'cut' }, plain(file.name ?? file.path, 120)),
        kept.has(root, file.path) && h('span', { class: 'badge warn' }, t('learning.draft')),
        file.problem
          ? h('span', { class: 'badge warn' }, t('learning.problem'))
          : h('span', { class: 'badge' }, named('learning.type', file.type)),
        file.stale && h('span', { class: 'badge', title: t('learning.stale.note') }, t('learning.stale')),
        h('span', { class: 'grow' }),
        h('span', { class: 'soft small' }, time(file.modified_at)),
      ),
      h('span', { class: 'soft small cut' }, plain(file.problem ?? file.description ?? '', 160)),
    ];
  }

  // ---- the file that is open

  function open(root, path, { focus = false } = {}) {
    showing?.leaving.abort();
    const leaving = new AbortController();
    signal.addEventListener('abort', () => leaving.abort(), { signal: leaving.signal });
    showing = { root, path, leaving };
    settle({ root, path });
    desk.classList.add('reading');
    const file = roots.find((one) => one.root === root)?.files.find((one) => one.path === path) ?? null;
    const link = (target) => within(root, path, target);
    const view = opened({
      root,
      path,
      file,
      isThere: () => isThere(root, path),
      kept,
      signal: leaving.signal,
      link,
      onClose: close,
      onChange: again,
      undo,
    });
    showing.refresh = view.refresh;
    fill(detail, view.element);
    paint();
    list.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
    if (focus) view.element.querySelector('h2')?.focus();
  }

  function close() {
    const { root, path } = showing ?? {};
    showing?.leaving.abort();
    showing = null;
    settle({});
    desk.classList.remove('reading');
    fill(detail, h('p', { class: 'soft' }, t('learning.files.pick')));
    paint();
    const before = [...list.querySelectorAll('a')].find((one) => one.getAttribute('href') === address('learning', 'files', { root, path }));
    (before ?? find).focus();
  }

  /** The address of a file that a text links to, where there is one. */
  function within(root, from, target) {
    if (!/^[^:#?]+\.md$/.test(target) || target.startsWith('/')) return null;
    const parts = from.split('/').slice(0, -1);
    for (const part of target.split('/')) {
      if (part === '..') parts.pop();
      else if (part !== '.') parts.push(part);
    }
    const path = parts.join('/');
    return isThere(root, path) ? address('learning', 'files', { root, path }) : null;
  }

  async function make() {
    const file = await made(roots);
    if (!file || signal.aborted) return;
    await again();
    open(file.root, file.path, { focus: true });
  }

  // ---- what changed

  const told = (some) => (some.length > 3 ? t('learning.count', some.length) : some.join(t('learning.comma')));

  function change(one) {
    const words = named('learning.what', one.what);
    return h(
      'li',
      {},
      h('strong', {}, words),
      ' ',
      time(one.at),
      ' ',
      h('span', { class: 'badge' }, t(`learning.root.${one.root}`)),
      ' ',
      h('span', { class: 'soft small', title: one.paths.join('\n') }, plain(told(one.paths), 240)),
      h('span', { class: 'grow' }),
      may('writer') &&
        h(
          'button',
          {
            'type': 'button',
            'class': 'quiet',
            'aria-label': t('learning.undo.what', { what: words, files: told(one.paths), when: moment(one.at) }),
            'on': { click: () => undo(one.id) },
          },
          t('learning.undo'),
        ),
    );
  }

  async function undo(id) {
    try {
      const { restored, left } = await post(`/v1/managed/changes/${encodeURIComponent(id)}/undo`);
      toast([t('learning.undone', restored.length), left.length ? t('learning.undone.left', left.length) : ''].join(' '));
      await news();
    } catch (error) {
      showError(error);
    }
  }

  fill(detail, h('p', { class: 'soft' }, t('learning.files.pick')));
  fill(
    place,
    desk,
    h('section', { 'aria-labelledby': 'learning-changes' }, h('h2', { id: 'learning-changes' }, t('learning.changes')), past),
  );
  if (!(await managed())) {
    fill(place, h('p', { class: 'notice' }, t('learning.off')));
    return;
  }
  listen({ query: { type: 'memory_changed' }, signal, onEvent: later(news, 100) });
  await load().catch(showError);
  if (wanted) open(wanted.root, wanted.path);
  wanted = null;
}
