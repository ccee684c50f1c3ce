// The story of a run, the lines of a diff, the reasons of a recall, and what a form of an agent says.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { linesOf, mayAllow, modesFor, namesOf, serversOf } from '../../../src/commonplace/console/text/agent_profile.js';
import { patchLines, patchSize } from '../../../src/commonplace/console/text/patch.js';
import { reasonsOf } from '../../../src/commonplace/console/text/reasons.js';
import { memoryOf, runCost, stepsOf } from '../../../src/commonplace/console/text/timeline.js';

const events = [
  ['session_run_started', { model: 'small', text: 'When?', speaker: 'ana' }],
  [
    'memory_recalled',
    {
      hits: [
        { id: 'a', relevance: 0.9 },
        { id: 'b', why: 'current session' },
      ],
      block: '<memory_context>',
    },
  ],
  ['permission_asked', { request: 'q1', title: 'Write a', rule: 'write_file:*' }],
  ['permission_answered', { request: 'q1', choice: 'allow_once', voter: 'ana' }],
  ['tool_started', { call: 'c1', tool: 'write_file', title: 'Write a', arguments: {} }],
  ['tool_started', { call: 'c2', tool: 'read_file', title: 'Read a', arguments: {} }],
  ['tool_ended', { call: 'c1', tool: 'write_file', failed: false, text: 'ok' }],
  [
    'session_run_finished',
    { status: 'completed', reply: 'On Tuesdays.', model: 'small', input_tokens: 5, output_tokens: 2, cost_micro_usd: 7 },
  ],
  ['memory_learned', { memories: [{ id: 'm', text: 'M' }] }],
].map(([type, payload], index) => ({ type, payload, seq: index + 1, ts_ms: index, status: 'running' }));

test('a run is told from the question to what was learned', () => {
  const steps = stepsOf(events);

  assert.deepEqual(
    steps.map(({ kind }) => kind),
    ['question', 'hits', 'block', 'permission', 'tool', 'tool', 'reply', 'end', 'learned'],
  );
  assert.deepEqual(
    steps[1].hits.map(({ id }) => id),
    ['a'],
  );
  assert.equal(steps[3].answer.voter, 'ana');
  assert.equal(steps[4].ended.text, 'ok');
  assert.equal(steps[5].ended, null);
  assert.equal(steps[4].events.length, 2);
  assert.deepEqual(steps[7].cost, { model: 'small', input: 5, output: 2, microUsd: 7 });
});

test('what nobody knows is still told, and what came without a beginning, too', () => {
  const steps = stepsOf([
    { type: 'context.task.created', payload: {}, ts_ms: 1, status: 'queued' },
    { type: 'tool_ended', payload: { call: 'lost' }, ts_ms: 2, status: 'running' },
  ]);

  assert.deepEqual(
    steps.map(({ kind, type }) => `${kind} ${type}`),
    ['other context.task.created', 'other tool_ended'],
  );
});

test('cost and memory of a run are found, or said not to be there', () => {
  assert.equal(runCost(events).microUsd, 7);
  assert.equal(runCost([]), null);
  assert.deepEqual(memoryOf(events).hits, [{ id: 'a', relevance: 0.9 }]);
  assert.deepEqual(memoryOf([]), { hits: null, block: '', learned: null });
});

test('a line of a diff is what its first character says, once a hunk has begun', () => {
  const text = '--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n--- was a list\n+++ is one\n\\ No newline at end of file\n';

  const { lines, more } = patchLines(text);

  assert.deepEqual(
    lines.map(({ kind }) => kind),
    ['file', 'file', 'hunk', 'same', 'del', 'ins', 'note'],
  );
  assert.equal(more, 0);
  assert.deepEqual(patchSize(text), { added: 1, removed: 1 });
  assert.equal(patchLines('+a\n'.repeat(10), 4).more, 6);
});

test('the reasons of a recall are its strongest parts, in words', () => {
  assert.deepEqual(reasonsOf('words +6.48 meaning:static-256.2 +4.40 recency +0.02 (releas, go, releas_go)'), ['words', 'meaning']);
  assert.deepEqual(reasonsOf('meaning:a +1.00 words +0.50 meaning:b +1.00 copies -0.40'), ['meaning', 'words']);
  for (const why of ['always shown', 'current session', '', null, 'words', 'words +x']) assert.deepEqual(reasonsOf(why), []);
});

test('whoever is no admin may only make an agent stricter', () => {
  const profile = { approval: 'default', tools: ['grep'] };

  assert.deepEqual(modesFor(profile, false), ['plan', 'default']);
  assert.equal(modesFor(profile, true).length, 4);
  assert.equal(mayAllow(profile, 'shell', false), false);
  assert.equal(mayAllow(profile, 'grep', false), true);
  assert.equal(mayAllow({ tools: null }, 'shell', false), true);
});

test('what is typed becomes lists, and what is none is refused', () => {
  assert.deepEqual(linesOf(' /a \n\n/b'), ['/a', '/b']);
  assert.deepEqual(namesOf('a, b\nc,,'), ['a', 'b', 'c']);
  assert.deepEqual(serversOf('  '), []);
  assert.throws(() => serversOf('{"a": 1}'), TypeError);
  assert.throws(() => serversOf('[,]'), SyntaxError);
});
