// No regular expression of the console can be made slow by the text it reads: a stored text must not freeze the page that shows it.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { parsers } from '../../clients/node_modules/prettier/plugins/acorn.mjs';

const CONSOLE = fileURLToPath(new URL('../../../src/commonplace/console/', import.meta.url));
// Patterns that only ever get short texts, and how long these are.
const LONGEST = {
  'text/markdown.js /[ \\t]+#+[ \\t]*$/': 1_000,
  'text/markdown.js /[.,;:!?)\\]}。，；：！？）】]{1,20}$/': 2_000,
  // What a person types as the name of a file, and the path of a file that the daemon names.
  'pages/learning/new_file.js /^-+|-+$/g': 1_000,
  'pages/learning/task.js /\\/(?:projects\\/[^/]+|\\.commonplace)\\/memory\\/(.+\\.md)$/': 4_096,
  'pages/learning/task.js /\\/memories\\/(.+\\.md)$/': 4_096,
};
// Patterns that are put together, with what makes them safe.
const COMPOSED = {
  'text/characters.js': 'one character, and repetitions of that same one',
  'parts/why.js': 'words with at most four further letters, in at most 700 characters',
};
const SIZE = 30_000;
// Milliseconds of the processor. A quadratic pattern takes seconds for such a text, the others less than ten.
const LIMIT = 150;
const ALONE = [
  ...'aZ0 \t\n!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~é一。',
  '\u200d',
  '\u{1f3fb}',
  '- ',
  '* ',
  '\\|',
  '/memories/',
  'https://',
  '/projects/a/memory/a',
];
const ENDINGS = ['', 'x', '\n', '!', ' x'];

function* patternsOf(node) {
  if (!node || typeof node !== 'object') return;
  if (node.regex) yield `/${node.regex.pattern}/${node.regex.flags}`;
  if (node.type === 'NewExpression' && node.callee?.name === 'RegExp') yield null;
  for (const child of Object.values(node)) yield* patternsOf(child);
}

async function collect() {
  const files = (await readdir(CONSOLE, { recursive: true, withFileTypes: true })).filter((entry) => entry.name.endsWith('.js'));
  const found = [];
  for (const entry of files) {
    const path = `${entry.parentPath ?? entry.path}/${entry.name}`;
    const tree = await parsers.acorn.parse(await readFile(path, 'utf8'), { filepath: path });
    for (const literal of patternsOf(tree)) found.push({ file: relative(CONSOLE, path), literal });
  }
  return found;
}

function compile(literal) {
  const end = literal.lastIndexOf('/');
  const flags = literal.slice(end + 1);
  return new RegExp(literal.slice(1, end), flags.includes('g') || flags.includes('y') ? flags : `${flags}g`);
}

function milliseconds(pattern, text) {
  const begin = process.cpuUsage();
  pattern.lastIndex = 0;
  text.replace(pattern, '');
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

/** The first text of `size` characters that takes a pattern too long; null if there is none. Larger ones only where a smaller is not quick. */
function slowText(literal, size) {
  const pattern = compile(literal);
  const heads = ['', literal.match(/[\p{L}#/<]+/u)?.[0] ?? ''];
  for (const head of new Set(heads))
    for (const unit of ALONE)
      for (const ending of ENDINGS) {
        const text = (most) => head + unit.repeat(most / unit.length) + ending;
        if (milliseconds(pattern, text(size / 10)) < LIMIT / 150) continue;
        if (Math.min(milliseconds(pattern, text(size)), milliseconds(pattern, text(size))) > LIMIT) return JSON.stringify(text(40));
      }
  return null;
}

test('every regular expression of the console takes time in proportion to its text', async () => {
  const slow = [];
  for (const { file, literal } of await collect()) {
    if (literal === null) continue;
    const text = slowText(literal, LONGEST[`${file} ${literal}`] ?? SIZE);
    if (text) slow.push(`${file} ${literal}: ${text}`);
  }

  assert.deepEqual(slow, []);
});

test('each exception is still there, and nothing else is put together from parts', async () => {
  const found = await collect();
  const names = new Set(found.map(({ file, literal }) => `${file} ${literal}`));

  assert.deepEqual(
    Object.keys(LONGEST).filter((name) => !names.has(name)),
    [],
  );
  assert.deepEqual(
    [...new Set(found.filter(({ literal }) => literal === null).map(({ file }) => file))].sort(),
    Object.keys(COMPOSED).sort(),
  );
});

for (const literal of ['/[ \\t]+#+$/', '/-+$/g', '/\\s*x/'])
  test(`a pattern that backtracks is caught: ${literal}`, () => {
    assert.notEqual(slowText(literal, SIZE), null);
  });
