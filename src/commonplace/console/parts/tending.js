// What can be done with a record, for the pages that show some: the requests, and the dialogs that ask how.

import { ask, patch, post } from '../api.js';
import { fresh, h } from '../dom.js';
import { may } from '../session.js';
import { t } from '../words.js';
import { confirm, dialog } from './dialog.js';
import { picker } from './picker.js';

const at = (record, more = '') => `/v1/records/${record.id}${more}`;
const seen = (record) => ({ headers: { 'If-Match': `"${record.version}"` } });

export const pinned = (record, wanted) => post(at(record, '/pin'), { pinned: wanted });
export const weighed = (record, importance) => patch(at(record), { importance });
export const edited = (record, changes) => patch(at(record), changes, seen(record));
export const deleted = (record) => ask('DELETE', at(record), seen(record));
export const takenBack = (record, reason = null) => post(at(record, '/undo'), { reason }, seen(record));
export const demoted = (record, reason = null) => post(at(record, '/demote'), { reason }, seen(record));
export const promoted = (record, { scope, reason }) => post(at(record, '/promote'), { scope: scope || null, reason }, seen(record));

/** What somebody else wrote is captured: it may be tended, its words are not ours to change. */
export const isCaptured = (record) => record.source !== 'manual';
export const isConflict = (error) => error.code === 'precondition_failed' || error.code === 'record_changed';

/** What this person may do with this record as it is. */
export function offers(record) {
  const here = record.state !== 'deleted';
  const writes = may('writer');
  return {
    edit: writes && here && !isCaptured(record),
    pin: writes && here,
    weigh: writes && here,
    promote: may('reviewer') && here && record.state !== 'superseded' && (record.visibility === 'private' || record.demoted),
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

const ROOM = 4;

/**
 * Do `act` with each of `records`, a few at a time; where the daemon asks for patience, wait. `onStep(count)` tells how far it is.
 * Answers { done: [changed record], failed: [{ record, error }] }: one that fails stops no other.
 */
export async function each(records, act, onStep = () => {}) {
  const waiting = [...records];
  const done = [];
  const failed = [];
  const work = async () => {
    for (let record = waiting.shift(); record; record = waiting.shift()) {
      try {
        done.push(await patient(() => act(record)));
      } catch (error) {
        failed.push({ record, error });
      }
      onStep(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: ROOM }, work));
  return { done, failed };
}

async function patient(act, tries = 5) {
  for (let left = tries; ; left -= 1) {
    try {
      return await act();
    } catch (error) {
      if (error.status !== 429 || !left) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}
