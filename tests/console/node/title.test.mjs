// What a record is called, and whether its text may be Markdown.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isPlain, parseMarkdown } from '../../../src/commonplace/console/text/markdown.js';
import { bandOf, percentOf } from '../../../src/commonplace/console/text/relevance.js';
import { folderOf, mayBeMarkdown, titleOf } from '../../../src/commonplace/console/text/title.js';

const imported = (file) => ({ source: 'file', key: `import-0123456789abcdef/${file}`, provenance: { file } });

test('an imported file is called by its own name, and its folder stands beside it', () => {
  assert.deepEqual([titleOf(imported('guides/ship.md')), folderOf(imported('guides/ship.md'))], ['ship.md', 'guides/']);
  assert.deepEqual([titleOf(imported('ship.md')), folderOf(imported('ship.md'))], ['ship.md', '']);
});

test('anything else is called by its key, if it has one', () => {
  assert.equal(titleOf({ source: 'manual', key: 'deploy', provenance: { file: 'a.md' } }), 'deploy');
  assert.equal(titleOf({ source: 'manual', key: null, provenance: {} }), null);
});

test('code that was imported is not Markdown', () => {
  assert.equal(mayBeMarkdown(imported('a/ship.py')), false);
  assert.equal(mayBeMarkdown(imported('a/SHIP.MD')), true);
  assert.equal(mayBeMarkdown({ source: 'manual', provenance: {} }), true);
});

for (const [text, expected] of [
  ['We ship on Fridays.\n\nNever on Mondays.', true],
  ['snake_case * 2*3*4 <b>not</b>', true],
  ['We ship with `make ship`.', false],
  ['# Ship', false],
  ['- one\n- two', false],
])
  test(`${JSON.stringify(text)} is ${expected ? '' : 'not '}plain`, () => assert.equal(isPlain(parseMarkdown(text)), expected));

for (const [chance, band, percent] of [
  [0, 'unlikely', 1],
  [0.29, 'unlikely', 29],
  [0.3, 'possible', 30],
  [0.6, 'likely', 60],
  [0.85, 'very', 85],
  [1, 'very', 99],
])
  test(`a chance of ${chance} is ${band}`, () => assert.deepEqual([bandOf(chance), percentOf(chance)], [band, percent]));
