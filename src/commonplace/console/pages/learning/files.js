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
import { openFile } from './file.js';
import { createFile } from './new_file.js';

const INDEX = 'MEMORY.md';
const MOST_LISTED = 200;

export async function files(place, { me, query, signal, settle, managed }) {
  const tab = new FilesTab({ me, signal, settle });
  fill(
    place,
    tab.desk,
    h('section', { 'aria-labelledby': 'learning-changes' }, h('h2', { id: 'learning-changes' }, t('learning.changes')), tab.changes),
  );
  if (!(await managed())) {
    fill(place, h('p', { class: 'notice' }, t('learning.off')));
    return;
  }
  listen({ query: { type: 'memory_changed' }, signal, onEvent: later(() => tab.refresh(), 100) });
  await tab.load().catch(showError);
  if (query.root && query.path) tab.open(query.root, query.path);
}

const hrefOf = (root, path) => address('learning', 'files', { root, path });

class FilesTab {
  #signal;
  #settle;
  #drafts;
  #roots = []; // { root, scope, total, files }
  #opened = null; // { root, path, leaving, refresh }
  #search;
  #list;
  #create;
  #detail = h('div', { class: 'learning-detail card' });

  constructor({ me, signal, settle }) {
    this.#signal = signal;
    this.#settle = settle;
    this.#drafts = drafts(me);
    this.#search = h('input', {
      'type': 'search',
      'placeholder': t('learning.files.find'),
      'aria-label': t('learning.files.find'),
      'on': { input: later(() => this.#paint(), 80) },
    });
    this.#list = h(
      'nav',
      { 'class': 'learning-list', 'aria-label': t('learning.files.label') },
      h('p', { class: 'soft' }, t('frame.loading')),
    );
    const click = () => this.#createFile();
    this.#create = may('writer') && h('button', { type: 'button', disabled: true, on: { click } }, t('learning.new'));
    this.changes = h('ul', { class: 'learning-changes' });
    this.desk = h(
      'div',
      { class: 'learning-desk' },
      h('div', { class: 'learning-shelf' }, h('div', { class: 'filters' }, this.#search, this.#create), this.#list),
      this.#detail,
    );
    this.#showNoFile();
  }

  async load() {
    const options = { signal: this.#signal };
    const [{ roots }, { changes }] = await Promise.all([get('/v1/managed', {}, options), get('/v1/managed/changes', {}, options)]);
    this.#roots = roots;
    if (this.#create) this.#create.disabled = !roots.length;
    this.#paint();
    const none = h('li', { class: 'soft' }, t('learning.changes.none'));
    fill(this.changes, changes.length ? changes.map((change) => this.#changeRow(change)) : none);
  }

  async #reload() {
    if (!this.#signal.aborted) await this.load().catch(showError);
  }

  async refresh() {
    await this.#reload();
    await this.#opened?.refresh();
  }

  #hasFile(root, path) {
    const folder = this.#roots.find((other) => other.root === root);
    // Not all of a great many are listed.
    return Boolean(folder) && (path === INDEX || folder.total > folder.files.length || folder.files.some((file) => file.path === path));
  }

  // ---- the list

  #paint() {
    const text = this.#search.value.trim().toLowerCase();
    const fits = (file) => !text || [file.path, file.name, file.description].some((field) => field?.toLowerCase().includes(text));
    const { activeElement } = document;
    const focused = this.#list.contains(activeElement) ? activeElement.getAttribute('href') : null;
    fill(
      this.#list,
      this.#roots.map((folder) => this.#folder(folder, folder.files.filter(fits), Boolean(text))),
    );
    if (focused) this.#linkTo(focused)?.focus();
  }

  #linkTo(href) {
    return [...this.#list.querySelectorAll('a')].find((link) => link.getAttribute('href') === href);
  }

  #folder({ root, scope, total }, matches, isSearch) {
    const rest = matches.length - MOST_LISTED;
    const index = [h('strong', {}, t('learning.index')), h('span', { class: 'mono soft small' }, INDEX)];
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
        !isSearch && h('li', {}, this.#link(root, INDEX, index)),
        matches.slice(0, MOST_LISTED).map((file) => h('li', {}, this.#link(root, file.path, this.#summary(root, file)))),
        !matches.length && h('li', { class: 'soft' }, t(isSearch ? 'learning.files.no-fit' : 'learning.files.none')),
        rest > 0 && h('li', { class: 'soft' }, t('learning.files.more', rest)),
      ),
    );
  }

  #link(root, path, content) {
    const isCurrent = this.#opened?.root === root && this.#opened.path === path;
    const click = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.open(root, path, { focus: true });
    };
    return h('a', { 'href': hrefOf(root, path), 'aria-current': isCurrent && 'true', 'on': { click } }, content);
  }

  #summary(root, file) {
    return [
      h(
        'span',
        { class: 'learning-name' },
        h('strong', { class: 'cut' }, plain(file.name ?? file.path, 120)),
        this.#drafts.has(root, file.path) && h('span', { class: 'badge warn' }, t('learning.draft')),
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

  open(root, path, { focus = false } = {}) {
    this.#opened?.leaving.abort();
    const leaving = new AbortController();
    this.#signal.addEventListener('abort', () => leaving.abort(), { signal: leaving.signal });
    this.#opened = { root, path, leaving };
    this.#settle({ root, path });
    this.desk.classList.add('reading');
    const folder = this.#roots.find((other) => other.root === root);
    const view = openFile({
      root,
      path,
      file: folder?.files.find((file) => file.path === path) ?? null,
      isThere: () => this.#hasFile(root, path),
      drafts: this.#drafts,
      signal: leaving.signal,
      link: (target) => this.#resolveLink(root, path, target),
      onClose: () => this.#close(),
      onChange: () => this.#reload(),
      undo: (id) => this.#undo(id),
    });
    this.#opened.refresh = view.refresh;
    fill(this.#detail, view.element);
    this.#paint();
    this.#list.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
    if (focus) view.element.querySelector('h2')?.focus();
  }

  #close() {
    const { root, path } = this.#opened ?? {};
    this.#opened?.leaving.abort();
    this.#opened = null;
    this.#settle({});
    this.desk.classList.remove('reading');
    this.#showNoFile();
    this.#paint();
    (this.#linkTo(hrefOf(root, path)) ?? this.#search).focus();
  }

  #showNoFile() {
    fill(this.#detail, h('p', { class: 'soft' }, t('learning.files.pick')));
  }

  /** The address of a file that a text links to; null if there is no such file. */
  #resolveLink(root, from, target) {
    if (!/^[^:#?]+\.md$/.test(target) || target.startsWith('/')) return null;
    const parts = from.split('/').slice(0, -1);
    for (const part of target.split('/')) {
      if (part === '..') parts.pop();
      else if (part !== '.') parts.push(part);
    }
    const path = parts.join('/');
    return this.#hasFile(root, path) ? hrefOf(root, path) : null;
  }

  async #createFile() {
    const file = await createFile(this.#roots);
    if (!file || this.#signal.aborted) return;
    await this.#reload();
    this.open(file.root, file.path, { focus: true });
  }

  // ---- what changed

  #changeRow({ id, what, at, root, paths }) {
    const action = named('learning.what', what);
    const names = paths.length > 3 ? t('learning.count', paths.length) : paths.join(t('learning.comma'));
    const label = t('learning.undo.what', { what: action, files: names, when: moment(at) });
    const undo = { 'type': 'button', 'class': 'quiet', 'aria-label': label, 'on': { click: () => this.#undo(id) } };
    return h(
      'li',
      {},
      h('strong', {}, action),
      ' ',
      time(at),
      ' ',
      h('span', { class: 'badge' }, t(`learning.root.${root}`)),
      ' ',
      h('span', { class: 'soft small', title: paths.join('\n') }, plain(names, 240)),
      h('span', { class: 'grow' }),
      may('writer') && h('button', undo, t('learning.undo')),
    );
  }

  async #undo(id) {
    try {
      const { restored, left } = await post(`/v1/managed/changes/${encodeURIComponent(id)}/undo`);
      toast([t('learning.undone', restored.length), left.length ? t('learning.undone.left', left.length) : ''].join(' '));
      await this.refresh();
    } catch (error) {
      showError(error);
    }
  }
}
