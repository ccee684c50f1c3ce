// What changed between two texts, word by word. The work is bounded: where texts differ too much, lines are compared, then the whole.

import { h, plain } from '../dom.js';
import { wholly } from './lengthy.js';

const MOST_EDITS = 400;
const MOST_WORDS = 60_000;
const MOST_OF_ONE = 20_000;
const MOST_SHOWN = 100_000;
const AROUND = 240;
const FOLDED = 2 * AROUND + 40;

// Scripts without spaces are compared by the character.
const WORDS = /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}_]+|[^]/gu;
const LINES = /[^\n]*\n|[^\n]+$/g;

/** The stretches of both texts in order: [['same' | 'del' | 'ins', text], …]. */
export function stretches(before, after) {
  for (const cut of [WORDS, LINES]) {
    const found = compared(pieces(before, cut), pieces(after, cut));
    if (found) return found;
  }
  return joined([
    ['del', before],
    ['ins', after],
  ]);
}

/**
 * An element with what was taken out and what was put in; long stretches that stayed are folded to what is around a change. Where
 * much was changed, it shows a part of that and has a button for all of it.
 */
export function differences(before, after) {
  const found = stretches(before, after);
  const part = drawn(found, MOST_OF_ONE, MOST_SHOWN);
  const box = h('div', { class: 'text difference' }, part.nodes);
  if (!part.isCut) return box;
  const changed = found.filter(([kind]) => kind !== 'same').map(([, text]) => text);
  return h(
    'div',
    {},
    box,
    wholly(box, changed, () => drawn(found, Infinity, Infinity).nodes),
  );
}

/** The stretches as nodes: so many characters of each change, and so many of all together. */
function drawn(found, each, all) {
  const nodes = [];
  let left = all;
  let isCut = false;
  for (const [index, [kind, text]] of found.entries()) {
    if (left < 1) return { nodes: [...nodes, h('span', { class: 'soft' }, ' … ')], isCut: true };
    const most = Math.min(each, left);
    if (kind === 'same') nodes.push(folded(text, index > 0, index < found.length - 1));
    else {
      nodes.push(h(kind, {}, plain(text, most)));
      isCut ||= text.length > most;
    }
    left -= Math.min(text.length, kind === 'same' ? FOLDED : most);
  }
  return { nodes, isCut };
}

function folded(text, afterChange, beforeChange) {
  if (text.length <= FOLDED) return plain(text);
  const nodes = [];
  if (afterChange) nodes.push(plain(text.slice(0, AROUND)));
  nodes.push(h('span', { class: 'soft' }, ' … '));
  if (beforeChange) nodes.push(plain(text.slice(-AROUND)));
  return nodes;
}

function pieces(text, cut) {
  if (cut === WORDS && text.length > 8 * MOST_WORDS) return null;
  const found = text.match(cut) ?? [];
  return found.length > MOST_WORDS ? null : found;
}

function compared(before, after) {
  if (!before || !after) return null;
  let start = 0;
  let end = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const middle = shortest(before.slice(start, before.length - end), after.slice(start, after.length - end));
  if (!middle) return null;
  return joined([['same', before.slice(0, start).join('')], ...middle, ['same', end ? before.slice(-end).join('') : '']]);
}

/** Myers' shortest edit: how far each diagonal reaches with ever more edits, then the way back. Null where it takes too many. */
function shortest(before, after) {
  const most = Math.min(MOST_EDITS, before.length + after.length);
  const reach = new Int32Array(2 * most + 3);
  const trace = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(reach.slice());
    for (let k = -edits; k <= edits; k += 2) {
      const at = k + most + 1;
      let x = k === -edits || (k !== edits && reach[at - 1] < reach[at + 1]) ? reach[at + 1] : reach[at - 1] + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      reach[at] = x;
      if (x >= before.length && x - k >= after.length) return wayBack(trace, before, after, most);
    }
  }
  return null;
}

function wayBack(trace, before, after, most) {
  const found = [];
  let x = before.length;
  let y = after.length;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits];
    const k = x - y;
    const at = k + most + 1;
    const down = k === -edits || (k !== edits && reach[at - 1] < reach[at + 1]);
    const fromX = edits ? reach[down ? at + 1 : at - 1] : 0;
    const fromY = edits ? fromX - (down ? k + 1 : k - 1) : 0;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      found.push(['same', before[x]]);
    }
    if (edits) found.push(down ? ['ins', after[fromY]] : ['del', before[fromX]]);
    x = fromX;
    y = fromY;
  }
  return found.reverse();
}

/** Neighbours of one kind become one stretch; between two changes a lone space belongs to both, so that they read as one. */
function joined(parts) {
  const found = [];
  let gone = '';
  let come = '';
  const close = () => {
    if (gone) found.push(['del', gone]);
    if (come) found.push(['ins', come]);
    gone = '';
    come = '';
  };
  parts.forEach(([kind, text], index) => {
    if (kind === 'del') gone += text;
    else if (kind === 'ins') come += text;
    else if (text && (gone || come) && /^[ \t]$/.test(text) && index + 1 < parts.length && parts[index + 1][0] !== 'same') {
      gone += text;
      come += text;
    } else if (text) {
      close();
      if (found.at(-1)?.[0] === 'same') found.at(-1)[1] += text;
      else found.push(['same', text]);
    }
  });
  close();
  return found;
}
