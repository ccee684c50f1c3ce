// What the memory page looks at: out of the address and back into it, and as the server is asked.

import assert from 'node:assert/strict';
import { test } from 'node:test';

// Days of 23 and of 25 hours.
process.env.TZ = 'America/New_York';

const { asAddress, asCounting, asListing, asSearch, cleared, isNarrowed, viewOf } =
  await import('../../../src/commonplace/console/pages/memory/view.js');

test('an address without filters is the usual view, and the usual view an empty address', () => {
  const view = viewOf('', {});

  assert.equal(view.state, 'live');
  assert.equal(view.order, 'pinned');
  assert.deepEqual(asAddress(view), {});
  assert.equal(isNarrowed(view), false);
});

test('what is not as usual goes into the address and comes back out of it', () => {
  const query = {
    q: '发布 <b>',
    kind: 'fact',
    source: 'auto',
    pinned: 'true',
    state: 'demoted',
    order: 'newest',
    since: '2024-03-10',
    tag: '😀',
  };
  const view = viewOf('workspace:web', query);

  assert.deepEqual(asAddress(view), query);
  assert.deepEqual(viewOf('workspace:web', asAddress(view)), view);
  assert.equal(isNarrowed(view), true);
});

test("everyone's memory stands in the address, is asked for unless a scope is named, and outlives the filters", () => {
  const view = viewOf('', { everyone: 'true', q: 'redis' });

  assert.deepEqual(asAddress(view), { q: 'redis', everyone: 'true' });
  assert.equal(asListing(view).everyone, 'true');
  assert.equal(asCounting(view).everyone, 'true');
  assert.equal(asSearch(view, 9).everyone, true);
  assert.equal(isNarrowed(viewOf('', { everyone: 'true' })), false);
  const named = { ...view, scope: 'workspace:web' };
  assert.equal(asListing(named).everyone, '');
  assert.equal('everyone' in asSearch(named, 9), false);
  cleared(view);
  assert.deepEqual(asAddress(view), { everyone: 'true' });
});

test('what an address must not say is as usual', () => {
  const view = viewOf('', { state: 'stolen', order: 'random', since: 'yesterday', until: '2024-1-1', unheard: 'of' });

  assert.deepEqual(view, viewOf('', {}));
});

test('a session is listed in its order unless the address names another', () => {
  assert.equal(viewOf('', { session: 's1' }).order, 'position');
  assert.equal(viewOf('', { session: 's1', order: 'newest' }).order, 'newest');
});

test('a day is a day where the person is, and the last one counts', () => {
  const { since, until } = asListing(viewOf('', { since: '2024-03-10', until: '2024-03-10' }));

  assert.equal(since, '2024-03-10T05:00:00.000Z');
  assert.equal(until, '2024-03-11T04:00:00.000Z');
  assert.equal(asListing(viewOf('', { until: '2024-11-03' })).until, '2024-11-04T05:00:00.000Z');
});

test('without days the server is asked for no time', () => {
  const { since, until } = asListing(viewOf('', {}));

  assert.deepEqual([since, until], [null, null]);
});

test('a search asks for lists of what is chosen, and for nothing that is not', () => {
  const body = asSearch(viewOf('user:ana', { q: 'tea', kind: 'fact', pinned: 'true' }), 50);

  assert.deepEqual(body, {
    text: 'tea',
    scopes: ['user:ana'],
    kinds: ['fact'],
    sources: [],
    sessions: [],
    tags: [],
    pinned: true,
    limit: 50,
    explain: false,
    since: null,
    until: null,
  });
  assert.equal(asSearch(viewOf('', { q: 'tea' }), 50).scopes, null);
});

test('counts leave kind and source open, so that each choice can be counted', () => {
  const query = asCounting(viewOf('', { kind: 'fact', source: 'auto', tag: 'x' }));

  assert.deepEqual(query.by, ['source', 'kind']);
  assert.equal(query.tag, 'x');
  assert.ok(['kind', 'source', 'order'].every((name) => !(name in query)));
});

test('clearing takes every filter away but the scope', () => {
  const view = viewOf('user:ana', { q: 'tea', kind: 'fact', state: 'deleted' });
  cleared(view);

  assert.equal(view.scope, 'user:ana');
  assert.equal(isNarrowed(view), false);
});
