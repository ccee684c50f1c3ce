// The lanes: what waits, what runs, what failed for good and what was done, and a box for each thing to ask for.

import { Problem, get, listen, post, remove } from '../../api.js';
import { fill, h, later } from '../../dom.js';
import { confirm } from '../../parts/dialog.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { may } from '../../session.js';
import { number, t } from '../../words.js';
import { boxes } from './boxes.js';
import { row } from './task.js';

const KINDS = ['remember', 'forget', 'dream', 'extract'];
const STATES = ['queued', 'running', 'failed', 'done'];
const MOST = { open: 200, done: 50 };
const EVERY = 2_000;

export async function lanes(place, { query, signal, settle, managed }) {
  const tab = new LanesTab({ kind: KINDS.includes(query.lane) ? query.lane : '', signal, settle });
  fill(place, tab.elements);
  tab.watch();
  await Promise.all([
    tab.load(),
    managed()
      .then((isOn) => tab.offer(isOn))
      .catch(showError),
  ]);
}

class LanesTab {
  #signal;
  #settle;
  #kind; // the lane that is shown; '': all
  #tasks = [];
  #rows = new Map(); // id -> { text, node }: the row of each task, and what it was made from
  #timer = 0;
  #request = null; // the AbortController of the last load
  #boxes;
  #loadSoon = later(() => this.#signal.aborted || this.load(), 60);
  #overview = h('div', { class: 'scroll-x' });
  #invitation = h('div');
  #offline = h('p', { class: 'warn small', role: 'status', hidden: true }, t('learning.line.lost'));
  #sections = Object.fromEntries(['active', 'failed', 'done'].map((name) => [name, section(name)]));

  constructor({ kind, signal, settle }) {
    this.#kind = kind;
    this.#signal = signal;
    this.#settle = settle;
    this.#boxes = boxes({ signal, refresh: () => this.#loadSoon() });
    this.#paintCounts();
  }

  get elements() {
    const { failed, active, done } = this.#sections;
    const queue = h('h2', { id: 'learning-queue' }, t('learning.queue'));
    return [
      this.#invitation,
      this.#offline,
      h('section', { 'class': 'card', 'aria-labelledby': 'learning-queue' }, queue, this.#overview),
      failed.element,
      active.element,
      done.element,
    ];
  }

  /** Load again when the server says that a job changed, until the page is left. */
  watch() {
    this.#signal.addEventListener('abort', () => {
      clearTimeout(this.#timer);
      this.#request?.abort();
    });
    listen({
      query: { type: 'job.*' },
      signal: this.#signal,
      onEvent: ({ type }) => type.startsWith('job.') && this.#loadSoon(),
      onState: (state) => {
        this.#offline.hidden = state === 'open';
      },
    });
  }

