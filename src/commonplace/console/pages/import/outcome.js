// How imports go and what became of them: looked at until they are over, then told in numbers, with what was left out and why.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { errorMessage, errorNotice } from '../../problems.js';
import { address } from '../../router.js';
import { may } from '../../session.js';
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

/**
 * What became of the jobs. `onForce()` does it all the same, where deleting or overwriting was refused.
 */
export function report(jobs, problems = [], onForce = null) {
  const sums = { indexed_files: 0, skipped_files: 0, deleted_files: 0, chunks_created: 0 };
  const all = [...problems];
  const kinds = {};
  const withheld = [];
  const edits = [];
  const warned = [];
  let quarantined = 0;
  const failures = jobs.filter((job) => job.state === 'failed');
  for (const { result } of jobs.filter((job) => job.result)) {
    for (const name of Object.keys(sums)) sums[name] += result[name] ?? 0;
    all.push(...(result.problems ?? []), ...(result.left_out ?? []));
    edits.push(...(result.kept_edits ?? []));
    warned.push(...(result.warned ?? []));
    withheld.push(...(result.withheld ?? []));
    quarantined += result.quarantined ?? 0;
    for (const [suffix, count] of Object.entries(result.skipped_kinds ?? {})) kinds[suffix] = (kinds[suffix] ?? 0) + count;
  }
  return h(
    'div',
    { class: 'report', role: 'status' },
    h('h3', {}, failures.length ? t('import.failed') : t('import.done')),
    failures.map((job) => h('p', { class: 'problem' }, plain(job.error ? errorMessage(job.error) : ''))),
    failures.some((job) => job.error?.code === 'removal_refused') && forceButton('removal', onForce),
    h(
      'dl',
      { class: 'facts' },
      fact('import.indexed', sums.indexed_files),
      fact('import.unchanged', sums.skipped_files),
      sums.deleted_files > 0 && fact('import.deleted', sums.deleted_files),
      fact('import.passages', sums.chunks_created),
      fact('import.problems', all.length),
    ),
    listed(t('import.withheld', quarantined), withheld.map(whyWithheld), true),
    reviewLink(quarantined),
    listed(t('import.warned', warned.length), warned),
    listed(t('import.edits', edits.length), edits, true),
    edits.length > 0 && forceButton('edits', onForce),
    kindsOf(kinds),
    listed(t('import.left', all.length), all, true),
  );
}

const forceButton = (name, onForce) =>
  onForce && h('p', {}, h('button', { type: 'button', class: 'danger', on: { click: onForce } }, t(`import.force.${name}`)));

/** Files of kinds that are not imported, by suffix. */
export function kindsOf(kinds) {
  const named = Object.entries(kinds).map(([suffix, count]) => `${suffix} (${number(count)})`);
  return named.length > 0 && h('p', { class: 'soft small' }, t('import.kinds'), ' ', plain(named.join(', '), 500));
}

export const fact = (name, value) => h('div', {}, h('dt', {}, t(name)), h('dd', {}, number(value)));

/** What is in quarantine, as `listed` has it: the sentence that caused it. */
export const whyWithheld = ({ file, id, sentence, reasons }) => ({
  file: file ?? id,
  reason: sentence ?? reasons.join(', '),
  href: id && address('record', id),
});

/** Where it is decided on what was held back, for those who may. */
export const reviewLink = (quarantined) =>
  quarantined > 0 && may('reviewer') && h('p', {}, h('a', { href: address('review', 'quarantine') }, t('import.review')));

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
            .map(({ file, reason, href }) =>
              h(
                'tr',
                {},
                h('td', { class: 'mono' }, href ? h('a', { href }, plain(file, 300)) : plain(file, 300)),
                h('td', {}, plain(reason, 300)),
              ),
            ),
        ),
      ),
    ),
    problems.length > MOST_SHOWN && h('p', { class: 'soft' }, t('import.and-more', { more: number(problems.length - MOST_SHOWN) })),
  );
}
