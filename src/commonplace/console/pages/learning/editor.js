// The text of a file while it is edited. It is saved over the version it began from; where there is another by then, both are shown.

import { put } from '../../api.js';
import { fill, fresh, h, later } from '../../dom.js';
import { markdown } from '../../parts/markdown.js';
import { merged } from '../../parts/merge.js';
import { toast } from '../../parts/toast.js';
import { errorNotice } from '../../problems.js';
import { t } from '../../words.js';
import { conflict } from './conflict.js';
import { where } from './file.js';

/**
 * `draft` is { text, base, etag }. `onSaved(file)`; `onGive(draft, words)` where the person leaves it. Answers `element`, `focus()`, and
 * `stands(etag)`, which is told the version that the server has.
 */
export function editor({ root, path, draft, kept, link, told, undo, onSaved, onGive }) {
  const id = fresh('text');
  const note = h('div', { class: 'learning-note', role: 'status' }, told && h('p', { class: 'warn' }, told));
  const problem = h('div');
  const area = h('textarea', { id, class: 'mono learning-text', value: draft.text, on: { input: typed, keydown: onKey } });
  const shown = h('div', {
    'class': 'learning-preview',
    'hidden': true,
    'role': 'region',
    'tabindex': '0',
    'aria-label': t('learning.preview'),
  });
  const preview = h('button', { 'type': 'button', 'aria-pressed': 'false', 'on': { click: toggle } }, t('learning.preview'));
  const save = h('button', { type: 'submit', class: 'primary' }, t('frame.save'));
  const form = h(
    'form',
    {
      class: 'stack',
      on: {
        submit: (event) => {
          event.preventDefault();
          send(draft.etag);
        },
      },
    },
    problem,
    h('label', { for: id, class: 'visually-hidden' }, t('learning.edit.text', { path })),
    h('div', { class: 'learning-edit' }, area, shown),
    h(
      'div',
      { class: 'row' },
      save,
      preview,
      h('button', { type: 'button', class: 'quiet', on: { click: () => onGive(draft, t('learning.discarded')) } }, t('learning.discard')),
      h('span', { class: 'soft small' }, h('kbd', {}, 'Ctrl'), h('kbd', {}, 'S')),
    ),
    // Below: what is told while somebody reaches for a button must not move it.
    note,
  );

  function typed() {
    draft.text = area.value;
    if (draft.text === draft.base) kept.drop(root, path);
    else kept.keep(root, path, draft);
    if (!shown.hidden) again();
  }

  const look = () => fill(shown, markdown(area.value, { link }));
  const again = later(look, 200);

  function toggle() {
    shown.hidden = !shown.hidden;
    preview.setAttribute('aria-pressed', String(!shown.hidden));
    if (!shown.hidden) look();
  }

  function onKey(event) {
    if ((event.ctrlKey || event.metaKey) && (event.key === 's' || event.key === 'Enter')) {
      event.preventDefault();
      form.requestSubmit();
    }
  }

  /** Save over the version `etag`; null: as a new file. */
  async function send(etag) {
    if (save.disabled) return;
    save.disabled = true;
    fill(problem);
    const sent = area.value;
    try {
      const done = await put(where(root, path), { text: sent }, { headers: etag ? { 'If-Match': etag } : { 'If-None-Match': '*' } });
      kept.drop(root, path);
      const words = !done.change ? 'learning.saved.same' : done.file.text === sent ? 'learning.saved' : 'learning.saved.redacted';
      toast(t(words), { action: done.change && { label: t('frame.undo'), act: () => undo(done.change) } });
      onSaved(done.file);
    } catch (error) {
      if (error.code === 'file_precondition_failed') differs(error.details);
      else fill(problem, h('p', { class: 'problem', role: 'alert' }, errorNotice(error)));
    } finally {
      save.disabled = false;
    }
  }

  function differs(theirs) {
    fill(note);
    fill(
      problem,
      conflict({
        mine: area.value,
        theirs,
        onMine: () => send(theirs.etag),
        onTheirs: () => onGive({ text: area.value, base: theirs.text ?? '', etag: theirs.etag }, t('learning.conflict.taken')),
        onMerge: () => join(theirs),
      }),
    );
    problem.querySelector('h3').focus();
  }

  /** Both in one text, which is then saved over theirs. Somebody may have typed on since it was told that they differ. */
  function join(theirs) {
    const both = merged(draft.base, area.value, theirs.text, { mine: t('learning.conflict.yours'), theirs: t('learning.conflict.theirs') });
    Object.assign(draft, { text: both.text, base: theirs.text, etag: theirs.etag });
    kept.keep(root, path, draft);
    area.value = both.text;
    if (!shown.hidden) look();
    fill(problem);
    fill(note, h('p', { class: 'warn' }, t(both.clean ? 'learning.conflict.merged' : 'learning.conflict.marks')));
    area.focus();
  }

  return {
    element: form,
    focus: () => {
      area.focus();
      area.setSelectionRange(0, 0);
    },
    stands: (etag) => {
      if (etag !== draft.etag && !problem.childElementCount) fill(note, h('p', { class: 'warn' }, t('learning.changed')));
    },
  };
}
