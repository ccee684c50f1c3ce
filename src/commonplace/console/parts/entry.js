// The form in which a memory is written or changed. What was typed stays until it is stored: a refusal is shown beside it.

import { get, post } from '../api.js';
import { fill, fresh, h, plain } from '../dom.js';
import { errorMessage } from '../problems.js';
import { moment, t } from '../words.js';
import { differences } from './differences.js';
import { picker } from './picker.js';
import { editRecord, isConflict } from './record_actions.js';
import { mayBeLost, unsaved } from './unsaved.js';
import { sayQuarantined } from './waiting.js';

/**
 * `record`: the one to change, or null for a new one, which goes to `scope` or to one that is picked. `onSaved(record)` and
 * `onCancel()` are called. Answers the form; `form.begin()` puts the cursor into it, `form.isTouched()` says whether
 * something was typed, `form.follow(record)` takes the record as it is now.
 */
export function entry(options) {
  return new Entry(options).form;
}

class Entry {
  form;
  #record; // the version that is changed; null: there is none yet
  #home; // the scope of the record, or '' if it is picked
  #onSaved;
  #onCancel;
  #fields;
  #notice = h('div', { role: 'alert' });
  #save = h('button', { type: 'submit', class: 'primary' }, t('frame.save'));
  #isSaving = false;

