// How imports go and what became of them: looked at until they are over, then told in numbers, with what was left out and why.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { errorMessage, errorNotice } from '../../problems.js';
import { number, t } from '../../words.js';

const MOST_SHOWN = 100;
const POLL = 300;
const OVER = new Set(['done', 'failed']);

export const isOver = (task) => OVER.has(task.state);

/** Look at the tasks until all are over. */
export async function watch(tasks, signal, onLook) {
  for (let open = tasks; open.length && !signal.aborted; open = tasks.filter((one) => !isOver(one.job))) {
    await Promise.all(
      open.slice(0, 4).map(async (one) => {
        one.job = await get(`/v1/tasks/${one.job.id}`, {}, { signal });
      }),
    );
    onLook();
    if (tasks.some((one) => !isOver(one.job)))
      await new Promise((resolve) => {
        setTimeout(resolve, POLL);
      });
  }
}

export function failed(outcome, error) {
  if (error.name !== 'AbortError') fill(outcome, h('p', { class: 'problem', role: 'alert' }, errorNotice(error)));
}

export function report(jobs, problems = []) {
  const sums = { indexed_files: 0, skipped_files: 0, deleted_files: 0, chunks_created: 0 };
  const all = [...problems];
  const failures = jobs.filter((job) => job.state === 'failed');
  for (const { result } of jobs.filter((job) => job.result)) {
    for (const name of Object.keys(sums)) sums[name] += result[name] ?? 0;
    all.push(...(result.problems ?? []), ...(result.left_out ?? []));
  }
  return h(
    'div',
    { class: 'report', role: 'status' },
    h('h3', {}, failures.length ? t('import.failed') : t('import.done')),
    failures.map((job) => h('p', { class: 'problem' }, plain(job.error ? errorMessage(job.error) : ''))),
    h(
      'dl',
      { class: 'facts' },
      fact('import.indexed', sums.indexed_files),
      fact('import.unchanged', sums.skipped_files),
      sums.deleted_files > 0 && fact('import.deleted', sums.deleted_files),
      fact('import.passages', sums.chunks_created),
      fact('import.problems', all.length),
    ),
    listed(t('import.left', all.length), all, true),
  );
}

export const fact = (name, value) => h('div', {}, h('dt', {}, t(name)), h('dd', {}, number(value)));

/** A list of files with reasons that opens; only so many of them are drawn. */
export function listed(title, problems, open = false) {
  if (!problems.length) return null;
  return h(
    'details',
    { open },
    h('summary', {}, title),
    h(
      'div',
      { class: 'scroll-x' },
      h(
        'table',
        {},
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('import.file')), h('th', { scope: 'col' }, t('import.why')))),
        h(
          'tbody',
          {},
          problems
            .slice(0, MOST_SHOWN)
            .map(({ file, reason }) => h('tr', {}, h('td', { class: 'mono' }, plain(file, 300)), h('td', {}, plain(reason, 300)))),
        ),
      ),
    ),
    problems.length > MOST_SHOWN && h('p', { class: 'soft' }, t('import.and-more', { more: number(problems.length - MOST_SHOWN) })),
  );
}
