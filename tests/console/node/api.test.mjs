// The line to /v1/events: what arrives in pieces is whole, and a line that was lost goes on where it was.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { listen } from '../../../src/commonplace/console/api.js';

const stream = (...pieces) =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    }),
  );

/** What is heard over these answers, one a connection, and the Last-Event-ID of each. */
async function heardOver(t, ...answers) {
  const events = [];
  const resumed = [];
  const paths = [];
  const ending = new AbortController();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(globalThis, 'fetch', async (path, { headers }) => {
    paths.push(path);
    resumed.push(headers['Last-Event-ID'] ?? null);
    const answer = answers.shift();
    if (answer) return answer;
    ending.abort();
    throw Object.assign(new Error('over'), { name: 'AbortError' });
  });
  const states = [];
  const onState = (state) => {
    states.push(state);
    if (state === 'waiting') queueMicrotask(() => t.mock.timers.tick(60_000));
  };
  const onEvent = ({ id, type, data }) => events.push([id, type, data]);
  await listen({ path: '/v1/sessions/s/events', last: null, onEvent, onState, signal: ending.signal });
  return { events, resumed, paths, states };
}

test('an event that arrives in pieces is heard once and whole', async (t) => {
  const frames = 'id: 7\nevent: record.created\ndata: {"id":"a"}\n\nid: 8\nevent: record.deleted\ndata: {"id":"b"}\n\n';
  for (let at = 1; at < frames.length; at += 5) {
    const { events } = await heardOver(t, stream(frames.slice(0, at), frames.slice(at)));
    assert.deepEqual(events, [
      ['7', 'record.created', { id: 'a' }],
      ['8', 'record.deleted', { id: 'b' }],
    ]);
    t.mock.reset();
  }
});

test('a line that was lost goes on after the last event that was heard', async (t) => {
  const { events, resumed } = await heardOver(
    t,
    stream('id: 7\nevent: record.created\ndata: {}\n\n'),
    stream(': heartbeat\n\n'),
    stream('id: 9\nevent: record.deleted\ndata: {}\n\n'),
  );

  assert.deepEqual(resumed, [null, '7', '7', '9']);
  assert.deepEqual(
    events.map(([id]) => id),
    ['7', '9'],
  );
});

test('a line names the epoch that the last one had, so that ids of a daemon before mean nothing', async (t) => {
  const answer = stream('id: 7\nevent: text\ndata: {}\n\n');
  answer.headers.set('X-Commonplace-Epoch', 'first');

  const { paths } = await heardOver(t, answer);

  assert.deepEqual(paths, ['/v1/sessions/s/events', '/v1/sessions/s/events?epoch=first']);
});

test('what is gone is not asked for again', async (t) => {
  const { paths, states } = await heardOver(t, new Response('', { status: 404 }));

  assert.equal(paths.length, 1);
  assert.deepEqual(states, ['gone']);
});
