// One file of memory: read, deleted, and edited over the version that was read.

import { get, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { markdown } from '../../parts/markdown.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { may } from '../../session.js';
import { size, t } from '../../words.js';
import { editor } from './editor.js';

const INDEX = 'MEMORY.md';
export const filePath = (root, path) => `/v1/managed/${root}/${path.split('/').map(encodeURIComponent).join('/')}`;

/**
 * `isThere()`: whether the server has the file; one that is known to be gone is not asked for. `link(target)`: the address of another file.
 * `onClose()` and `onChange()` are called, `undo(id)` undoes a change. Answers `element`, and `refresh()` for when the file may have changed.
 */
export function openFile(options) {
  const view = new FileView(options);
  view.refresh();
  return { element: view.element, refresh: () => view.refresh() };
}

class FileView {
  #options;
  #file = null; // as the server has it; null: it has none
  #isLoaded = false;
  #editor = null; // while there is one
  #buttons = h('div', { class: 'row' });
  #facts = h('p', { class: 'soft small' });
  #body = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));

  constructor(options) {
    this.#options = options;
    const { path, file, onClose } = options;
    this.element = h(
      'article',
      { 'class': 'learning-file', 'aria-label': path },
      h(
        'div',
        { class: 'learning-head' },
        h('button', { type: 'button', class: 'quiet learning-back', on: { click: onClose } }, '← ', t('learning.files.back')),
        h('h2', { tabindex: '-1' }, plain(file?.name ?? path, 160)),
        h('span', { class: 'grow' }),
        this.#buttons,
      ),
      this.#facts,
      this.#body,
    );
  }

  async refresh() {
    const { root, path, isThere, drafts, signal } = this.#options;
    let file = null;
    try {
      file = isThere() ? await get(filePath(root, path), {}, { signal }) : null;
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (error.status !== 404) {
        showError(error);
        return;
      }
    }
    const isSame = this.#isLoaded && file?.etag === this.#file?.etag;
    this.#file = file;
    this.#isLoaded = true;
    if (this.#editor) this.#editor.compareWith(file?.etag ?? null);
    else if (drafts.has(root, path) && may('writer')) this.#edit(t('learning.draft.kept'));
    else if (!isSame) this.#show();
  }

  #show() {
    const { path, link } = this.#options;
    const file = this.#file;
    this.#editor = null;
    if (!file) {
      fill(this.#buttons);
      fill(this.#facts);
      fill(this.#body, h('p', { class: 'notice' }, t('learning.gone')));
      return;
    }
    const canEdit = may('writer') && path !== INDEX;
    fill(
      this.#buttons,
      canEdit && h('button', { type: 'button', on: { click: () => this.#edit() } }, t('learning.edit')),
      canEdit && h('button', { type: 'button', on: { click: () => this.#move() } }, t(`learning.move.${this.#other}`)),
      canEdit && h('button', { type: 'button', class: 'danger', on: { click: () => this.#delete() } }, t('frame.delete')),
    );
    this.#showFacts(file);
    fill(this.#body, markdown(file.text, { link }));
  }

  #showFacts({ bytes, modified_at: modified }) {
    const { path, file } = this.#options;
    fill(
      this.#facts,
      h('span', { class: 'mono' }, plain(path, 200)),
      ' · ',
      size(bytes),
      ' · ',
      time(modified),
      file?.stale && [' · ', h('span', { class: 'warn' }, t('learning.stale.note'))],
      file?.problem && [' · ', h('span', { class: 'warn' }, plain(file.problem, 200))],
      path === INDEX && [' · ', t('learning.index.note')],
    );
  }

  #edit(message = '') {
    const { root, path, drafts, link, undo } = this.#options;
    const draft = drafts.get(root, path) ?? { text: this.#file.text, base: this.#file.text, etag: this.#file.etag };
    this.#editor = editor({
      root,
      path,
      draft,
      drafts,
      link,
      message,
      undo,
      onSaved: (file) => this.#onSaved(file),
      onDiscard: (discarded, text) => this.#onDiscard(discarded, text),
    });
    fill(this.#buttons);
    fill(this.#facts, h('span', { class: 'mono' }, plain(path, 200)));
    fill(this.#body, this.#editor.element);
    this.#editor.compareWith(this.#file?.etag ?? null);
    this.#editor.focus();
  }

  #onSaved(file) {
    const { onChange, signal } = this.#options;
    this.#file = file;
    onChange();
    if (signal.aborted) return;
    this.#show();
    this.#focusFirst();
  }

  /** What was typed gives way to what the server has; a toast brings it back. */
  #onDiscard(draft, text) {
    const { root, path, drafts, onChange } = this.#options;
    drafts.drop(root, path);
    this.#editor = null;
    this.#isLoaded = false;
    if (draft.text !== draft.base) {
      toast(text, { action: { label: t('learning.conflict.back'), act: () => this.#bringBack(draft) } });
    }
    this.refresh().then(() => this.#focusFirst());
    onChange();
  }

  #bringBack(draft) {
    const { root, path, drafts, signal } = this.#options;
    drafts.keep(root, path, draft);
    if (!signal.aborted) this.#edit(t('learning.draft.kept'));
  }

  #focusFirst() {
    this.#buttons.querySelector('button')?.focus();
  }

  get #other() {
    return this.#options.root === 'user' ? 'project' : 'user';
  }

  async #move() {
    const { root, path, file, onClose, onChange } = this.#options;
    try {
      await post('/v1/managed/move', { root, path, to: this.#other });
      toast(t(`learning.moved.${this.#other}`, { name: file?.name ?? path }));
      onClose();
      onChange();
    } catch (error) {
      showError(error);
      if (error.status === 409) await this.refresh();
    }
  }

  async #delete() {
    const { root, path, file, undo, onClose, onChange } = this.#options;
    try {
      const { change } = await remove(filePath(root, path), {}, { headers: { 'If-Match': this.#file.etag } });
      const action = change && { label: t('frame.undo'), act: () => undo(change) };
      toast(t('learning.deleted', { name: file?.name ?? path }), { action });
      onClose();
      onChange();
    } catch (error) {
      showError(error);
      if (error.status === 412) await this.refresh();
    }
  }
}
