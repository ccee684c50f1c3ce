// The characters of a text that somebody stored: which of them cannot be seen, and where it may be cut. Pure.

// Characters that would change how their neighbours are read, or cannot be seen: controls, direction marks, zero width, tags. What joins
// two pictures to one (a family) is a part of the picture.
const LONE_JOINER = /(?<![\p{Extended_Pictographic}\u{1f3fb}-\u{1f3ff}\ufe0f])\u200d|\u200d(?!\p{Extended_Pictographic})/u;
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;
export const HIDDEN = new RegExp(`${LONE_JOINER.source}|${UNSEEN.source}`, 'gu');

const RUNS = new RegExp(`(${HIDDEN.source})\\1*`, 'gu');
// A text has so many marks at most: a browser would take its time with more. After them a dot stands for what cannot be seen.
const MOST_MARKS = 2_000;

/**
 * A text as a list: strings that can be seen, and { code, count } for each run of a character that cannot. At most `most` characters of it, and
 * an ellipsis for the rest.
 */
export function splitHidden(text, most = Infinity) {
  const part = text.slice(0, boundary(text, most));
  const pieces = [];
  let start = 0;
  for (const run of part.matchAll(RUNS)) {
    if (pieces.length > 2 * MOST_MARKS) break;
    if (run.index > start) pieces.push(part.slice(start, run.index));
    const code = `U+${run[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    pieces.push({ code, count: run[0].length / run[1].length });
    start = run.index + run[0].length;
  }
  if (start < part.length) pieces.push(part.slice(start).replace(RUNS, ' · '));
  if (part.length < text.length) pieces.push('…');
  return pieces;
}

/** Where to cut a text at `at` or just before, so that no character is cut in two. */
export const boundary = (text, at) => (at > 0 && at < text.length && /[\ud800-\udbff]/.test(text[at - 1]) ? at - 1 : at);
