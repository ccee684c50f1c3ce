// What changed between two texts, word by word. The work is bounded: texts that differ too much are compared by lines, then as a whole. Pure.

const MOST_EDITS = 400;
const MOST_WORDS = 60_000;

// Scripts without spaces are compared by the character.
const WORDS = /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}_]+|[^]/gu;
const LINES = /[^\n]*\n|[^\n]+$/g;

/** The stretches of both texts in order: [['same' | 'del' | 'ins', text], …]. Those but `ins` are the one text, those but `del` the other. */
export function diff(before, after) {
  if (before === after) return before ? [['same', before]] : [];
  for (const unit of [WORDS, LINES]) {
    const stretches = compare(split(before, unit), split(after, unit));
    if (stretches) return stretches;
  }
  return join([
    ['del', before],
    ['ins', after],
  ]);
}

function split(text, unit) {
  if (unit === WORDS && text.length > 8 * MOST_WORDS) return null;
  const pieces = text.match(unit) ?? [];
  return pieces.length > MOST_WORDS ? null : pieces;
}

function compare(before, after) {
  if (!before || !after) return null;
  let start = 0;
  let end = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const middle = shortestEdit(before.slice(start, before.length - end), after.slice(start, after.length - end));
  if (!middle) return null;
  return join([['same', before.slice(0, start).join('')], ...middle, ['same', end ? before.slice(-end).join('') : '']]);
}

/** Myers' shortest edit: how far each diagonal reaches with ever more edits, then the way back. Null if it takes too many. */
function shortestEdit(before, after) {
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
      if (x >= before.length && x - k >= after.length) return backtrack(trace, before, after, most);
    }
  }
  return null;
}

function backtrack(trace, before, after, most) {
  const path = [];
  let x = before.length;
  let y = after.length;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits];
    const k = x - y;
    const at = k + most + 1;
    const isDown = k === -edits || (k !== edits && reach[at - 1] < reach[at + 1]);
    const fromX = edits ? reach[isDown ? at + 1 : at - 1] : 0;
    const fromY = edits ? fromX - (isDown ? k + 1 : k - 1) : 0;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      path.push(['same', before[x]]);
    }
    if (edits) path.push(isDown ? ['ins', after[fromY]] : ['del', before[fromX]]);
    x = fromX;
    y = fromY;
  }
  return path.reverse();
}

/** Neighbours of one kind become one stretch; between two changes a lone space belongs to both, so that they read as one. */
function join(pieces) {
  const stretches = [];
  let del = '';
  let ins = '';
  const close = () => {
    if (del) stretches.push(['del', del]);
    if (ins) stretches.push(['ins', ins]);
    del = '';
    ins = '';
  };
  pieces.forEach(([kind, text], index) => {
    if (kind === 'del') del += text;
    else if (kind === 'ins') ins += text;
    else if (text && (del || ins) && /^[ \t]$/.test(text) && index + 1 < pieces.length && pieces[index + 1][0] !== 'same') {
      del += text;
      ins += text;
    } else if (text) {
      close();
      if (stretches.at(-1)?.[0] === 'same') stretches.at(-1)[1] += text;
      else stretches.push(['same', text]);
    }
  });
  close();
  return stretches;
}