  constructor({ record = null, scope = '', onSaved, onCancel, signal }) {
    this.#record = record;
    this.#home = record?.scope ?? scope;
    this.#onSaved = onSaved;
    this.#onCancel = onCancel;
    this.#fields = inputs(record, this.#home, signal);
    this.form = this.#build();
    Object.assign(this.form, {
      isTouched: () => this.#isTouched(),
      begin: () => this.#fields.text.focus(),
      follow: (current) => this.#follow(current),
    });
    unsaved(() => this.form.isConnected && this.#isTouched(), signal);
  }

  #build() {
    const submit = (event) => {
      event.preventDefault();
      this.#store();
    };
    return h(
      'form',
      {
        'class': 'entry',
        'aria-label': t(this.#record ? 'memory.edit' : 'memory.new'),
        'novalidate': true,
        'on': { submit, keydown: (event) => this.#onKey(event) },
      },
      this.#upperFields(),
      this.#notice,
      this.#foot(),
    );
  }

  #upperFields() {
    const { key, text, where } = this.#fields;
    return h(
      'div',
      { class: 'entry-fields' },
      h(
        'div',
        { class: 'field entry-key' },
        h('label', { for: key.id }, t('memory.column.key'), ' ', h('small', { class: 'soft' }, t('memory.key.hint'))),
        key,
        where && h('span', { class: 'small field-name' }, t('memory.new.scope')),
        where,
      ),
      h('div', { class: 'field entry-text' }, h('label', { for: text.id }, t('memory.column.value')), text),
    );
  }

  #foot() {
    const { pin, weight, reason } = this.#fields;
    return h(
      'div',
      { class: 'row entry-foot' },
      h('label', { class: 'check' }, pin, ' ', t('memory.pin')),
      h('label', { for: weight.id, class: 'light' }, t('memory.importance')),
      weight,
      reason && [h('label', { for: reason.id, class: 'light' }, t('frame.reason')), reason],
      h(
        'div',
        { class: 'row entry-done' },
        h('span', { class: 'soft small hint' }, t('memory.entry.keys')),
        h('button', { type: 'button', on: { click: () => this.#onCancel() } }, t('frame.cancel')),
        this.#save,
      ),
    );
  }

  #onKey(event) {
    // Escape and Enter are the input method's as long as it composes.
    if (event.isComposing) event.stopPropagation();
    else if (event.key === 'Escape' && !event.defaultPrevented) {
      mayBeLost(() => this.#isTouched()).then((may) => may && this.#onCancel());
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#store();
    // What is typed here means nothing to the list below.
    event.stopPropagation();
  }

  #isTouched() {
    const { key, text } = this.#fields;
    return text.value !== (this.#record?.text ?? '') || key.value !== (this.#record?.key ?? '');
  }

  /** It was pinned or weighed meanwhile: that is no conflict with what is typed, and not undone by it. */
  #follow(current) {
    const { pin, weight } = this.#fields;
    const before = this.#record;
    if (current.id !== before?.id || current.text !== before.text || current.key !== before.key) return;
    if (pin.checked === before.pinned) pin.checked = current.pinned;
    if (Number(weight.value) === before.importance) weight.value = current.importance;
    this.#record = current;
  }

  // ---- storing

  async #store() {
    if (this.#isSaving) return;
    const { text, weight, where } = this.#fields;
    const scope = this.#home || where.scope;
    if (!text.value.trim()) return this.#refuse(t('memory.entry.empty'), text);
    if (!scope) return this.#refuse(t('memory.entry.no-scope'), where.querySelector('input'));
    const importance = Number(weight.value);
    if (!Number.isInteger(importance) || importance < 0 || importance > 100) return this.#refuse(t('memory.entry.importance'), weight);
    this.#isSaving = true;
    this.#save.disabled = true;
    try {
      const stored = await (this.#record ? this.#sendChange(importance) : this.#sendNew(scope, importance));
      this.#onSaved(stored);
      sayQuarantined(stored);
    } catch (error) {
      if (isConflict(error)) await this.#showConflict(scope).catch(() => this.#refuse(errorMessage(error)));
      else this.#refuse(errorMessage(error));
    } finally {
      this.#isSaving = false;
      this.#save.disabled = false;
    }
  }

  #refuse(message, field = null) {
    fill(this.#notice, h('p', { class: 'problem' }, message));
    field?.focus();
  }

  #sendChange(importance) {
    const { key, text, pin, reason } = this.#fields;
    const name = key.value.trim();
    return editRecord(this.#record, {
      text: text.value,
      importance,
      pinned: pin.checked,
      reason: reason?.value.trim() || null,
      ...(name ? { key: name } : this.#record.key ? { clear: ['key'] } : {}),
    });
  }

  async #sendNew(scope, importance) {
    const { key, text, pin } = this.#fields;
    const name = key.value.trim();
    const body = { text: text.value, scope, key: name || null, importance, pinned: pin.checked, source: 'manual' };
    // Under a key that is taken it would become the next version of another memory: that is asked first.
    return (await post('/v1/records', { ...body, ...(name ? { expected: 0 } : {}) })).record;
  }

  // ---- somebody was there before

  /** Show theirs, keep what was typed, and let the person decide. */
  async #showConflict(scope) {
    const { key, text } = this.#fields;
    const isChange = Boolean(this.#record);
    const theirs = isChange ? await get(`/v1/records/${this.#record.id}`) : await recordWithKey(scope, key.value.trim());
    const version = { version: theirs.version, actor: theirs.actor ?? '–', time: moment(theirs.updated_at) };
    const lead = isChange ? t('memory.conflict', version) : t('memory.taken', { key: theirs.key });
    const isGone = theirs.state === 'deleted';
    fill(
      this.#notice,
      h(
        'div',
        { class: 'conflict' },
        h('p', { class: 'warn' }, isGone ? t('memory.conflict.deleted') : lead),
        h('p', { class: 'small soft' }, t('memory.conflict.differences')),
        theirs.text === text.value ? h('div', { class: 'text' }, plain(theirs.text, 2000)) : differences(theirs.text, text.value),
        !isGone && theirs.source === 'manual' && this.#choices(theirs, isChange),
      ),
    );
  }

  #choices(theirs, isChange) {
    const overwrite = () => {
      this.#record = theirs;
      this.#store();
    };
    const take = () => {
      this.#record = theirs;
      this.#fillFields(theirs);
    };
    return h(
      'div',
      { class: 'row' },
      h('button', { type: 'button', on: { click: overwrite } }, t(isChange ? 'memory.conflict.mine' : 'memory.taken.over')),
      h('button', { type: 'button', on: { click: take } }, t('memory.conflict.theirs')),
    );
  }

  #fillFields(record) {
    const { key, text, weight, pin } = this.#fields;
    key.value = record.key ?? '';
    text.value = record.text;
    weight.value = record.importance;
    pin.checked = record.pinned;
    fill(this.#notice);
    text.focus();
  }
}

/** The fields, as `record` has them. A new record without a scope has `where`, to pick one; a change has a `reason`. */
function inputs(record, scope, signal) {
  return {
    key: h('input', {
      id: fresh('key'),
      class: 'mono',
      maxlength: 255,
      autocomplete: 'off',
      spellcheck: 'false',
      value: record?.key ?? '',
    }),
    text: h('textarea', { id: fresh('text'), required: true, rows: 3, value: record?.text ?? '' }),
    weight: h('input', { id: fresh('weight'), type: 'number', min: 0, max: 100, step: 1, value: record?.importance ?? 0 }),
    reason: record && h('input', { id: fresh('reason'), maxlength: 500, autocomplete: 'off' }),
    pin: h('input', { type: 'checkbox', checked: record?.pinned ?? false }),
    where: scope ? null : picker({ all: false, anew: true, signal, label: t('memory.new.scope') }),
  };
}

async function recordWithKey(scope, key) {
  const { records } = await get('/v1/records', { scope, key, limit: 1 });
  return records[0];
}
