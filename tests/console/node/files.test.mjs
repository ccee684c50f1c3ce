// Which files of this computer are worth sending, and which scopes a pattern means.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sifted } from '../../../src/commonplace/console/parts/files.js';
import { parsePattern } from '../../../src/commonplace/console/parts/patterns.js';

const file = (path, size = 1) => ({ path, file: { size } });
const reason = (path, size) => sifted([file(path, size)]).left[0]?.reason ?? null;

for (const [path, size, expected] of [
  ['notes/a.md', 1, null],
  ['记忆/笔记.markdown', 1, null],
  ['😀.txt', 1, null],
  ['UPPER.MD', 1, null],
  ['a.png', 1, 'kind'],
  ['md', 1, 'kind'],
  ['.git/a.md', 1, 'hidden'],
  ['node_modules/a/b.md', 1, 'hidden'],
  ['a.md', 2 * 1024 * 1024 + 1, 'large'],
  ['C:/a.md', 1, 'path'],
  ['a\\b.md', 1, 'path'],
  ['a\u202eb.md', 1, 'path'],
  ['a /b.md', 1, 'path'],
]) {
  test(`${JSON.stringify(path)} is ${expected ? `left out: ${expected}` : 'sent'}`, () => {
    assert.equal(reason(path, size), expected);
  });
}

test('files are sent in the order of their paths, each path once', () => {
  const { kept } = sifted([file('b.md'), file('a.md'), file('b.md')]);

  assert.deepEqual(
    kept.map(({ path }) => path),
    ['a.md', 'b.md'],
  );
});

for (const [text, expected] of [
  ['*', { name: 'every', kind: '', id: '' }],
  ['global', { name: 'global', kind: '', id: '' }],
  ['workspace:*', { name: 'kind', kind: 'workspace', id: '' }],
  ['workspace:web-*', { name: 'begin', kind: 'workspace', id: 'web-' }],
  ['user:ana', { name: 'one', kind: 'user', id: 'ana' }],
  ['user:a:b', { name: 'one', kind: 'user', id: 'a:b' }],
  ['user:阿娜', { name: 'one', kind: 'user', id: '阿娜' }],
  ['', null],
  ['user:', null],
  ['user', null],
  ['planet:mars', null],
  ['user:a*b', null],
  ['user:**', null],
  [`user:${'a'.repeat(300)}`, null],
]) {
  test(`the pattern ${JSON.stringify(text.slice(0, 20))} is ${expected?.name ?? 'none'}`, () => {
    assert.deepEqual(parsePattern(text), expected);
  });
}
