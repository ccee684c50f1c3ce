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
  let only = KINDS.includes(query.lane) ? query.lane : '';
  let tasks = [];
  let timer = 0;
  let asked = null;
  const nodes = new Map();
  const overview = h('div', { class: 'scroll-x' });
  const asking = h('div');
  const line = h('p', { class: 'warn small', role: 'status', hidden: true }, t('learning.line.lost'));
  const lists = Object.fromEntries(['active', 'failed', 'done'].map((name) => [name, section(name)]));
  const watched = boxes({ signal, refresh: () => soon() });

  function section(name) {
    const list = h('ul', { 'class': 'learning-tasks', 'aria-label': t(`learning.${name}`), 'tabindex': '-1' });
    const none = h('p', { class: 'soft' }, t('frame.loading'));
    const deeds = h('div', { class: 'row' });
    const element = h(
      'section',
      { 'aria-labelledby': `learning-${name}` },
      h('div', { class: 'learning-head' }, h('h2', { id: `learning-${name}` }, t(`learning.${name}`)), deeds),
      none,
      list,
    );
    return { element, list, none, deeds };
  }

  async function load() {
    asked?.abort();
    asked = new AbortController();
    const mine = asked;
    clearTimeout(timer);
    try {
      const [pending, done] = await Promise.all([
        get('/v1/tasks', { kind: KINDS, state: ['queued', 'running', 'failed'], limit: MOST.open }, { signal: mine.signal }),
        get('/v1/tasks', { kind: KINDS, state: 'done', limit: MOST.done }, { signal: mine.signal }),
      ]);
      tasks = [...pending.tasks, ...done.tasks];
    } catch (error) {
      if (error.name !== 'AbortError') showError(error);
      return;
    }
    if (signal.aborted) return;
    paint();
    watched.tell(tasks);
    // Progress and pauses are told by nobody: while something goes on, whoever watches has to look.
    if (tasks.some((one) => one.state === 'queued' || one.state === 'running')) timer = setTimeout(load, EVERY);
  }
  const soon = later(() => signal.aborted || load(), 60);

  function paint() {
    const focused = overview.contains(document.activeElement) ? document.activeElement.dataset.lane : null;
    fill(overview, counted(tasks, only, choose));
    if (focused !== null) overview.querySelector(`[data-lane="${focused}"]`)?.focus();
    const shown = tasks.filter((one) => !only || one.kind === only);
    arrange('active', shown.filter((one) => one.state === 'queued' || one.state === 'running').reverse());
    arrange(
      'failed',
      shown.filter((one) => one.state === 'failed'),
    );
    arrange(
      'done',
      shown.filter((one) => one.state === 'done'),
    );
    for (const id of nodes.keys()) if (!tasks.some((one) => one.id === id)) nodes.delete(id);
  }

  /** What did not change stays the element it was: whoever has the focus there keeps it. */
  function arrange(name, wanted) {
    const { list, none, deeds } = lists[name];
    const made = wanted.map(kept);
    none.hidden = made.length > 0 && name !== 'failed';
    fill(none, made.length ? t('learning.failed.lead') : t(`learning.${name}.none`));
    if (name === 'failed' && Boolean(deeds.childElementCount) !== wanted.length > 1)
      fill(deeds, wanted.length > 1 && may('writer') ? all() : null);
    if (made.length === list.childNodes.length && made.every((one, index) => one === list.childNodes[index])) return;
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    fill(list, made);
    if (focused) (focused.isConnected ? focused : list).focus();
  }

  function kept(task) {
    const written = JSON.stringify(task);
    const held = nodes.get(task.id);
    if (held?.written === written) return held.node;
    const node = row(task, { retry: () => act([task], 'retry'), drop: () => act([task], 'drop') });
    nodes.set(task.id, { written, node });
    return node;
  }

  const failed = () => tasks.filter((one) => one.state === 'failed' && (!only || one.kind === only));
  const all = () => [
    h('button', { type: 'button', on: { click: () => act(failed(), 'retry') } }, t('learning.retry.all')),
    h('button', { type: 'button', class: 'danger', on: { click: dropAll } }, t('learning.drop.all')),
  ];

  async function dropAll() {
    const some = failed();
    const sure = await confirm(t('learning.drop.all.title', some.length), t('learning.drop.all.text'), {
      label: t('learning.drop.all'),
      danger: true,
    });
    if (sure) await act(some, 'drop');
  }

  async function act(some, deed) {
    const problems = [];
    let done = 0;
    for (const task of some) {
      try {
        if (deed === 'retry') await post(`/v1/tasks/${encodeURIComponent(task.id)}/retry`);
        else await remove(`/v1/tasks/${encodeURIComponent(task.id)}`);
        done += 1;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        problems.push(error);
      }
    }
    if (done) toast(t(`learning.${deed}.done`, done));
    if (problems.length === 1 && some.length === 1) showError(problems[0]);
    else if (problems.length) toast(t('learning.some-failed', problems.length, problems[0].message), { kind: 'problem' });
    await load();
  }

  function choose(kind) {
    only = kind;
    settle({ lane: only });
    paint();
  }

  fill(
    place,
    asking,
    line,
    h(
      'section',
      { 'class': 'card', 'aria-labelledby': 'learning-queue' },
      h('h2', { id: 'learning-queue' }, t('learning.queue')),
      overview,
    ),
    lists.failed.element,
    lists.active.element,
    lists.done.element,
  );
  fill(overview, counted([], only, choose));
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    asked?.abort();
  });
  listen({
    query: { type: 'job.*' },
    signal,
    onEvent: (event) => event.type.startsWith('job.') && soon(),
    onState: (now) => {
      line.hidden = now === 'open';
    },
  });
  await Promise.all([
    load(),
    managed()
      .then((on) => fill(asking, invitation(on, watched.element)))
      .catch(showError),
  ]);
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
