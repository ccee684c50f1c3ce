// The form in which a memory is written or changed. What was typed stays until it is stored: a refusal is told beside it.

import { get, post } from '../api.js';
import { fill, fresh, h, plain } from '../dom.js';
import { errorMessage } from '../problems.js';
import { moment, t } from '../words.js';
import { differences } from './differences.js';
import { picker } from './picker.js';
import { editRecord, isConflict } from './record_actions.js';
import { mayBeLost, unsaved } from './unsaved.js';

/**
 * `record`: the one to change, or null for a new one, which goes to `scope` or to one that is chosen. `onSaved(record)` and
 * `onCancel()` are told. Answers the form; `form.begin()` puts the cursor into it, `form.isTouched()` tells whether
 * something was typed, `form.follow(record)` takes the record as it is now.
 */
export function entry({ record = null, scope = '', onSaved, onCancel, signal }) {
  const ids = { key: fresh('key'), text: fresh('text'), weight: fresh('weight'), reason: fresh('reason') };
  const key = h('input', {
    id: ids.key,
    class: 'mono',
    maxlength: 255,
    autocomplete: 'off',
    spellcheck: 'false',
    value: record?.key ?? '',
  });
  const text = h('textarea', { id: ids.text, required: true, rows: 3, value: record?.text ?? '' });
  const weight = h('input', { id: ids.weight, type: 'number', min: 0, max: 100, step: 1, value: record?.importance ?? 0 });
  const reason = record && h('input', { id: ids.reason, maxlength: 500, autocomplete: 'off' });
  const pin = h('input', { type: 'checkbox', checked: record?.pinned ?? false });
  const where = record || scope ? null : picker({ all: false, anew: true, signal, label: t('memory.new.scope') });
  const told = h('div', { role: 'alert', class: 'told' });
  const save = h('button', { type: 'submit', class: 'primary' }, t('frame.save'));
  let held = record;
  let saving = false;

  const form = h(
    'form',
    {
      'class': 'entry',
      'aria-label': t(record ? 'memory.edit' : 'memory.new'),
      'novalidate': true,
      'on': {
        submit: (event) => {
          event.preventDefault();
          store();
        },
        keydown: onKey,
      },
    },
    h(
      'div',
      { class: 'entry-fields' },
      h(
        'div',
        { class: 'field entry-key' },
        h('label', { for: ids.key }, t('memory.column.key'), ' ', h('small', { class: 'soft' }, t('memory.key.hint'))),
        key,
        where && h('span', { class: 'small field-name' }, t('memory.new.scope')),
        where,
      ),
      h('div', { class: 'field entry-text' }, h('label', { for: ids.text }, t('memory.column.value')), text),
    ),
    told,
    h(
      'div',
      { class: 'row entry-foot' },
      h('label', { class: 'check' }, pin, ' ', t('memory.pin')),
      h('label', { for: ids.weight, class: 'light' }, t('memory.importance')),
      weight,
      reason && [h('label', { for: ids.reason, class: 'light' }, t('frame.reason')), reason],
      h(
        'div',
        { class: 'row entry-done' },
        h('span', { class: 'soft small hint' }, t('memory.entry.keys')),
        h('button', { type: 'button', on: { click: () => onCancel() } }, t('frame.cancel')),
        save,
      ),
    ),
  );

  function onKey(event) {
    // Escape and Enter are the input method's as long as it composes.
    if (event.isComposing) event.stopPropagation();
    else if (event.key === 'Escape' && !event.defaultPrevented) mayBeLost(form.isTouched).then((may) => may && onCancel());
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) store();
    // What is typed here means nothing to the list below.
    event.stopPropagation();
  }

  function complaint(message, field = null) {
    fill(told, h('p', { class: 'problem' }, message));
    field?.focus();
  }

  async function store() {
    if (saving) return;
    const home = record?.scope ?? (scope || where.scope);
    if (!text.value.trim()) return complaint(t('memory.entry.empty'), text);
    if (!home) return complaint(t('memory.entry.no-scope'), where.querySelector('input'));
    const importance = Number(weight.value);
    if (!Number.isInteger(importance) || importance < 0 || importance > 100) return complaint(t('memory.entry.importance'), weight);
    saving = true;
    save.disabled = true;
    try {
      onSaved(await (held ? changed(importance) : made(home, importance)));
    } catch (error) {
      if (isConflict(error)) await contested(home).catch(() => complaint(errorMessage(error)));
      else complaint(errorMessage(error));
    } finally {
      saving = false;
      save.disabled = false;
    }
  }

  function changed(importance) {
    const named = key.value.trim();
    return editRecord(held, {
      text: text.value,
      importance,
      pinned: pin.checked,
      reason: reason?.value.trim() || null,
      ...(named ? { key: named } : held.key ? { clear: ['key'] } : {}),
    });
  }

  async function made(home, importance) {
    const named = key.value.trim();
    const body = { text: text.value, scope: home, key: named || null, importance, pinned: pin.checked, source: 'manual' };
    // Under a key that is taken it would become the next version of another memory: that is asked first.
    return (await post('/v1/records', { ...body, ...(named ? { expected: 0 } : {}) })).record;
  }

  /** Somebody was there before: show theirs, keep what was typed, and let the person decide. */
  async function contested(home) {
    const theirs = held ? await get(`/v1/records/${held.id}`) : await keyed(home, key.value.trim());
    const when = { version: theirs.version, actor: theirs.actor ?? '–', time: moment(theirs.updated_at) };
    const lead = held ? t('memory.conflict', when) : t('memory.taken', { key: theirs.key });
    const over = h(
      'button',
      {
        type: 'button',
        on: {
          click: () => {
            held = theirs;
            store();
          },
        },
      },
      t(held ? 'memory.conflict.mine' : 'memory.taken.over'),
    );
    const take = h(
      'button',
      {
        type: 'button',
        on: {
          click: () => {
            held = theirs;
            fields(theirs);
          },
        },
      },
      t('memory.conflict.theirs'),
    );
    const gone = theirs.state === 'deleted';
    fill(
      told,
      h(
        'div',
        { class: 'conflict' },
        h('p', { class: 'warn' }, gone ? t('memory.conflict.deleted') : lead),
        h('p', { class: 'small soft' }, t('memory.conflict.differences')),
        theirs.text === text.value ? h('div', { class: 'text' }, plain(theirs.text, 2000)) : differences(theirs.text, text.value),
        !gone && theirs.source === 'manual' && h('div', { class: 'row' }, over, take),
      ),
    );
  }

  function fields(theirs) {
    key.value = theirs.key ?? '';
    text.value = theirs.text;
    weight.value = theirs.importance;
    pin.checked = theirs.pinned;
    fill(told);
    text.focus();
  }

  form.isTouched = () => text.value !== (held?.text ?? '') || key.value !== (held?.key ?? '');
  unsaved(() => form.isConnected && form.isTouched(), signal);
  form.begin = () => text.focus();
  /** It was pinned or weighed meanwhile: that is no conflict with what is typed, and not undone by it. */
  form.follow = (now) => {
    if (now.id !== held?.id || now.text !== held.text || now.key !== held.key) return;
    if (pin.checked === held.pinned) pin.checked = now.pinned;
    if (Number(weight.value) === held.importance) weight.value = now.importance;
    held = now;
  };
  return form;
}

async function keyed(scope, key) {
  const { records } = await get('/v1/records', { scope, key, limit: 1 });
  return records[0];
}