  /** The boxes to ask for something, if managed memory is on and this person may write. */
  offer(isOn) {
    fill(this.#invitation, invitation(isOn, this.#boxes.element));
  }

  async load() {
    this.#request?.abort();
    this.#request = new AbortController();
    const { signal } = this.#request;
    clearTimeout(this.#timer);
    try {
      const [open, done] = await Promise.all([
        get('/v1/tasks', { kind: KINDS, state: ['queued', 'running', 'failed'], limit: MOST.open }, { signal }),
        get('/v1/tasks', { kind: KINDS, state: 'done', limit: MOST.done }, { signal }),
      ]);
      this.#tasks = [...open.tasks, ...done.tasks];
    } catch (error) {
      showError(error);
      return;
    }
    if (this.#signal.aborted) return;
    this.#paint();
    this.#boxes.update(this.#tasks);
    // No event says how far a task is or how long it waits: while something goes on, the page has to look.
    if (this.#tasks.some(isActive)) this.#timer = setTimeout(() => this.load(), EVERY);
  }

  // ---- painting

  #paint() {
    this.#paintCounts();
    const tasks = this.#tasks.filter(({ kind }) => !this.#kind || kind === this.#kind);
    this.#paintSection('active', tasks.filter(isActive).reverse());
    this.#paintSection('failed', tasks.filter(isFailed));
    this.#paintSection(
      'done',
      tasks.filter(({ state }) => state === 'done'),
    );
    for (const id of this.#rows.keys()) if (!this.#tasks.some((task) => task.id === id)) this.#rows.delete(id);
  }

  #paintCounts() {
    const { activeElement } = document;
    const focused = this.#overview.contains(activeElement) ? activeElement.dataset.lane : null;
    const choose = (kind) => {
      this.#kind = kind;
      this.#settle({ lane: kind });
      this.#paint();
    };
    fill(this.#overview, counted(this.#tasks, this.#kind, choose));
    if (focused !== null) this.#overview.querySelector(`[data-lane="${focused}"]`)?.focus();
  }

  /** What did not change stays the element it was: whoever has the focus there keeps it. */
  #paintSection(name, tasks) {
    const { list, none, buttons } = this.#sections[name];
    const rows = tasks.map((task) => this.#row(task));
    none.hidden = rows.length > 0 && name !== 'failed';
    fill(none, rows.length ? t('learning.failed.lead') : t(`learning.${name}.none`));
    if (name === 'failed' && Boolean(buttons.childElementCount) !== tasks.length > 1)
      fill(buttons, tasks.length > 1 && may('writer') ? this.#buttonsForAll() : null);
    if (rows.length === list.childNodes.length && rows.every((node, index) => node === list.childNodes[index])) return;
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    fill(list, rows);
    if (focused) (focused.isConnected ? focused : list).focus();
  }

  #row(task) {
    const text = JSON.stringify(task);
    const before = this.#rows.get(task.id);
    if (before?.text === text) return before.node;
    const node = row(task, { retry: () => this.#act([task], 'retry'), drop: () => this.#act([task], 'drop') });
    this.#rows.set(task.id, { text, node });
    return node;
  }

  // ---- what can be done with those that failed

  get #failed() {
    return this.#tasks.filter((task) => isFailed(task) && (!this.#kind || task.kind === this.#kind));
  }

  #buttonsForAll() {
    return [
      h('button', { type: 'button', on: { click: () => this.#act(this.#failed, 'retry') } }, t('learning.retry.all')),
      h('button', { type: 'button', class: 'danger', on: { click: () => this.#dropAll() } }, t('learning.drop.all')),
    ];
  }

  async #dropAll() {
    const tasks = this.#failed;
    const isSure = await confirm(t('learning.drop.all.title', tasks.length), t('learning.drop.all.text'), {
      label: t('learning.drop.all'),
      danger: true,
    });
    if (isSure) await this.#act(tasks, 'drop');
  }

  async #act(tasks, action) {
    const problems = [];
    for (const { id } of tasks) {
      const path = `/v1/tasks/${encodeURIComponent(id)}`;
      try {
        await (action === 'retry' ? post(`${path}/retry`) : remove(path));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        problems.push(error);
      }
    }
    const count = tasks.length - problems.length;
    if (count) toast(t(`learning.${action}.done`, count));
    if (problems.length === 1 && tasks.length === 1) showError(problems[0]);
    else if (problems.length) toast(t('learning.some-failed', problems.length, problems[0].message), { kind: 'problem' });
    await this.load();
  }
}

const isActive = ({ state }) => state === 'queued' || state === 'running';
const isFailed = ({ state }) => state === 'failed';

function section(name) {
  const list = h('ul', { 'class': 'learning-tasks', 'aria-label': t(`learning.${name}`), 'tabindex': '-1' });
  const none = h('p', { class: 'soft' }, t('frame.loading'));
  const buttons = h('div', { class: 'row' });
  const element = h(
    'section',
    { 'aria-labelledby': `learning-${name}` },
    h('div', { class: 'learning-head' }, h('h2', { id: `learning-${name}` }, t(`learning.${name}`)), buttons),
    none,
    list,
  );
  return { element, list, none, buttons };
}

function invitation(on, element) {
  if (!on) return h('p', { class: 'notice' }, t('learning.off'));
  return may('writer') ? element : h('p', { class: 'notice' }, t('learning.may-not'));
}

/** How many of each lane are in which state. */
function counted(tasks, only, choose) {
  const count = (kind, state) => tasks.filter((one) => (!kind || one.kind === kind) && one.state === state).length;
  const cell = (kind, state) => {
    const n = count(kind, state);
    const most = state === 'done' && count('', 'done') >= MOST.done;
    return h('td', { class: n && state === 'failed' ? 'problem' : n ? '' : 'soft' }, number(n), most && n ? '+' : '');
  };
  const name = (kind) => t(kind ? `learning.${kind}` : 'learning.all');
  return h(
    'table',
    { class: 'learning-counts' },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, t('learning.lane')),
        STATES.map((state) => h('th', { scope: 'col' }, t(`learning.state.${state}`))),
      ),
    ),
    h(
      'tbody',
      {},
      ['', ...KINDS].map((kind) =>
        h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row' },
            h(
              'button',
              {
                'type': 'button',
                'class': 'quiet',
                'aria-pressed': String(only === kind),
                'data': { lane: kind },
                'on': { click: () => choose(kind) },
              },
              name(kind),
            ),
          ),
          STATES.map((state) => cell(kind, state)),
        ),
      ),
    ),
  );
}
