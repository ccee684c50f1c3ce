// Files of this computer: held, sent in portions, and watched until the server has read them.

import { fill, h } from '../../dom.js';
import { chooser, chosen, dropped, send, sifted } from '../../parts/files.js';
import { showError } from '../../problems.js';
import { named, number, size, t } from '../../words.js';
import { failed, isOver, listed, report, watch } from './outcome.js';

/** Files of this computer: chosen or dropped, looked at, then sent. */
export function makeUpload(work) {
  let files = { kept: [], left: [] };
  const summary = h('div', { 'class': 'summary', 'aria-live': 'polite' });
  const go = h('button', { type: 'button', class: 'primary', disabled: true, on: { click: start } }, t('import.go', 0));
  const drop = h(
    'div',
    { class: 'drop', on: { dragover: over, dragleave: () => drop.classList.remove('over'), drop: take } },
    h('p', {}, t('import.drop')),
    h(
      'div',
      { class: 'row' },
      chooser(t('import.choose-files'), { multiple: true, accept: '.md,.markdown,.mdx,.txt' }, pick),
      chooser(t('import.choose-folder'), { multiple: true, webkitdirectory: true }, pick),
    ),
  );
  const element = h('div', {}, drop, summary, h('div', { class: 'row' }, go));
  work.onTask(ready);
  // A file dropped beside the box would otherwise be opened in the place of this page.
  for (const type of ['dragover', 'drop']) addEventListener(type, (event) => event.preventDefault(), { signal: work.signal });

  function pick(list) {
    hold(chosen(list));
  }
  function over(event) {
    event.preventDefault();
    drop.classList.add('over');
  }
  async function take(event) {
    event.preventDefault();
    drop.classList.remove('over');
    hold(
      await dropped(event.dataTransfer).catch((error) => {
        showError(error);
        return [];
      }),
    );
  }
  function hold(found) {
    files = sifted(found);
    const bytes = files.kept.reduce((sum, one) => sum + one.file.size, 0);
    fill(
      summary,
      h(
        'p',
        {},
        files.kept.length ? t('import.held', { files: t('import.files', files.kept.length), size: size(bytes) }) : t('import.held.none'),
      ),
      listed(t('import.left', files.left.length), files.left.map(told)),
    );
    ready();
  }
  function ready() {
    go.disabled = !files.kept.length || !work.task.scope;
    fill(go, t('import.go', files.kept.length));
    go.title = files.kept.length && !work.task.scope ? t('import.scope.first') : '';
  }
  async function start() {
    go.disabled = true;
    const sent = files;
    const done = await bring(work, sent);
    // What could not be sent is still held, so that one press tries again.
    if (done && files === sent) {
      files = { kept: [], left: [] };
      fill(summary);
    }
    ready();
  }
  return element;
}

const told = ({ file, reason }) => ({ file, reason: named('import.reason', reason) });

/** Send, watch, report. Answers whether all of it was sent. */
async function bring(work, { kept, left }, isForced = false) {
  const { signal, past, outcome, task } = work;
  const view = makeProgress(kept.length);
  const problems = left.map(told);
  const tasks = [];
  const hold = (event) => event.preventDefault();
  fill(outcome, view.element);
  addEventListener('beforeunload', hold);
  try {
    await send(kept, {
      scope: task.scope,
      format: task.format,
      force: isForced,
      signal,
      onSent: (count, job) => {
        tasks.push({ job, count });
        view.sent(tasks);
      },
      onLeft: (file, reason) => problems.push(told({ file, reason })),
    });
  } catch (error) {
    failed(outcome, error);
    past.reload();
    return false;
  } finally {
    removeEventListener('beforeunload', hold);
  }
  past.reload();
  try {
    await watch(tasks, signal, () => view.worked(tasks));
    if (!signal.aborted)
      fill(
        outcome,
        report(
          tasks.map((one) => one.job),
          problems,
          isForced ? null : () => bring(work, { kept, left }, true),
        ),
      );
  } catch (error) {
    failed(outcome, error);
  }
  if (!signal.aborted) past.reload();
  return true;
}

function makeProgress(total) {
  const text = h('p', { role: 'status' }, t('import.sending', { done: '0', total: number(total) }));
  const bar = h('progress', { 'max': total * 2 || 1, 'value': 0, 'aria-label': t('import.progress') });
  const sum = (tasks, read) => tasks.reduce((all, one) => all + read(one), 0);
  const sent = (tasks) => {
    const done = sum(tasks, (one) => one.count);
    bar.value = done;
    fill(text, t('import.sending', { done: number(done), total: number(total) }));
  };
  const worked = (tasks) => {
    const done = sum(tasks, (one) => (isOver(one.job) ? one.count : one.job.done));
    bar.value = total + done;
    fill(text, t('import.reading', { done: number(done), total: number(total) }));
  };
  return { element: h('div', { class: 'progress' }, text, bar), sent, worked };
}
