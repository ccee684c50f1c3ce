// Work that goes on after the request that asked for it: what runs and waits, and what ended last.

import { get } from '../../api.js';
import { fill, h, paced, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { errorMessage, showError } from '../../problems.js';
import { named, number, t } from '../../words.js';

const DOTS = { queued: '', running: 'warn', done: 'good', failed: 'problem' };

export function tasks(signal) {
  const element = h('div', { 'aria-live': 'polite' }, h('p', { class: 'soft' }, t('frame.loading')));

  let run = 0;

  async function load() {
    const mine = ++run;
    try {
      const { tasks: found } = await get('/v1/tasks', { limit: 12 }, { signal });
      if (mine !== run) return;
      fill(element, found.length ? found.map(row) : h('p', { class: 'soft' }, t('live.tasks.none')));
      // Progress is told by nobody: whoever watches has to look.
      if (found.some((one) => one.state === 'running')) soon();
    } catch (error) {
      showError(error);
    }
  }
  const soon = paced(() => signal.aborted || load(), 1000);
  // Many tasks end in a moment; one look tells of them all.
  const stir = paced(() => signal.aborted || load(), 150);
  return { element, refresh: load, stir };
}

function row(task) {
  const progress = task.state === 'running' && task.total > 0;
  return h(
    'div',
    { class: 'task' },
    h(
      'span',
      {},
      h('span', { class: `dot ${DOTS[task.state]}` }),
      ' ',
      h('strong', {}, named('live.kind', task.kind)),
      ' ',
      named('live.task', task.state),
      task.scope && [' ', h('span', { class: 'mono soft' }, plain(task.scope, 60))],
      task.error && h('span', { class: 'problem' }, ' ', plain(errorMessage(task.error), 160)),
    ),
    h('span', { class: 'soft small' }, progress ? `${number(task.done)} / ${number(task.total)}` : time(task.updated_at)),
    progress && h('progress', { 'value': task.done, 'max': task.total, 'aria-label': named('live.kind', task.kind) }),
  );
}
