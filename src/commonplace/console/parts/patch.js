// How a file changes, as an element: lines that are put in, taken out, and around them.

import { h, plain } from '../dom.js';
import { patchLines } from '../text/patch.js';
import { t } from '../words.js';
import { wholly } from './lengthy.js';

const LONGEST = 2_000; // characters of a line
const MARKS = { ins: 'ins', del: 'del' };

/** The element of a unified diff. */
export function patchOf(text) {
  const { lines, more } = patchLines(text);
  const box = h('div', { 'class': 'patch mono', 'tabindex': '0', 'role': 'region', 'aria-label': t('chat.diff') }, lines.map(line));
  return more
    ? h(
        'div',
        {},
        box,
        wholly(box, [text], () => patchLines(text, Infinity).lines.map(line)),
      )
    : box;
}

const line = ({ kind, text }) => h(MARKS[kind] ?? 'span', { class: `patch-line patch-${kind}` }, plain(text, LONGEST), text === '' && ' ');
