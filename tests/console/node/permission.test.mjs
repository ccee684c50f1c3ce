// Who may decide a request, and until when.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { countdown, policyOf, secondsLeft, standing, waitingFor } from '../../../src/commonplace/console/text/permission.js';

const ana = { subject: 'ana', mayWrite: true };
const request = (policy, more = {}) => ({ id: 'p', terms: { policy, speaker: 'bob', voters: [], quorum: 1, expires_at: null, ...more } });

test('whoever asked decides alone, and others may cancel', () => {
  const designated = request('designated', { voters: ['bob'] });

  assert.deepEqual(standing(designated, { subject: 'bob', mayWrite: true }), { decide: true, cancel: false });
  assert.deepEqual(standing(designated, ana), { decide: false, cancel: true });
  assert.deepEqual(policyOf(designated, 'ana'), { name: 'designated', values: { speaker: 'bob' } });
  assert.equal(policyOf(designated, 'bob'), null);
});

test('of a consensus those who were there decide, of the other policies everybody who writes', () => {
  const consensus = request('consensus', { voters: ['ana', 'bob', 'eve'], quorum: 2 });

  assert.deepEqual(standing(consensus, ana), { decide: true, cancel: true });
  assert.deepEqual(standing(consensus, { subject: 'late', mayWrite: true }), { decide: false, cancel: true });
  assert.deepEqual(standing(request('first-responder'), ana), { decide: true, cancel: true });
  assert.deepEqual(policyOf(consensus, 'ana', 'you').values, { quorum: 2, count: 3, voters: 'you, bob, eve' });
  assert.equal(policyOf(request('consensus', { voters: ['ana'] }), 'ana', 'you'), null);
  assert.equal(policyOf(request('local-only'), 'ana').name, 'local-only');
});

test('a reader decides nothing, and a request without terms is anybody’s', () => {
  assert.deepEqual(standing(request('first-responder'), { subject: 'rex', mayWrite: false }), { decide: false, cancel: false });
  assert.equal(standing({ id: 'p' }, ana).decide, true);
  assert.equal(policyOf({ id: 'p' }, 'ana'), null);
});

test('the seconds that are left run out, and never below nothing', () => {
  const asked = request('designated', { expires_at: '2026-03-05T10:05:00Z' });

  assert.equal(secondsLeft(asked, Date.parse('2026-03-05T10:00:55.200Z')), 245);
  assert.equal(secondsLeft(asked, Date.parse('2026-03-05T11:00:00Z')), 0);
  assert.equal(secondsLeft(request('designated'), 0), null);
  assert.equal(countdown(245), '4:05');
});

test('of all that is asked only what this person may decide waits for them', () => {
  const sessions = [
    { permissions: [request('designated', { voters: ['bob'] }), request('first-responder')] },
    { permissions: [] },
    { permissions: [request('consensus', { voters: ['ana', 'bob'] })] },
  ];

  assert.deepEqual(
    waitingFor(sessions, ana).map(({ terms }) => terms.policy),
    ['first-responder', 'consensus'],
  );
});
