// Earlier imports: what became of each, and what can still be done with it.

import { get, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { may } from '../../session.js';
import { named, number, t } from '../../words.js';
import { isOver, kindsOf, listed, reviewLink, whyWithheld } from './outcome.js';

export function makePast(signal) {
  const list = h('div', { class: 'past' }, h('p', { class: 'soft' }, t('frame.loading')));
  const element = h('section', { 'aria-label': t('import.past') }, h('h2', {}, t('import.past')), list);
  let timer;
  let drawn = '';
  let run = 0;
  signal.addEventListener('abort', () => clearTimeout(timer));

  async function reload() {
    clearTimeout(timer);
    const mine = ++run;
    try {
      const { tasks } = await get('/v1/tasks', { kind: 'import', limit: 50 }, { signal });
      if (mine !== run) return;
      // Rows that did not change are left alone: somebody may be in the middle of one.
      const now = JSON.stringify(tasks);
      if (now !== drawn) fill(list, tasks.length ? table(tasks, reload) : h('p', { class: 'soft' }, t('import.past.none')));
      drawn = now;
      if (tasks.some((task) => !isOver(task))) timer = setTimeout(reload, 1000);
    } catch (error) {
      showError(error);
    }
  }
  return { element, reload };
}

function table(tasks, reload) {
  const columns = ['when', 'scope', 'state', 'result', 'actions'];
  return h(
    'div',
    { class: 'scroll-x' },
    h(
      'table',
      { class: 'imports' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((one) => h('th', { scope: 'col' }, t(`import.column.${one}`))),
        ),
      ),
      h(
        'tbody',
        {},
        tasks.map((task) =>
          h(
            'tr',
            { data: { id: task.id } },
            h('td', {}, time(task.created_at), h('div', { class: 'soft small' }, task.created_by)),
            h('td', { class: 'mono' }, task.scope ?? '–'),
            h('td', {}, h('span', { class: `badge task-${task.state}` }, named('import.state', task.state))),
            h('td', {}, outcomeOf(task)),
            h('td', {}, actions(task, reload)),
          ),
        ),
      ),
    ),
  );
}

function outcomeOf(task) {
  if (task.state === 'failed' || task.error) return h('span', { class: 'problem' }, plain(task.error?.message ?? '', 300));
  if (!task.result) return task.total ? t('import.reading', { done: number(task.done), total: number(task.total) }) : t('import.waiting');
  const {
    indexed_files: indexed = 0,
    skipped_files: unchanged = 0,
    problems = [],
    left_out: links = [],
    kept_edits: edits = [],
    skipped_kinds: kinds = {},
    errors = problems.length,
    quarantined = 0,
    withheld = [],
    warned = [],
  } = task.result;
  const left = errors + links.length;
  return [
    t('import.summary', { indexed: number(indexed), unchanged: number(unchanged), problems: number(left) }),
    listed(t('import.left', left), [...problems, ...links]),
    listed(t('import.edits', edits.length), edits),
    listed(t('import.withheld', quarantined), withheld.map(whyWithheld)),
    reviewLink(quarantined),
    listed(t('import.warned', warned.length), warned),
    kindsOf(kinds),
  ];
}

function actions(task, reload) {
  const act = (call, said) => async (event) => {
    event.target.disabled = true;
    try {
      await call();
      toast(said);
    } catch (error) {
      showError(error);
    }
    await reload();
    event.target.disabled = false;
  };
  if (!may('writer')) return null;
  const again = act(() => post(`/v1/tasks/${task.id}/retry`), t('import.retried'));
  const forget = act(() => remove(`/v1/tasks/${task.id}`), t('import.dropped'));
  return h(
    'div',
    { class: 'row' },
    task.state === 'failed' && h('button', { type: 'button', on: { click: again } }, t('frame.retry')),
    task.state !== 'running' && h('button', { type: 'button', class: 'quiet', on: { click: forget } }, t('import.drop-task')),
  );
}
