// A conversation from messages and from events, in whatever order they come.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Talk, isOver, replyOf, turnsOf } from '../../../src/commonplace/console/text/talk.js';
import { numbers } from './random.mjs';

const usage = { model: 'small', input_tokens: 1, output_tokens: 1, cost_micro_usd: 0 };
const started = (run, text = run) => ['turn_started', { run, text, model: 'small', speaker: 'ana' }];
const ended = (run, stop = 'end_turn', reply = '') => ['turn_ended', { run, reply, stop_reason: stop, usage }];
const told = (...events) => {
  const talk = new Talk();
  for (const [type, data] of events) talk.hear(type, data, '2026-03-05T10:00:00Z');
  return talk;
};
const message = (position, role, kind, more) => ({ position, role, kind, text: '', data: {}, run: 'r1', call: null, at: null, ...more });

test('pieces of a text are one part, and a tool call between them parts them', () => {
  const talk = told(
    started('r1'),
    ['text', { text: 'On ' }],
    ['text', { text: 'Tuesdays' }],
    ['tool_started', { call: 'c1', tool: 'grep', kind: 'search', title: 'Search', arguments: { pattern: 'x' } }],
    ['tool_ended', { call: 'c1', tool: 'grep', text: 'none', failed: true, diff: null }],
    ['text', { text: 'Done.' }],
    ended('r1'),
  );

  const [turn] = talk.turns;
  assert.deepEqual(
    turn.parts.map(({ kind }) => kind),
    ['text', 'tool', 'text'],
  );
  assert.equal(replyOf(turn), 'On Tuesdays\n\nDone.');
  assert.deepEqual(turn.parts[1].result, { text: 'none', failed: true, diff: null });
  assert.equal(turn.state, 'ended');
  assert.equal(talk.playing, null);
});

test('what the session itself said is not among what was recalled', () => {
  const memories = [
    { id: 'a', text: 'A', why: 'words +1.00' },
    { id: 'b', text: 'B', why: 'current session' },
  ];

  const [turn] = told(started('r1'), ['memory_recalled', { memories, block: 'x' }]).turns;

  assert.deepEqual(
    turn.recalled.memories.map(({ id }) => id),
    ['a'],
  );
});

test('what was learned belongs to the turn that ended first, also if the next one has begun', () => {
  const talk = told(
    started('r1'),
    ended('r1'),
    started('r2'),
    ended('r2', 'cancelled'),
    started('r3'),
    ['memory_learned', { memories: [{ id: 'a', text: 'A' }] }],
    ended('r3'),
    ['memory_learned', { memories: [] }],
  );

  assert.deepEqual(
    talk.turns.map(({ learned }) => learned?.length ?? null),
    [1, null, 0],
  );
});

test('what is told again from the first event on changes nothing', () => {
  const events = [started('r1'), ['text', { text: 'Once.' }], ended('r1'), ['memory_learned', { memories: [] }], started('r2')];
  const once = told(...events);

  const twice = told(...events, ...events);

  assert.deepEqual(twice.turns, once.turns);
});

test('what waits stands last, begins in its place, and can be taken back until then', () => {
  const talk = told(started('r1'));
  talk.say('r2', 'Two', null);
  talk.say('r3', 'Three', null);
  talk.hear(...started('r0'));

  assert.deepEqual(
    talk.turns.map(({ run }) => run),
    ['r1', 'r0', 'r2', 'r3'],
  );
  talk.withdraw('r3');
  talk.hear(...started('r2', 'Two'));
  talk.withdraw('r2');
  assert.deepEqual(
    talk.turns.map(({ run, state }) => `${run} ${state}`),
    ['r1 running', 'r0 running', 'r2 running'],
  );
});

test('an answer of the daemon that comes after the turn began adds nothing', () => {
  const talk = told(started('r1', 'One'), ['text', { text: 'Yes' }]);

  talk.say('r1', 'One', null);

  assert.equal(talk.turns.length, 1);
  assert.equal(replyOf(talk.turns[0]), 'Yes');
});

test('messages and the events of the same turn show the same', () => {
  const call = { tool: 'write_file', kind: 'edit', arguments: { path: 'a' } };
  const kept = turnsOf([
    message(1, 'user', 'text', { text: 'Write', speaker: 'ana' }),
    message(2, 'assistant', 'thinking', { text: 'Hm.' }),
    message(3, 'assistant', 'text', { text: 'I write.' }),
    message(4, 'assistant', 'tool_call', { text: 'Write a', call: 'c1', data: call }),
    message(5, 'tool', 'tool_result', { text: 'ok', call: 'c1', data: { failed: false, diff: '+a' } }),
    message(6, 'assistant', 'text', { text: 'Done.' }),
  ]);
  const heard = told(
    started('r1', 'Write'),
    ['thinking', { text: 'Hm.' }],
    ['text', { text: 'I write.' }],
    ['tool_started', { call: 'c1', title: 'Write a', ...call }],
    ['tool_ended', { call: 'c1', text: 'ok', failed: false, diff: '+a' }],
    ['text', { text: 'Done.' }],
    ended('r1'),
  ).turns;

  assert.deepEqual(kept[0].parts, heard[0].parts);
  assert.equal(kept[0].text, heard[0].text);
  assert.ok(isOver(kept[0]));
});

