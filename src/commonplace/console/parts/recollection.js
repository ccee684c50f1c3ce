// What a turn of an agent recalled, and why; and what it left in the memory. The words are those of the chat.

import { get } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { errorNotice, showError } from '../problems.js';
import { address } from '../router.js';
import { may } from '../session.js';
import { reasonsOf } from '../text/reasons.js';
import { memoryOf } from '../text/timeline.js';
import { learn, lookup, t } from '../words.js';
import { relevance, source } from './badge.js';
import { allowedActions, askCorrection, correctRecord, deleteRecord, undoRecord } from './record_actions.js';

const AT_ONCE = 4;
const SHOWN = 400; // characters of a memory

/** The two lists of a turn: { element, show(turn) }. What is not known of a turn that was kept is read from its run. */
export function recollection(signal) {
  const element = h('aside', { 'class': 'beside', 'aria-label': t('chat.beside') });
  let told = null;

  function show(turn) {
    const now = [turn.recalled, turn.learned];
    if (told && told.every((one, index) => one === now[index])) return;
    told = now;
    fill(element, turn.recalled && recalledBox(turn.recalled), turn.learned?.length > 0 && learnedBox(turn.learned, signal));
    element.hidden = !element.childElementCount;
  }
  element.hidden = true;
  return { element, show };
}

function recalledBox({ memories, failed }) {
  return [
    h('h3', {}, t('chat.recalled')),
    failed ? h('p', { class: 'small warn' }, t('chat.recalled.failed', { message: failed })) : recalledLists(memories),
  ];
}

/** What was found for the question, the likeliest first; what an agent is always shown, and what is far down, is folded. */
export function recalledLists(memories) {
  const found = memories.filter(isFound).sort((one, other) => other.relevance - one.relevance);
  const rest = [
    ['chat.recalled.more', found.slice(AT_ONCE)],
    ['chat.recalled.always', memories.filter((memory) => !isFound(memory))],
  ];
  return [
    found.length ? listOf(found.slice(0, AT_ONCE)) : h('p', { class: 'small soft' }, t('chat.recalled.none')),
    rest.map(
      ([words, rows]) => rows.length > 0 && h('details', { class: 'folded' }, h('summary', {}, t(words, rows.length)), listOf(rows)),
    ),
  ];
}

const isFound = ({ relevance: chance }) => typeof chance === 'number';
const listOf = (memories) => h('ul', { class: 'memories' }, memories.map(recalledRow));

/** A memory with how likely it answers, why it was found, where it lies and where it comes from. */
const recalledRow = (memory) =>
  h(
    'li',
    {},
    h('a', { class: 'memory-text', href: address('record', memory.id) }, plain(memory.text || memory.id, SHOWN)),
    h(
      'div',
      { class: 'row small soft' },
      typeof memory.relevance === 'number' && relevance(memory.relevance),
      memory.source && source(memory.source),
      memory.scope && h('span', { class: 'mono cut' }, plain(memory.scope, 80)),
      whyShown(memory.why),
    ),
  );

function whyShown(why) {
  if (!why) return null;
  const reasons = reasonsOf(why).map((name) => t(`chat.why.${name}`));
  const text = reasons.length ? reasons.join(t('chat.why.and')) : (lookup(`chat.why.${why.replaceAll(' ', '-')}`) ?? why);
  return h('span', { title: why }, plain(text, 120));
}

function learnedBox(memories, signal) {
  return [
    h('h3', {}, t('chat.learned')),
    h(
      'ul',
      { class: 'memories learned' },
      memories.map((memory) => learnedRow(memory, signal)),
    ),
  ];
}

export function learnedRow(memory, signal) {
  const note = h('div', { class: 'row small soft' });
  const link = h('a', { class: 'memory-text', href: address('record', memory.id) }, plain(memory.text || memory.id, SHOWN));
  const undo = h('button', { type: 'button', class: 'quiet small', on: { click: takeBack } }, t('frame.undo'));
  const where = memory.scope && h('span', { class: 'mono cut' }, plain(memory.scope, 80));
  const fix = h('button', { type: 'button', class: 'quiet small', on: { click: correct } }, t('chat.correct'));
  fill(note, where, whyShown(memory.why), may('writer') && fix, may('writer') && undo);

  async function correct() {
    fix.disabled = true;
    try {
      const [record] = await Promise.all([get(`/v1/records/${memory.id}`, {}, { signal }), learn('memory')]);
      if (!allowedActions(record).correct) {
        location.hash = address('record', record.id);
        return;
      }
      const answer = await askCorrection(record);
      if (!answer) return;
      const successor = await correctRecord(record, answer);
      fill(link, plain(successor.text, SHOWN));
      link.href = address('record', successor.id);
      fill(note, where, h('span', { role: 'status' }, t('memory.corrected')));
    } catch (error) {
      showError(error);
    } finally {
      fix.disabled = false;
    }
  }

  async function takeBack() {
    undo.disabled = true;
    try {
      const record = await get(`/v1/records/${memory.id}`, {}, { signal });
      // What was new is deleted; what replaced something is that again.
      await (record.version > 1 ? undoRecord(record) : deleteRecord(record));
      fill(note, h('span', { role: 'status' }, t('frame.undone')));
      link.classList.add('taken-back');
    } catch (error) {
      undo.disabled = false;
      showError(error);
    }
  }
  return h('li', {}, link, note);
}

/** What the run of a turn says that was recalled and learned, with the texts as they are now; null if the run is not kept any more. */
export async function readRecollection(run, signal) {
  let events;
  try {
    ({ events } = await get(`/v1/runs/${encodeURIComponent(run)}/events`, {}, { signal }));
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return error.status === 404 || error.status === 409
      ? null
      : { recalled: { memories: [], block: '', failed: errorNotice(error) }, learned: null };
  }
  const { hits, block, learned } = memoryOf(events);
  return {
    recalled: hits && { memories: await textsOf(hits, signal), block, failed: null },
    learned: learned && (await textsOf(learned, signal)),
  };
}

/** The hits with what their records say; one that is gone says so. */
export const textsOf = (hits, signal) =>
  Promise.all(
    hits.map(async (hit) => {
      if (hit.text) return hit;
      try {
        const record = await get(`/v1/records/${hit.id}`, {}, { signal });
        return { ...hit, text: record.text, source: record.source, scope: record.scope };
      } catch (error) {
        if (error.name === 'AbortError') throw error;
        return { ...hit, text: t('chat.recalled.gone') };
      }
    }),
  );
