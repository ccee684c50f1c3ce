// The runs there are, newest first, with what became of them and what they cost.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { usd } from '../../parts/money.js';
import { time } from '../../parts/badge.js';
import { errorNotice } from '../../problems.js';
import { address, replaceAddress } from '../../router.js';
import { runCost } from '../../text/timeline.js';
import { named, number, t } from '../../words.js';

const PAGE = 50;
const STATUSES = ['running', 'awaiting_approval', 'completed', 'failed', 'cancelled', 'queued', 'planning', 'paused', 'blocked'];
const TAIL = 4; // events at the end of a run among which its cost stands

export const status = (value) => h('span', { class: `badge run-${value}` }, named('runs.status', value));
export const runPath = (id, more = '') => `/v1/runs/${encodeURIComponent(id)}${more}`;
export const iso = (ms) => (ms ? new Date(ms).toISOString() : null);

export async function listOf(place, asked, signal) {
  const list = new RunList(asked, signal);
  fill(place, h('div', { class: 'filters' }, list.choice, list.session), list.element, list.more);
  await list.load();
}

class RunList {
  element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  more = h('button', { type: 'button', hidden: true, on: { click: () => this.#load() } }, t('frame.more'));
  choice;
  session;
  #asked;
  #signal;
  #cursor = null;
  #runs = [];
  #seen;
  #cells = new Map(); // the cell of a cost -> its run

  constructor({ status: wanted = '', session = '' }, signal) {
    this.#signal = signal;
    this.#asked = { status: STATUSES.includes(wanted) ? wanted : '', session };
    this.choice = h(
      'select',
      { 'aria-label': t('runs.status'), 'value': this.#asked.status, 'on': { change: () => this.#choose() } },
      h('option', { value: '' }, t('runs.status.all')),
      STATUSES.map((value) => h('option', { value }, t(`runs.status.${value}`))),
    );
    this.session =
      session &&
      h(
        'span',
        { class: 'chip' },
        t('runs.of-session'),
        ' ',
        h('a', { href: address('sessions', session), class: 'mono' }, plain(session, 60)),
      );
    this.#seen = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && this.#showCost(entry.target)));
    signal.addEventListener('abort', () => this.#seen.disconnect());
  }

  load() {
    this.#cursor = null;
    this.#runs = [];
    return this.#load();
  }

  #choose() {
    this.#asked.status = this.choice.value;
    replaceAddress('runs', '', this.#asked);
    this.load();
  }

  async #load() {
    try {
      const page = await get('/v1/runs', { ...this.#asked, limit: PAGE, cursor: this.#cursor }, { signal: this.#signal });
      this.#cursor = page.cursor;
      this.#runs = [...this.#runs, ...page.runs];
      this.#paint();
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.element, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
    }
  }

  #paint() {
    this.more.hidden = this.#cursor === null;
    const heads = ['objective', 'status', 'model', 'cost', 'when'];
    fill(
      this.element,
      this.#runs.length
        ? h(
            'div',
            { 'class': 'scroll-x', 'tabindex': '0', 'role': 'region', 'aria-label': t('frame.runs') },
            h(
              'table',
              { class: 'run-table' },
              h(
                'thead',
                {},
                h(
                  'tr',
                  {},
                  heads.map((name) => h('th', { scope: 'col' }, t(`runs.${name}`))),
                ),
              ),
              h(
                'tbody',
                {},
                this.#runs.map((run) => this.#row(run)),
              ),
            ),
          )
        : h('p', { class: 'notice' }, t(this.#asked.status || this.#asked.session ? 'runs.none-such' : 'runs.none')),
    );
  }

  #row(run) {
    const model = h('td', { class: 'soft' }, run.model_id ?? '–');
    const cost = h('td', { class: 'amount soft' }, '…');
    this.#cells.set(cost, { run, model });
    this.#seen.observe(cost);
    return h(
      'tr',
      {},
      h(
        'td',
        { class: 'run-objective' },
        h('a', { class: 'clamp', href: address('runs', run.run_id) }, plain(run.objective || run.run_id, 200)),
      ),
      h('td', {}, status(run.status)),
      model,
      cost,
      h('td', { class: 'soft' }, time(iso(run.created_at_ms))),
    );
  }

  /** What a run cost is said by one of its last events. */
  async #showCost(cell) {
    this.#seen.unobserve(cell);
    const { run, model } = this.#cells.get(cell);
    try {
      const after = Math.max(0, run.last_event_seq - TAIL);
      const { events } = await get(runPath(run.run_id, '/events'), { after, limit: TAIL }, { signal: this.#signal });
      const spent = runCost(events);
      fill(cell, spent ? costShown(spent) : '–');
      if (spent) fill(model, plain(spent.model, 60));
    } catch (error) {
      if (error.name !== 'AbortError') fill(cell, '–');
    }
  }
}

/** Nothing is free of charge unless somebody says so: tokens stand where no price does. */
export function costShown({ microUsd, input, output }) {
  if (microUsd) return usd(microUsd / 1_000_000);
  return input + output ? t('runs.tokens', { count: number(input + output) }) : usd(0);
}
