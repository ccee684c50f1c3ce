// What cannot be seen is marked with its code, and no text is cut inside a character.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HIDDEN, boundary, splitHidden } from '../../../src/commonplace/console/text/characters.js';

test('a text that can be seen is one piece', () => {
  for (const text of ['a', 'a\tb\nc', '记忆 한국어', 'é ﷺ', '<b>&amp;</b>', '👨‍👩‍👧‍👦 👩🏽‍🚀 ❤️‍🔥 🏳️‍🌈']) assert.deepEqual(splitHidden(text), [text]);
});

test('an empty text has no piece', () => {
  assert.deepEqual(splitHidden(''), []);
});

for (const [character, code] of [
  ['\u202e', 'U+202E'],
  ['\u2066', 'U+2066'],
  ['\u200b', 'U+200B'],
  ['\u00ad', 'U+00AD'],
  ['\u0000', 'U+0000'],
  ['\u001b', 'U+001B'],
  ['\u2028', 'U+2028'],
  ['\ufeff', 'U+FEFF'],
  ['\u{e0041}', 'U+E0041'],
]) {
  test(`${code} is marked`, () => {
    assert.deepEqual(splitHidden(`a${character}b`), ['a', { code, count: 1 }, 'b']);
    assert.equal(`a${character}b`.replace(HIDDEN, ''), 'ab');
  });
}

test('a run of one character is one mark, with how many there are', () => {
  assert.deepEqual(splitHidden('\u200b'.repeat(3) + '\u{e0041}\u{e0041}'), [
    { code: 'U+200B', count: 3 },
    { code: 'U+E0041', count: 2 },
  ]);
});

test('what joins two pictures is a part of them; between letters it is marked', () => {
  assert.deepEqual(splitHidden('a\u200db'), ['a', { code: 'U+200D', count: 1 }, 'b']);
  assert.deepEqual(splitHidden('👩‍🚀'), ['👩‍🚀']);
  assert.deepEqual(splitHidden('👩\u200d'), ['👩', { code: 'U+200D', count: 1 }]);
});

test('a text that is too long is cut, with an ellipsis', () => {
  assert.deepEqual(splitHidden('abcdef', 3), ['abc', '…']);
  assert.deepEqual(splitHidden('abc', 3), ['abc']);
});

test('a text is not cut inside a character', () => {
  assert.deepEqual(splitHidden('a😀b', 2), ['a', '…']);
  assert.deepEqual(splitHidden('a😀b', 3), ['a😀', '…']);
  assert.equal(boundary('😀', 1), 0);
  assert.equal(boundary('😀', 2), 2);
  assert.equal(boundary('😀', 0), 0);
  assert.equal(boundary('abc', Infinity), Infinity);
});

test('of a text full of such characters so many are marked as a browser can show, and the rest by a dot', () => {
  const pieces = splitHidden('a\u202e'.repeat(500_000));

  assert.ok(pieces.length < 5_000);
  assert.ok(pieces.at(-1).startsWith('a · a'));
  assert.doesNotMatch(pieces.at(-1), HIDDEN);
});

for (const character of ['\u202e', '\u200d', 'a\u200d', '\u{e0041}', '😀', '👩‍', '\ud83d']) {
  test(`a megabyte of ${JSON.stringify(character)} ends`, () => {
    assert.ok(splitHidden(character.repeat(1_000_000 / character.length)).length < 5_000);
  });
}
