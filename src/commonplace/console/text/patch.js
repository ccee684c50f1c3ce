// A unified diff, line by line. Pure.

const MOST = 2_000;

/** The lines of a diff: [{ kind: 'file' | 'hunk' | 'ins' | 'del' | 'same' | 'note', text }], and how many more there are. */
export function patchLines(text, most = MOST) {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  let isBody = false; // behind the first hunk a line that begins with dashes is one that was taken out
  const shown = lines.slice(0, most).map((line) => {
    if (line.startsWith('@@')) isBody = true;
    return { kind: kindOf(line, isBody), text: line };
  });
  return { lines: shown, more: lines.length - shown.length };
}

function kindOf(line, isBody) {
  if (line.startsWith('@@')) return 'hunk';
  if (!isBody && (line.startsWith('--- ') || line.startsWith('+++ '))) return 'file';
  if (line.startsWith('+')) return 'ins';
  if (line.startsWith('-')) return 'del';
  return line.startsWith('\\') ? 'note' : 'same';
}

/** How many lines a diff puts in and takes out. */
export function patchSize(text) {
  const { lines } = patchLines(text, Infinity);
  const count = (wanted) => lines.filter(({ kind }) => kind === wanted).length;
  return { added: count('ins'), removed: count('del') };
}
