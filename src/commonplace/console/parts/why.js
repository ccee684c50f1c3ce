// Why a hit is where it is: its score's parts as bars on a common scale, and the question's words in its passage.

import { h, plain } from '../dom.js';
import { named } from '../words.js';

// In the order of the bars; what a later version adds comes last, in grey.
const FAMILIES = ['words', 'meaning', 'neighbours', 'session', 'recency', 'pin', 'importance', 'copies', 'trust'];
const SMALLEST = 0.005;

const signed = (value) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
const place = (name) => FAMILIES.indexOf(name) + 1 || FAMILIES.length + 1;

/** The parts of a hit by family (`meaning:<embedder>` is meaning), in the order of the bars; what counts for nothing is left out. */
export function partsOf(hit) {
  const sums = new Map();
  for (const [part, value] of Object.entries(hit.why?.parts ?? {})) {
    const name = part.split(':')[0];
    sums.set(name, (sums.get(name) ?? 0) + value);
  }
  return [...sums].filter(([, value]) => Math.abs(value) >= SMALLEST).sort(([one], [other]) => place(one) - place(other));
}

/** How far the bars of these hits reach to either side of nought. */
export function scaleOf(hits) {
  let low = 0;
  let high = 0.01;
  for (const hit of hits) {
    const values = partsOf(hit).map(([, value]) => value);
    high = Math.max(
      high,
      values.filter((value) => value > 0).reduce((sum, value) => sum + value, 0),
    );
    low = Math.min(
      low,
      values.filter((value) => value < 0).reduce((sum, value) => sum + value, 0),
    );
  }
  return { low, high };
}

/** The bar of a hit, and its numbers: colour only repeats what they say. `page` has the names of the parts under `part`. */
export function why(hit, { low, high }, page) {
  const share = (value) => `${(100 * value) / (high - low)}%`;
  const parts = partsOf(hit);
  let right = 0;
  let left = 0;
  const segments = parts.map(([name, value]) => {
    const start = value > 0 ? right : left + value;
    if (value > 0) right += value;
    else left += value;
    return h('span', { class: `segment family-${place(name)}`, style: { left: share(start - low), width: share(Math.abs(value)) } });
  });
  return h(
    'div',
    { class: 'why' },
    h('div', { 'class': 'bar', 'aria-hidden': 'true' }, segments, h('span', { class: 'nought', style: { left: share(-low) } })),
    h(
      'ul',
      { class: 'parts' },
      parts.map(([name, value]) =>
        h(
          'li',
          {},
          h('span', { 'class': `swatch family-${place(name)}`, 'aria-hidden': 'true' }),
          `${named(`${page}.part`, name)} `,
          h('b', {}, signed(value)),
        ),
      ),
    ),
  );
}

export const scored = (hit) => hit.score.toFixed(2).replace('-', '−');

// The words of a hit are stems ("releas", "quickli"), pairs of them ("releas_tuesday"), or Chinese, Japanese or Korean characters.
function pattern(words) {
  const found = new Set();
  for (const word of words.filter((one) => !one.includes('_'))) {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    if (/^[a-z0-9]+$/.test(word))
      found.add(`(?<![\\p{L}\\p{N}])${word.length > 2 ? `${escaped.replace(/i$/, '[iy]')}[a-z]{0,4}` : escaped}(?![\\p{L}\\p{N}])`);
    else found.add(escaped);
  }
  return found.size ? new RegExp([...found].sort((one, other) => other.length - one.length).join('|'), 'giu') : null;
}

/** The passage that was found, with the words of the question marked; at most `most` characters of it. */
export function passage(hit, most = 700) {
  const text = hit.passage.slice(0, most);
  const wanted = pattern(hit.why?.words ?? []);
  const nodes = [];
  let start = 0;
  for (const found of wanted ? text.matchAll(wanted) : []) {
    if (found.index > start) nodes.push(plain(text.slice(start, found.index)));
    nodes.push(h('mark', {}, plain(found[0])));
    start = found.index + found[0].length;
  }
  if (start < text.length) nodes.push(plain(text.slice(start)));
  if (hit.passage.length > most) nodes.push('…');
  // One that may be taller than its box can be scrolled from the keyboard.
  const tall = text.length > 120 || text.split('\n').length > 5;
  return h('p', { class: 'text passage', dir: 'auto', tabindex: tall ? '0' : null }, nodes);
}
