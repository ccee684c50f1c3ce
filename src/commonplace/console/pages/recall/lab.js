// What is asked in the recall lab, and the way to the answers; all of it stands in the page's address.

import { post } from '../../api.js';
import { eager } from '../../dom.js';
import { isEveryone } from '../../parts/everyone.js';
import { scopesRead, scopesWritten } from '../../parts/scopes.js';
import { showError } from '../../problems.js';
import { replaceAddress } from '../../router.js';

const BELOW = 8;
export const LIMIT = 10;
const BUDGET = 2000;
export const MODES = ['hybrid', 'words', 'meaning'];

/**
 * `asked` is the question; `ask()` asks for hits and block, `turn()` for the hits alone, `fit()` for the block alone. A newer question overtakes an
 * older one. `onHits(hits, byDefault, asked)`, `onBlock(block)` and `onBusy(isBusy)` are set from outside.
 */
export function makeLab(query, signal) {
  return new Lab(query, signal);
}

class Lab {
  asked;
  onHits = () => {};
  onBlock = () => {};
  onBusy = () => {};
  ask = () => this.#when(() => Promise.all([this.#search(), this.#fetchBlock()]));
  turn = eager(() => this.#when(() => this.#search()));
  fit = eager(() => this.#when(() => this.#fetchBlock()));
  #signal;
  #byDefault = null; // { key, hits }: the hits by default weights, and for which question
  #searching = null; // the AbortController of the last search
  #fitting = null; // that of the last block

  constructor(query, signal) {
    this.#signal = signal;
    this.asked = {
      text: query.q ?? '',
      scopes: scopesRead(query.scope),
      everyone: isEveryone(query),
      mode: MODES.includes(query.mode) ? query.mode : 'hybrid',
      limit: within(query.limit, 1, 50, LIMIT),
      at: query.at ?? '',
      budget: within(query.budget, 50, 8000, BUDGET),
      weights: readWeights(query.w),
    };
  }

  #when(act) {
    // A slider's last word may come when the page was just left: it must not bring its address back.
    if (this.#signal.aborted || !location.hash.startsWith('#/recall')) return null;
    this.#keepAddress();
    if (this.asked.text.trim()) return act();
    this.#searching?.abort();
    this.#fitting?.abort();
    return this.onHits(null, null, this.asked);
  }

  #keepAddress() {
    const { text, scopes, everyone, mode, limit, at, budget, weights } = this.asked;
    replaceAddress('recall', '', {
      q: text,
      scope: scopesWritten(scopes),
      everyone: everyone ? 'true' : '',
      mode: mode === 'hybrid' ? '' : mode,
      limit: limit === LIMIT ? '' : limit,
      at,
      budget: budget === BUDGET ? '' : budget,
      w: Object.entries(weights)
        .map((pair) => pair.join('~'))
        .join(','),
    });
  }

  // ---- the hits

  async #search() {
    this.#searching?.abort();
    const mine = new AbortController();
    this.#searching = mine;
    const options = { signal: AbortSignal.any([this.#signal, mine.signal]) };
    this.onBusy(true);
    try {
      const { weights } = this.asked;
      const isTurned = Object.keys(weights).length > 0;
      const [byDefault, turned] = await Promise.all([
        this.#searchByDefault(options),
        isTurned ? post('/v1/search', this.#body(weights), options) : null,
      ]);
      if (this.#searching === mine) this.onHits(turned?.hits ?? byDefault, isTurned ? byDefault : null, this.asked);
    } catch (error) {
      showError(error);
    } finally {
      if (this.#searching === mine) this.onBusy(false);
    }
  }

  async #searchByDefault(options) {
    const body = this.#body({});
    const key = JSON.stringify(body);
    if (this.#byDefault?.key !== key) this.#byDefault = { key, hits: (await post('/v1/search', body, options)).hits };
    return this.#byDefault.hits;
  }

  #body(weights) {
    const { text, limit, mode, at } = this.asked;
    const moment = at ? new Date(at) : null;
    return {
      text,
      limit: limit + BELOW,
      mode,
      weights,
      ...this.#places(),
      ...(moment && !Number.isNaN(moment.valueOf()) ? { as_of: moment.toISOString() } : {}),
    };
  }

  /** Those that are named; else what is shared and one's own, or everyone's. */
  #places() {
    const { scopes, everyone } = this.asked;
    if (scopes.length) return { scopes };
    return everyone ? { everyone: true } : {};
  }

  // ---- the block

  async #fetchBlock() {
    this.#fitting?.abort();
    const mine = new AbortController();
    this.#fitting = mine;
    const { text, budget } = this.asked;
    const body = { query: text, budget, ...this.#places() };
    try {
      const block = await post('/v1/context', body, { signal: AbortSignal.any([this.#signal, mine.signal]) });
      if (this.#fitting === mine) this.onBlock(block);
    } catch (error) {
      showError(error);
    }
  }
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
