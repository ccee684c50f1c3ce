// Two people's changes to one text, line by line. Where both changed the same lines, both stand in the text between marks.

const MOST_CELLS = 4_000_000;

/** `{ text, clean }`: the text with both changes; `clean` is false where marks were needed. */
export function merged(base, mine, theirs, names = { mine: 'mine', theirs: 'theirs' }) {
  const [old, own, other] = [base, mine, theirs].map((text) => text.split('\n'));
  const toOwn = matches(old, own);
  const toOther = matches(old, other);
  const lines = [];
  let clean = true;
  let [o, a, b] = [0, 0, 0];

  function between(oEnd, aEnd, bEnd) {
    const [was, left, right] = [old.slice(o, oEnd), own.slice(a, aEnd), other.slice(b, bEnd)].map((part) => part.join('\n'));
    const sizes = [aEnd - a, bEnd - b];
    if (left === right && sizes[0] === sizes[1]) lines.push(...own.slice(a, aEnd));
    else if (left === was && sizes[0] === oEnd - o) lines.push(...other.slice(b, bEnd));
    else if (right === was && sizes[1] === oEnd - o) lines.push(...own.slice(a, aEnd));
    else {
      clean = false;
      lines.push(`<<<<<<< ${names.mine}`, ...own.slice(a, aEnd), '=======', ...other.slice(b, bEnd), `>>>>>>> ${names.theirs}`);
    }
    [o, a, b] = [oEnd, aEnd, bEnd];
  }

  for (let line = 0; line < old.length; line += 1) {
    if (!toOwn.has(line) || !toOther.has(line)) continue;
    between(line, toOwn.get(line), toOther.get(line));
    lines.push(old[line]);
    [o, a, b] = [o + 1, a + 1, b + 1];
  }
  between(old.length, own.length, other.length);
  return { text: lines.join('\n'), clean };
}

/** Which line of `before` is which of `after`, in order, as many as possible. */
function matches(before, after) {
  const found = new Map();
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) {
    found.set(start, start);
    start += 1;
  }
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) {
    found.set(before.length - 1 - end, after.length - 1 - end);
    end += 1;
  }
  const rows = before.length - start - end;
  const columns = after.length - start - end;
  // Texts that have so little in common are not worth the work: all between is one change.
  if (rows * columns > MOST_CELLS) return found;
  const longest = table(before, after, start, rows, columns);
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (before[start + i] === after[start + j]) found.set(start + i++, start + j++);
    else if (longest[(i + 1) * (columns + 1) + j] >= longest[i * (columns + 1) + j + 1]) i += 1;
    else j += 1;
  }
  return found;
}

function table(before, after, start, rows, columns) {
  const width = columns + 1;
  const longest = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        before[start + i] === after[start + j]
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  return longest;
}
