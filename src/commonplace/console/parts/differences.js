// What changed between two texts, as an element.

import { h, plain } from '../dom.js';
import { boundary } from '../text/characters.js';
import { diff } from '../text/diff.js';
import { wholly } from './lengthy.js';

const MOST_OF_ONE = 20_000;
const MOST_SHOWN = 100_000;
const AROUND = 240;
const FOLDED = 2 * AROUND + 40;

/**
 * An element with what was taken out and what was put in; long stretches that stayed are folded to what is around a change. If
 * much was changed, it shows a part of that and has a button for all of it.
 */
export function differences(before, after) {
  const stretches = diff(before, after);
  const part = draw(stretches, MOST_OF_ONE, MOST_SHOWN);
  const box = h('div', { class: 'text difference' }, part.nodes);
  if (!part.isCut) return box;
  const changes = stretches.filter(([kind]) => kind !== 'same').map(([, text]) => text);
  return h(
    'div',
    {},
    box,
    wholly(box, changes, () => draw(stretches, Infinity, Infinity).nodes),
  );
}

/** The stretches as nodes: so many characters of each change, and so many of all together. */
function draw(stretches, each, all) {
  const nodes = [];
  let room = all;
  let isCut = false;
  for (const [index, [kind, text]] of stretches.entries()) {
    if (room < 1) return { nodes: [...nodes, h('span', { class: 'soft' }, ' … ')], isCut: true };
    const most = Math.min(each, room);
    if (kind === 'same') nodes.push(fold(text, index > 0, index < stretches.length - 1));
    else {
      nodes.push(h(kind, {}, plain(text, most)));
      isCut ||= text.length > most;
    }
    room -= Math.min(text.length, kind === 'same' ? FOLDED : most);
  }
  return { nodes, isCut };
}

function fold(text, isAfterChange, isBeforeChange) {
  if (text.length <= FOLDED) return plain(text);
  const nodes = [];
  if (isAfterChange) nodes.push(plain(text.slice(0, boundary(text, AROUND))));
  nodes.push(h('span', { class: 'soft' }, ' … '));
  if (isBeforeChange) nodes.push(plain(text.slice(boundary(text, text.length - AROUND))));
  return nodes;
}
