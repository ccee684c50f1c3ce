// Two changes of one text: merged if they are apart, both between marks if they are not; nothing of either is lost.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { mergeTexts } from '../../../src/commonplace/console/text/merge.js';
import { numbers } from './random.mjs';

for (const [what, base, mine, theirs, expected] of [
  ['only they changed it', 'a\nb\nc', 'a\nb\nc', 'a\nB\nc', 'a\nB\nc'],
  ['only I changed it', 'a\nb\nc', 'a\nB\nc', 'a\nb\nc', 'a\nB\nc'],
  ['each changed another line', 'a\nb\nc', 'A\nb\nc', 'a\nb\nC', 'A\nb\nC'],
  ['one added above, one below', 'a\nb\nc', 'a\nb\nc\nmine', 'theirs\na\nb\nc', 'theirs\na\nb\nc\nmine'],
  ['one deleted a line, one added another', 'a\nb\nc', 'a\nc', 'a\nb\nc\nd', 'a\nc\nd'],
  ['both made the same change', 'a', 'same', 'same', 'same'],
  ['both deleted the same line', 'a\nb\nc', 'a\nc', 'a\nc', 'a\nc'],
  ['nobody changed anything', 'a\nb', 'a\nb', 'a\nb', 'a\nb'],
  ['all three are empty', '', '', '', ''],
  ['I emptied it and they left it', 'a\nb', '', 'a\nb', ''],
  ['one added an empty line at the end', 'a', 'a\n', 'a', 'a\n'],
  ['the lines end as on Windows', 'a\r\nb\r\nc', 'A\r\nb\r\nc', 'a\r\nb\r\nC', 'A\r\nb\r\nC'],
  ['the text is Chinese, with pictures', '一\n二\n😀', '壹\n二\n😀', '一\n二\n👨‍👩‍👧', '壹\n二\n👨‍👩‍👧'],
]) {
  test(`there is no conflict if ${what}`, () => {
    assert.deepEqual(mergeTexts(base, mine, theirs), { text: expected, clean: true });
  });
}

for (const [what, base, mine, theirs, expected] of [
  ['changed the same line', 'a\nb\nc', 'a\nmine\nc', 'a\ntheirs\nc', 'a\n<<<<<<< mine\nmine\n=======\ntheirs\n>>>>>>> theirs\nc'],
  ['added at the same place', 'a', 'a\nmine', 'a\ntheirs', 'a\n<<<<<<< mine\nmine\n=======\ntheirs\n>>>>>>> theirs'],
  ['wrote into an empty text', '', 'mine', 'theirs', '<<<<<<< mine\nmine\n=======\ntheirs\n>>>>>>> theirs'],
  ['changed a line that the other deleted', 'a\nb\nc', 'a\nc', 'a\nB\nc', 'a\n<<<<<<< mine\n=======\nB\n>>>>>>> theirs\nc'],
  ['changed neighbouring lines', 'a\nb', 'A\nb', 'a\nB', '<<<<<<< mine\nA\nb\n=======\na\nB\n>>>>>>> theirs'],
]) {
  test(`both versions stand between marks if both ${what}`, () => {
    assert.deepEqual(mergeTexts(base, mine, theirs), { text: expected, clean: false });
  });
}

test('a conflict in one place leaves the merge in another', () => {
  const { text, clean } = mergeTexts('a\nb\nc\nd\ne', 'A\nb\nc\nmine\ne', 'a\nb\nC\ntheirs\ne');

  assert.equal(clean, false);
  assert.ok(text.startsWith('A\nb\n'));
  assert.ok(text.endsWith('\ne'));
  assert.ok(text.includes('mine') && text.includes('theirs'));
});

test('the marks bear the names that are asked for', () => {
  const { text } = mergeTexts('', 'a', 'b', { mine: 'Yours', theirs: 'Saved by Ana' });

  assert.equal(text, '<<<<<<< Yours\na\n=======\nb\n>>>>>>> Saved by Ana');
});

test('lines that look like marks are lines', () => {
  const marks = '<<<<<<< mine\n=======\n>>>>>>> theirs';

  assert.deepEqual(mergeTexts(marks, `${marks}\na`, marks), { text: `${marks}\na`, clean: true });
});

// ---- any texts

test('whoever changed nothing gets the other text, and no line of either is lost', () => {
  const next = numbers(7);
  const draw = () => Array.from({ length: next(12) }, () => ['a', 'b', 'c', '', '😀'][next(5)]).join('\n');
  for (let run = 0; run < 2_000; run += 1) {
    const [base, mine, theirs] = [draw(), draw(), draw()];

    assert.deepEqual(mergeTexts(base, base, theirs), { text: theirs, clean: true });
    assert.deepEqual(mergeTexts(base, mine, base), { text: mine, clean: true });
    assert.deepEqual(mergeTexts(base, mine, mine), { text: mine, clean: true });
    const both = mergeTexts(base, mine, theirs);
    const lines = new Set(both.text.split('\n'));
    const old = new Set(base.split('\n'));
    for (const line of [...mine.split('\n'), ...theirs.split('\n')]) assert.ok(old.has(line) || lines.has(line), line);
    assert.equal(both.clean, !both.text.includes('<<<<<<<'));
  }
});

// ---- long texts

const numbered = (count, prefix = 'line') => Array.from({ length: count }, (_, index) => `${prefix} ${index}`);

test('two changes far apart in a text of 300,000 lines are merged', () => {
  const base = numbered(300_000);
  const change = (at, text) => base.map((line, index) => (index === at ? text : line)).join('\n');

  const { text, clean } = mergeTexts(base.join('\n'), change(3, 'mine'), change(299_000, 'theirs'));

  assert.equal(clean, true);
  assert.equal(text.split('\n')[3], 'mine');
  assert.equal(text.split('\n')[299_000], 'theirs');
});

test('three texts of 200,000 lines with nothing in common end in one conflict that has both', () => {
  const [base, mine, theirs] = ['base', 'mine', 'theirs'].map((prefix) => numbered(200_000, prefix).join('\n'));

  const both = mergeTexts(base, mine, theirs);

  assert.deepEqual(both, { text: `<<<<<<< mine\n${mine}\n=======\n${theirs}\n>>>>>>> theirs`, clean: false });
});

test('lines of a megabyte are merged like others', () => {
  const long = 'x'.repeat(1_000_000);

  assert.deepEqual(mergeTexts(`a\n${long}\nc`, `A\n${long}\nc`, `a\n${long}\nC`), { text: `A\n${long}\nC`, clean: true });
});
