// Two people's changes to one text, line by line. Where both changed the same lines, both stand in the text between marks. Pure.

const MOST_CELLS = 4_000_000;

/** `{ text, clean }`: the text with both changes; `clean` is false if marks were needed. */
export function mergeTexts(base, mine, theirs, names = { mine: 'mine', theirs: 'theirs' }) {
  const [old, own, other] = [base, mine, theirs].map((text) => text.split('\n'));
  const toOwn = matches(old, own);
  const toOther = matches(old, other);
  const lines = [];
  let clean = true;
  let [o, a, b] = [0, 0, 0];

  const add = (some) => {
    for (const line of some) lines.push(line);
  };

  function between(oEnd, aEnd, bEnd) {
    const [origin, ours, others] = [old.slice(o, oEnd), own.slice(a, aEnd), other.slice(b, bEnd)];
    if (isSame(ours, others) || isSame(others, origin)) add(ours);
    else if (isSame(ours, origin)) add(others);
    else {
      clean = false;
      add([`<<<<<<< ${names.mine}`, ...ours, '=======', ...others, `>>>>>>> ${names.theirs}`]);
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

const isSame = (some, others) => some.length === others.length && some.every((line, index) => line === others[index]);

/** Which line of `before` is which of `after`, in order, as many as possible. */
function matches(before, after) {
  const pairs = new Map();
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) {
    pairs.set(start, start);
    start += 1;
  }
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) {
    pairs.set(before.length - 1 - end, after.length - 1 - end);
    end += 1;
  }
  const rows = before.length - start - end;
  const columns = after.length - start - end;
  // Texts that have so little in common are not worth the work: all between is one change.
  if (rows * columns > MOST_CELLS) return pairs;
  const longest = table(before, after, start, rows, columns);
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (before[start + i] === after[start + j]) pairs.set(start + i++, start + j++);
    else if (longest[(i + 1) * (columns + 1) + j] >= longest[i * (columns + 1) + j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
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
