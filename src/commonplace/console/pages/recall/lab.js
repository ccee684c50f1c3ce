// What is asked in the recall lab, and the way to the answers; all of it stands in the page's address.

import { post } from '../../api.js';
import { eager } from '../../dom.js';
import { scopesRead, scopesWritten } from '../../parts/scopes.js';
import { showError } from '../../problems.js';
import { replaceAddress } from '../../router.js';

const BELOW = 8;
export const LIMIT = 10;
const BUDGET = 2000;
export const MODES = ['hybrid', 'words', 'meaning'];

/** What is asked, and the way to the answers. A newer question overtakes an older one. */
export function makeLab(query, signal) {
  const asked = {
    text: query.q ?? '',
    scopes: scopesRead(query.scope),
    mode: MODES.includes(query.mode) ? query.mode : 'hybrid',
    limit: within(query.limit, 1, 50, LIMIT),
    at: query.at ?? '',
    budget: within(query.budget, 50, 8000, BUDGET),
    weights: readWeights(query.w),
  };
  const lab = { asked, onHits: () => {}, onBlock: () => {}, onBusy: () => {} };
  let plainly = null; // the hits by default weights, and for which question
  let running = null;
  let fitting = null;

  function body(weights) {
    const moment = asked.at ? new Date(asked.at) : null;
    return {
      text: asked.text,
      limit: asked.limit + BELOW,
      mode: asked.mode,
      weights,
      ...(asked.scopes.length ? { scopes: asked.scopes } : {}),
      ...(moment && !Number.isNaN(moment.valueOf()) ? { as_of: moment.toISOString() } : {}),
    };
  }

  async function byDefault(more) {
    const key = JSON.stringify(body({}));
    if (plainly?.key !== key) plainly = { key, hits: (await post('/v1/search', body({}), more)).hits };
    return plainly.hits;
  }

  async function hits() {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    const more = { signal: AbortSignal.any([signal, mine.signal]) };
    lab.onBusy(true);
    try {
      const turned = Object.keys(asked.weights).length > 0;
      const [before, now] = await Promise.all([byDefault(more), turned ? post('/v1/search', body(asked.weights), more) : null]);
      if (running === mine) lab.onHits(now?.hits ?? before, turned ? before : null, asked);
    } catch (error) {
      showError(error);
    } finally {
      if (running === mine) lab.onBusy(false);
    }
  }

  async function block() {
    fitting?.abort();
    const mine = new AbortController();
    fitting = mine;
    const wanted = { query: asked.text, budget: asked.budget, ...(asked.scopes.length ? { scopes: asked.scopes } : {}) };
    try {
      const answer = await post('/v1/context', wanted, { signal: AbortSignal.any([signal, mine.signal]) });
      if (fitting === mine) lab.onBlock(answer);
    } catch (error) {
      showError(error);
    }
  }

  const kept = () =>
    replaceAddress('recall', '', {
      q: asked.text,
      scope: scopesWritten(asked.scopes),
      mode: asked.mode === 'hybrid' ? '' : asked.mode,
      limit: asked.limit === LIMIT ? '' : asked.limit,
      at: asked.at,
      budget: asked.budget === BUDGET ? '' : asked.budget,
      w: Object.entries(asked.weights)
        .map((pair) => pair.join('~'))
        .join(','),
    });
  const when = (act) => () => {
    // A slider's last word may come when the page was just left: it must not bring its address back.
    if (signal.aborted || !location.hash.startsWith('#/recall')) return null;
    kept();
    if (asked.text.trim()) return act();
    for (const one of [running, fitting]) one?.abort();
    return lab.onHits(null, null, asked);
  };
  lab.ask = when(() => Promise.all([hits(), block()]));
  lab.turn = eager(when(hits));
  lab.fit = eager(when(block));
  return lab;
}

export function within(text, low, high, otherwise) {
  const value = Number.parseInt(text, 10);
  return Number.isNaN(value) ? otherwise : Math.min(high, Math.max(low, value));
}

function readWeights(text = '') {
  const pairs = text
    .split(',')
    .map((one) => one.split('~'))
    .map(([name, value]) => [name, Number(value)]);
  return Object.fromEntries(pairs.filter(([name, value]) => name && Number.isFinite(value)));
}
