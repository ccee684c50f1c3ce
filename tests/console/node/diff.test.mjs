// What changed between two texts: both can be read off the stretches again, whatever they are and however long.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { diff } from '../../../src/commonplace/console/text/diff.js';
import { numbers } from './random.mjs';

const oneSide = (stretches, other) =>
  stretches
    .filter(([kind]) => kind !== other)
    .map(([, text]) => text)
    .join('');

/** The stretches, after it is certain that both texts are in them. */
function checkedDiff(before, after) {
  const stretches = diff(before, after);
  assert.ok(oneSide(stretches, 'ins') === before);
  assert.ok(oneSide(stretches, 'del') === after);
  assert.ok(stretches.every(([kind, text]) => ['same', 'del', 'ins'].includes(kind) && text !== ''));
  return stretches;
}

for (const [what, before, after, expected] of [
  ['empty texts have no stretch', '', '', []],
  ['equal texts are one stretch', 'a b c', 'a b c', [['same', 'a b c']]],
  ['out of nothing everything is new', '', 'a b', [['ins', 'a b']]],
  ['into nothing everything goes', 'a b', '', [['del', 'a b']]],
  [
    'a word in the middle changes alone',
    'the old one',
    'the new one',
    [
      ['same', 'the '],
      ['del', 'old'],
      ['ins', 'new'],
      ['same', ' one'],
    ],
  ],
  [
    'words beside each other change as one',
    'on Tuesdays only here',
    'every Friday there here',
    [
      ['del', 'on Tuesdays only'],
      ['ins', 'every Friday there'],
      ['same', ' here'],
    ],
  ],
  [
    'Chinese is compared by the character',
    '发布在星期二',
    '发布在星期五',
    [
      ['same', '发布在星期'],
      ['del', '二'],
      ['ins', '五'],
    ],
  ],
  [
    'a picture outside the basic plane is not cut in two',
    '😀 a',
    '😁 a',
    [
      ['del', '😀'],
      ['ins', '😁'],
      ['same', ' a'],
    ],
  ],
  [
    'a word with accents is one word',
    'naïve cafe\u0301s',
    'naïve bars',
    [
      ['same', 'naïve '],
      ['del', 'cafe\u0301s'],
      ['ins', 'bars'],
    ],
  ],
]) {
  test(what, () => {
    assert.deepEqual(checkedDiff(before, after), expected);
  });
}

test('markup in a text is text', () => {
  assert.deepEqual(
    checkedDiff('<b>a</b>', '<i>a</i>')
      .filter(([kind]) => kind === 'ins')
      .map(([, text]) => text),
    ['i', 'i'],
  );
});

test('both texts can be read off the stretches, and no stretch ends inside a character', () => {
  const next = numbers(3);
  const pieces = ['a', 'b ', ' ', '\n', '\t', '记', '忆', '😀', '👨‍👩‍👧', '\u202e', '<', 'é'];
  const draw = () => Array.from({ length: next(40) }, () => pieces[next(pieces.length)]).join('');
  for (let run = 0; run < 2_000; run += 1) {
    for (const [, text] of checkedDiff(draw(), draw())) {
      assert.doesNotMatch(text, /^[\udc00-\udfff]|[\ud800-\udbff]$/);
    }
  }
});

test('half a surrogate pair is compared like a character', () => {
  checkedDiff('a\ud83d b', 'a\ude00 b');
});

// ---- long texts: the whole file has a time limit, within which a loop that grows with the square of the length would not end

test('equal texts of ten megabytes are one stretch', () => {
  const text = 'word 字 😀\n'.repeat(1_000_000);

  assert.equal(checkedDiff(text, text).length, 1);
});

test('a change in the middle of a long text is its line alone', () => {
  const half = 'a line that stays\n'.repeat(25_000);

  const stretches = checkedDiff(`${half}old\n${half}`, `${half}new\n${half}`);

  assert.deepEqual(stretches, [
    ['same', half],
    ['del', 'old\n'],
    ['ins', 'new\n'],
    ['same', half],
  ]);
});

test('texts with nothing in common are one change each', () => {
  const before = Array.from({ length: 50_000 }, (_, index) => `old${index}`).join(' ');
  const after = Array.from({ length: 50_000 }, (_, index) => `new${index}`).join(' ');

  assert.deepEqual(checkedDiff(before, after), [
    ['del', before],
    ['ins', after],
  ]);
});

for (const piece of ['a', 'a ', ' ', '\n', 'a\n', '字', '😀', '<', '\u0000']) {
  test(`a megabyte of ${JSON.stringify(piece)} against one with another end`, () => {
    const text = piece.repeat(1_000_000 / piece.length);

    checkedDiff(text, `${text}!`);
    checkedDiff(`!${text}`, `${text}?`);
  });
}
