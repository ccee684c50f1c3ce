// A path of the server, read there.

import { post } from '../../api.js';
import { fill, fresh, h } from '../../dom.js';
import { number, t } from '../../words.js';
import { failed, report, watch } from './outcome.js';

export function makePath(work) {
  const [path, sync, all, code] = ['path', 'sync', 'all', 'code'].map(fresh);
  const box = h('input', {
    id: path,
    class: 'mono',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: '/srv/notes',
    on: { input: ready },
  });
  const gone = h('input', { id: sync, type: 'checkbox' });
  const force = h('input', { id: all, type: 'checkbox' });
  const more = h('input', { id: code, type: 'checkbox' });
  const go = h('button', { type: 'submit', disabled: true }, t('import.path.go'));
  work.onTask(ready);
  function ready() {
    go.disabled = !box.value.trim() || !work.task.scope;
  }
  function start(event) {
    event.preventDefault();
    return run(force.checked);
  }
  async function run(isForced) {
    const { outcome, past, signal, task } = work;
    go.disabled = true;
    try {
      const { job } = await post(
        '/v1/import',
        {
          path: box.value.trim(),
          scope: task.scope,
          format: task.format,
          sync_deletes: gone.checked,
          force: isForced,
          kinds: more.checked ? ['code', 'json'] : [],
        },
        { signal },
      );
      const tasks = [{ job, count: 1 }];
      const text = h('p', { role: 'status' }, t('import.waiting'));
      const bar = h('progress', { 'aria-label': t('import.progress') });
      fill(outcome, h('div', { class: 'progress' }, text, bar));
      past.reload();
      await watch(tasks, signal, () => {
        const [{ job: now }] = tasks;
        if (!now.total) return;
        Object.assign(bar, { max: now.total, value: now.done });
        fill(text, t('import.reading', { done: number(now.done), total: number(now.total) }));
      });
      if (!signal.aborted) fill(outcome, report([tasks[0].job], [], isForced ? null : () => run(true)));
      past.reload();
    } catch (error) {
      failed(outcome, error);
    }
    ready();
  }
  return h(
    'details',
    { class: 'path' },
    h('summary', {}, t('import.path')),
    h(
      'form',
      { class: 'stack', on: { submit: start } },
      h('p', { class: 'soft small' }, t('import.path.hint')),
      h('label', { for: path }, t('import.path.label')),
      box,
      h('label', { class: 'check', for: sync }, gone, t('import.path.sync')),
      h('label', { class: 'check', for: all }, force, t('import.path.force')),
      h('label', { class: 'check', for: code }, more, t('import.path.code')),
      h('div', { class: 'row' }, go),
    ),
  );
}
