// What can be done with a record, on every page that shows some: the requests, and the dialogs that ask how.

import { ask, patch, post } from '../api.js';
import { fresh, h } from '../dom.js';
import { may } from '../session.js';
import { t } from '../words.js';
import { confirm, dialog } from './dialog.js';
import { picker } from './picker.js';

const at = (record, more = '') => `/v1/records/${record.id}${more}`;
const ifUnchanged = (record) => ({ headers: { 'If-Match': `"${record.version}"` } });

export const pinRecord = (record, pinned) => post(at(record, '/pin'), { pinned });
export const setImportance = (record, importance) => patch(at(record), { importance });
export const editRecord = (record, changes) => patch(at(record), changes, ifUnchanged(record));
export const deleteRecord = (record) => ask('DELETE', at(record), ifUnchanged(record));
export const undoRecord = (record, reason = null) => post(at(record, '/undo'), { reason }, ifUnchanged(record));
export const demoteRecord = (record, reason = null) => post(at(record, '/demote'), { reason }, ifUnchanged(record));
export const promoteRecord = (record, { scope, reason }) =>
  post(at(record, '/promote'), { scope: scope || null, reason }, ifUnchanged(record));

/** What a person says is true: a record of theirs in the place of this one, which is kept as the evidence. */
export const correctRecord = (record, { text, reason }) => {
  const metadata = { evidence: [record.id] };
  return post(at(record, '/supersede'), { text, reason, source: 'manual', trust: 'system_generated', metadata }, ifUnchanged(record));
};

/** What somebody else wrote is captured: it may be pinned, weighed and deleted, but its words are not ours to change. */
export const isCaptured = (record) => record.source !== 'manual';
const FOLLOWS_A_FILE = 'managed';
export const isConflict = (error) => error.code === 'precondition_failed' || error.code === 'record_changed';

const isLearned = (record) => isCaptured(record) && record.source !== FOLLOWS_A_FILE && record.kind !== 'turn';

/** What this person may do with this record as it is. */
export function allowedActions(record) {
  const here = record.state !== 'deleted';
  const writes = may('writer');
  return {
    edit: writes && here && !isCaptured(record),
    // A record that follows a file is corrected in the file, a turn not at all: it was said.
    correct: writes && ['live', 'demoted', 'expired'].includes(record.state) && isLearned(record),
    pin: writes && here,
    weigh: writes && here,
    // Whoever may not share it by themselves asks somebody else to approve it.
    promote: writes && here && record.state !== 'superseded' && (record.visibility === 'private' || record.demoted),
    demote: writes && here && !record.demoted,
    delete: writes && here,
    undo: writes && record.version > 1,
    purge: may('admin'),
  };
}

/** How important, from 0 to 100; null where the person thought better of it. */
export async function askImportance(record) {
  const id = fresh('importance');
  const exact = h('input', {
    type: 'number',
    id,
    min: 0,
    max: 100,
    step: 1,
    required: true,
    value: record.importance,
    on: {
      input: () => {
        range.value = exact.value;
      },
    },
  });
  const range = h('input', {
    'type': 'range',
    'min': 0,
    'max': 100,
    'step': 5,
    'value': record.importance,
    'aria-label': t('memory.importance'),
    'on': {
      input: () => {
        exact.value = range.value;
      },
    },
  });
  const answer = await confirm(t('memory.importance'), t('memory.importance.lead'), {
    label: t('frame.save'),
    extra: h('div', { class: 'stack' }, range, h('label', { for: id }, t('memory.importance.exact')), exact),
    // So that a key, a number and Enter are enough.
    focus: exact,
  });
  return answer && Math.max(0, Math.min(100, Math.round(Number(exact.value) || 0)));
}

/** What is true instead, and why; null where the person thought better of it, or left it as it was. */
export async function askCorrection(record) {
  const id = fresh('correction');
  const field = h('textarea', { id, rows: 5, required: true, dir: 'auto' }, record.text);
  const answer = await confirm(t('memory.correct.title'), t('memory.correct.lead'), {
    label: t('memory.correct.do'),
    reason: true,
    extra: h('div', { class: 'field' }, h('label', { for: id }, t('memory.correct.text')), field),
    focus: field,
  });
  const text = field.value.trim();
  return answer && text && text !== record.text ? { text, reason: answer.reason } : null;
}

/** Where to share these records, and why; null where the person thought better of it. */
export async function askPromotion(records) {
  const where = picker({ anew: true, label: t('memory.promote.scope'), none: t('memory.promote.own') });
  const answer = await confirm(t('memory.promote.do'), t('memory.promote.lead', records.length), {
    label: t('memory.promote.do'),
    reason: true,
    extra: h('div', { class: 'field' }, h('span', { class: 'small soft' }, t('memory.promote.scope')), where),
  });
  return answer && { scope: where.scope, reason: answer.reason };
}

export async function askDemotion(records) {
  return confirm(t('memory.demote.do'), t('memory.demote.lead', records.length), { label: t('memory.demote.do'), reason: true });
}

/** A list of things to do, each with its key: [{ key, label, act, danger }]. */
export function menu(title, entries, note = null) {
  const made = dialog(
    title,
    h(
      'div',
      { class: 'stack menu' },
      note && h('p', { class: 'soft small' }, note),
      entries.map(({ key, label, act, danger }) =>
        h(
          'button',
          {
            type: 'button',
            class: danger ? 'danger' : '',
            on: {
              click: () => {
                made.close();
                act();
              },
            },
          },
          h('span', {}, label),
          h('span', { class: 'grow' }),
          key && h('kbd', { 'aria-hidden': 'true' }, key),
        ),
      ),
    ),
  );
  made.querySelector('.menu button')?.focus();
  return made;
}

const AT_ONCE = 4;

/**
 * Call `act` with each of `records`, a few at a time; when the daemon answers 429, wait. `onStep(count)` is called after each.
 * Answers { changed: [record], failed: [{ record, error }] }: one that fails stops no other.
 */
export async function forEachRecord(records, act, onStep = () => {}) {
  const queue = [...records];
  const changed = [];
  const failed = [];
  const work = async () => {
    for (let record = queue.shift(); record; record = queue.shift()) {
      try {
        changed.push(await retry(() => act(record)));
      } catch (error) {
        failed.push({ record, error });
      }
      onStep(changed.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { changed, failed };
}

async function retry(act, tries = 5) {
  for (let attempts = tries; ; attempts -= 1) {
    try {
      return await act();
    } catch (error) {
      if (error.status !== 429 || !attempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}
