// The text of a file while it is edited. It is saved over the version it began from; if there is another by then, both are shown.

import { put } from '../../api.js';
import { fill, fresh, h, later } from '../../dom.js';
import { markdown } from '../../parts/markdown.js';
import { toast } from '../../parts/toast.js';
import { errorNotice } from '../../problems.js';
import { mergeTexts } from '../../text/merge.js';
import { t } from '../../words.js';
import { conflict } from './conflict.js';
import { filePath } from './file.js';

/**
 * `draft` is { text, base, etag }. `onSaved(file)`; `onDiscard(draft, text)` if the person leaves it. Answers `element`, `focus()`, and
 * `compareWith(etag)`, which takes the version that the server has.
 */
export function editor(options) {
  const view = new FileEditor(options);
  return { element: view.form, focus: () => view.focus(), compareWith: (etag) => view.compareWith(etag) };
}

const warning = (text) => h('p', { class: 'warn' }, text);

class FileEditor {
  form;
  #options;
  #note;
  #problem = h('div');
  #area;
  #preview;
  #previewButton;
  #save = h('button', { type: 'submit', class: 'primary' }, t('frame.save'));
  #paintPreviewLater = later(() => this.#paintPreview(), 200);

  constructor(options) {
    this.#options = options;
    const { draft, message } = options;
    this.#note = h('div', { class: 'learning-note', role: 'status' }, message && warning(message));
    this.#area = h('textarea', {
      id: fresh('text'),
      class: 'mono learning-text',
      value: draft.text,
      on: { input: () => this.#onInput(), keydown: (event) => this.#onKey(event) },
    });
    this.#preview = h('div', {
      'class': 'learning-preview',
      'hidden': true,
      'role': 'region',
      'tabindex': '0',
      'aria-label': t('learning.preview'),
    });
    const click = () => this.#togglePreview();
    this.#previewButton = h('button', { 'type': 'button', 'aria-pressed': 'false', 'on': { click } }, t('learning.preview'));
    this.form = this.#build();
  }

  #build() {
    const { path, draft, onDiscard } = this.#options;
    const submit = (event) => {
      event.preventDefault();
      this.#send(draft.etag);
    };
    const discard = () => onDiscard(draft, t('learning.discarded'));
    return h(
      'form',
      { class: 'stack', on: { submit } },
      this.#problem,
      h('label', { for: this.#area.id, class: 'visually-hidden' }, t('learning.edit.text', { path })),
      h('div', { class: 'learning-edit' }, this.#area, this.#preview),
      h(
        'div',
        { class: 'row' },
        this.#save,
        this.#previewButton,
        h('button', { type: 'button', class: 'quiet', on: { click: discard } }, t('learning.discard')),
        h('span', { class: 'soft small' }, h('kbd', {}, 'Ctrl'), h('kbd', {}, 'S')),
      ),
      // Below: a message that comes while somebody reaches for a button must not move it.
      this.#note,
    );
  }

  focus() {
    this.#area.focus();
    this.#area.setSelectionRange(0, 0);
  }

  compareWith(etag) {
    if (etag !== this.#options.draft.etag && !this.#problem.childElementCount) fill(this.#note, warning(t('learning.changed')));
  }

  #onInput() {
    const { root, path, draft, drafts } = this.#options;
    draft.text = this.#area.value;
    if (draft.text === draft.base) drafts.drop(root, path);
    else drafts.keep(root, path, draft);
    if (!this.#preview.hidden) this.#paintPreviewLater();
  }

  #paintPreview() {
    fill(this.#preview, markdown(this.#area.value, { link: this.#options.link }));
  }

  #togglePreview() {
    this.#preview.hidden = !this.#preview.hidden;
    this.#previewButton.setAttribute('aria-pressed', String(!this.#preview.hidden));
    if (!this.#preview.hidden) this.#paintPreview();
  }

  #onKey(event) {
    if ((event.ctrlKey || event.metaKey) && (event.key === 's' || event.key === 'Enter')) {
      event.preventDefault();
      this.form.requestSubmit();
    }
  }

  /** Save over the version `etag`; null: as a new file. */
  async #send(etag) {
    const { root, path, drafts, undo, onSaved } = this.#options;
    if (this.#save.disabled) return;
    this.#save.disabled = true;
    fill(this.#problem);
    const text = this.#area.value;
    try {
      const headers = etag ? { 'If-Match': etag } : { 'If-None-Match': '*' };
      const { change, file } = await put(filePath(root, path), { text }, { headers });
      drafts.drop(root, path);
      const message = !change ? 'learning.saved.same' : file.text === text ? 'learning.saved' : 'learning.saved.redacted';
      toast(t(message), { action: change && { label: t('frame.undo'), act: () => undo(change) } });
      onSaved(file);
    } catch (error) {
      if (error.code === 'file_precondition_failed') this.#showConflict(error.details);
      else fill(this.#problem, h('p', { class: 'problem', role: 'alert' }, errorNotice(error)));
    } finally {
      this.#save.disabled = false;
    }
  }

  #showConflict(theirs) {
    const { onDiscard } = this.#options;
    const take = () => onDiscard({ text: this.#area.value, base: theirs.text ?? '', etag: theirs.etag }, t('learning.conflict.taken'));
    fill(this.#note);
    fill(
      this.#problem,
      conflict({
        mine: this.#area.value,
        theirs,
        onMine: () => this.#send(theirs.etag),
        onTheirs: take,
        onMerge: () => this.#merge(theirs),
      }),
    );
    this.#problem.querySelector('h3').focus();
  }

  /** Both in one text, which is then saved over theirs. Somebody may have typed on since both were shown. */
  #merge(theirs) {
    const { root, path, draft, drafts } = this.#options;
    const names = { mine: t('learning.conflict.yours'), theirs: t('learning.conflict.theirs') };
    const { text, clean } = mergeTexts(draft.base, this.#area.value, theirs.text, names);
    Object.assign(draft, { text, base: theirs.text, etag: theirs.etag });
    drafts.keep(root, path, draft);
    this.#area.value = text;
    if (!this.#preview.hidden) this.#paintPreview();
    fill(this.#problem);
    fill(this.#note, warning(t(clean ? 'learning.conflict.merged' : 'learning.conflict.marks')));
    this.#area.focus();
  }
}
