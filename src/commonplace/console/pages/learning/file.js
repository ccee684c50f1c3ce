// One file of memory: read, deleted, and edited over the version that was read.

import { get, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { markdown } from '../../parts/markdown.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { may } from '../../session.js';
import { size, t } from '../../words.js';
import { editor } from './editor.js';

const INDEX = 'MEMORY.md';
export const where = (root, path) => `/v1/managed/${root}/${path.split('/').map(encodeURIComponent).join('/')}`;

/** `element`, and `refresh()` for when the file may have changed. `isThere()` tells whether there is one: what is known to be gone is not asked for. */
export function opened({ root, path, file, isThere, kept, signal, link, onClose, onChange, undo }) {
  let held = null; // as the server has it; null: it has none
  let loaded = false;
  let writing = null; // the editor, while there is one
  const title = h('h2', { tabindex: '-1' }, plain(file?.name ?? path, 160));
  const deeds = h('div', { class: 'row' });
  const facts = h('p', { class: 'soft small' });
  const body = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  const element = h(
    'article',
    { 'class': 'learning-file', 'aria-label': path },
    h(
      'div',
      { class: 'learning-head' },
      h('button', { type: 'button', class: 'quiet learning-back', on: { click: onClose } }, '← ', t('learning.files.back')),
      title,
      h('span', { class: 'grow' }),
      deeds,
    ),
    facts,
    body,
  );

  async function refresh() {
    let now = null;
    try {
      now = isThere() ? await get(where(root, path), {}, { signal }) : null;
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (error.status !== 404) {
        showError(error);
        return;
      }
    }
    const same = loaded && now?.etag === held?.etag;
    held = now;
    loaded = true;
    if (writing) writing.stands(held?.etag ?? null);
    else if (kept.has(root, path) && may('writer')) edit(t('learning.draft.kept'));
    else if (!same) read();
  }

  function read() {
    writing = null;
    if (!held) {
      fill(deeds);
      fill(facts);
      fill(body, h('p', { class: 'notice' }, t('learning.gone')));
      return;
    }
    const own = may('writer') && path !== INDEX;
    fill(
      deeds,
      own && h('button', { type: 'button', on: { click: () => edit() } }, t('learning.edit')),
      own && h('button', { type: 'button', class: 'danger', on: { click: erase } }, t('frame.delete')),
    );
    fill(
      facts,
      h('span', { class: 'mono' }, plain(path, 200)),
      ' · ',
      size(held.bytes),
      ' · ',
      time(held.modified_at),
      file?.stale && [' · ', h('span', { class: 'warn' }, t('learning.stale.note'))],
      file?.problem && [' · ', h('span', { class: 'warn' }, plain(file.problem, 200))],
      path === INDEX && [' · ', t('learning.index.note')],
    );
    fill(body, markdown(held.text, { link }));
  }

  function edit(told = '') {
    const draft = kept.get(root, path) ?? { text: held.text, base: held.text, etag: held.etag };
    writing = editor({ root, path, draft, kept, link, told, undo, onSaved: saved, onGive: give });
    fill(deeds);
    fill(facts, h('span', { class: 'mono' }, plain(path, 200)));
    fill(body, writing.element);
    writing.stands(held?.etag ?? null);
    writing.focus();
  }

  function saved(now) {
    held = now;
    onChange();
    if (signal.aborted) return;
    read();
    deeds.querySelector('button')?.focus();
  }

  /** What was typed is left for what the server has; it can be had back. */
  function give(mine, words) {
    kept.drop(root, path);
    writing = null;
    loaded = false;
    if (mine.text !== mine.base) toast(words, { action: { label: t('learning.conflict.back'), act: () => bring(mine) } });
    refresh().then(() => deeds.querySelector('button')?.focus());
    onChange();
  }

  function bring(mine) {
    kept.keep(root, path, mine);
    if (!signal.aborted) edit(t('learning.draft.kept'));
  }

  async function erase() {
    try {
      const { change } = await remove(where(root, path), {}, { headers: { 'If-Match': held.etag } });
      toast(t('learning.deleted', { name: file?.name ?? path }), { action: change && { label: t('frame.undo'), act: () => undo(change) } });
      onClose();
      onChange();
    } catch (error) {
      showError(error);
      if (error.status === 412) await refresh();
    }
  }

  refresh();
  return { element, refresh };
}