test('a plan changes in its place, from events and from messages', () => {
  const entries = [{ text: 'Look', status: 'completed' }];
  const heard = told(started('r1'), ['plan', { entries: [] }], ['text', { text: 'x' }], ['plan', { entries }]).turns[0];
  const kept = turnsOf([message(1, 'assistant', 'tool_call', { call: 'c', data: { tool: 'todo', arguments: { entries } } })])[0];

  assert.deepEqual(heard.parts[0], { kind: 'plan', entries });
  assert.deepEqual(kept.parts[1], { kind: 'plan', entries });
});

test('a question is answered, or over when its turn is', () => {
  const request = { id: 'q1', title: 'Write a', choices: [] };
  const answered = told(
    started('r1'),
    ['permission_asked', { request }],
    ['permission_answered', { answer: { request: 'q1', choice: 'reject_once' } }],
  );
  const left = told(started('r1'), ['permission_asked', { request }], ended('r1', 'cancelled'));

  assert.equal(answered.turns[0].parts[0].answer.choice, 'reject_once');
  assert.equal(left.turns[0].parts[0].isOver, true);
});

test('the end of a turn whose beginning was missed says so', () => {
  const talk = new Talk();
  talk.read([message(1, 'user', 'text', { text: 'Hello' })]);

  const turn = talk.hear('text', { text: 'rest of it' });
  talk.hear(...ended('r1'));

  assert.equal(turn.isTorn, true);
  assert.equal(turn.state, 'ended');
  assert.equal(new Talk().hear('text', { text: 'x' }), null);
});

test('what happens in the workspace is of no turn', () => {
  const talk = new Talk();
  talk.read([message(1, 'user', 'text', { text: 'Hello' })]);

  const turn = talk.hear('record.created', { id: 'x', kind: 'note' });

  assert.equal(turn, null);
  assert.equal(talk.playing, null);
  assert.equal(talk.turns[0].state, 'kept');
});

test('a reply that nobody streamed is there at the end', () => {
  assert.equal(replyOf(told(started('r1'), ended('r1', 'end_turn', 'Whole.')).turns[0]), 'Whole.');
});

test('whatever comes in whatever order, nothing is thrown and no text is lost', () => {
  const next = numbers(11);
  const kinds = ['turn_started', 'text', 'thinking', 'tool_started', 'tool_ended', 'plan', 'permission_asked', 'permission_answered'];
  kinds.push('turn_ended', 'turn_failed', 'memory_recalled', 'memory_learned', 'history_compacted', 'unknown');
  for (let round = 0; round < 300; round += 1) {
    const talk = new Talk();
    for (let step = 0; step < 40; step += 1) {
      const run = `r${next(3)}`;
      const data = { run, text: 'x', call: 'c', tool: 't', request: { id: 'q' }, answer: { request: 'q', choice: 'allow_once' }, usage };
      if (next(10) === 0) talk.say(run, 'said', null);
      else talk.hear(kinds[next(kinds.length)], data);
    }
    const runs = talk.turns.map(({ run }) => run);
    assert.equal(new Set(runs).size, runs.length);
  }
});

test('what others let wait stands behind the turn that is played, until it begins or is taken back', () => {
  const talk = told(
    started('r1'),
    ['prompt_queued', { run: 'r2', text: 'And then?', speaker: 'bob' }],
    ['prompt_queued', { run: 'r3', text: 'Hm', speaker: 'eve' }],
  );

  assert.deepEqual(
    talk.waiting.map(({ run, speaker }) => [run, speaker]),
    [
      ['r2', 'bob'],
      ['r3', 'eve'],
    ],
  );
  talk.hear('prompt_withdrawn', { run: 'r3', reason: 'withdrawn' });
  talk.hear(...ended('r1'));
  talk.hear(...started('r2', 'And then?'));
  assert.deepEqual(
    talk.turns.map(({ run, state }) => [run, state]),
    [
      ['r1', 'ended'],
      ['r2', 'running'],
    ],
  );
});

test('the queue is what the daemon says it is', () => {
  const talk = told(started('r1'), ['prompt_queued', { run: 'gone', text: 'Lost', speaker: 'bob' }]);

  talk.queue([
    { run: 'r1', text: 'r1', state: 'running', speaker: 'ana', at: null },
    { run: 'r2', text: 'Next', state: 'queued', speaker: 'bob', at: '2026-03-05T10:00:00Z' },
  ]);

  assert.deepEqual(
    talk.turns.map(({ run, state }) => [run, state]),
    [
      ['r1', 'running'],
      ['r2', 'waiting'],
    ],
  );
});

test('votes are counted at the question that they are about, and a vote that does not count is named once', () => {
  const ask = (id) => ['permission_asked', { request: { id, choices: [] } }];
  const voted = (voter, votes, needed) => ['permission_voted', { request: 'b', votes, needed, quorum: 2, voter, tallies: {} }];
  const refused = ['permission_vote_refused', { request: 'b', voter: 'eve', reason: 'designated_mismatch', choice: 'allow_once' }];
  const talk = told(started('r1'), ask('a'), ask('b'), voted('ana', 1, 1), refused, refused, [
    'permission_vote_late',
    { request: 'b', voter: 'x' },
  ]);

  const [a, b] = talk.turns[0].parts;
  assert.equal(a.count, null);
  assert.deepEqual([b.count, b.voters, b.refused.length], [{ votes: 1, needed: 1, quorum: 2 }, ['ana'], 1]);
});

test('who set the session otherwise is told where it happened', () => {
  const talk = told(started('r1'), ['mode_changed', { mode: 'plan', previous: 'default', by: 'ana' }]);

  assert.deepEqual(talk.turns[0].parts, [{ kind: 'note', type: 'mode_changed', data: { mode: 'plan', previous: 'default', by: 'ana' } }]);
});
