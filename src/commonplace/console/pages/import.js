// Memories in and out: files of this computer or of the server, what became of earlier imports, exports.

import { get, post, remove, written } from '../api.js';
import { complain, may } from '../app.js';
import { fill, fresh, h, plain } from '../dom.js';
import { time } from '../parts/badge.js';
import { chosen, dropped, send, sifted } from '../parts/files.js';
import { picker } from '../parts/picker.js';
import { scopes } from '../parts/scopes.js';
import { toast } from '../parts/toast.js';
import { named, number, size, t } from '../words.js';

const FORMATS = ['directory', 'openclaw'];
const MOST_SHOWN = 100;
const POLL = 300;
const OVER = new Set(['done', 'failed']);

export async function show(place, { signal, query }) {
  const past = makePast(signal);
  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.import'))),
    may('writer') ? makeImport(signal, past, query.scope ?? '') : h('p', { class: 'notice' }, t('import.may-not')),
    past.element,
    h('div', { class: 'columns' }, makeExport(signal), may('admin') && makeLoad(signal)),
  );
  await past.reload();
}

// ---- importing

function makeImport(signal, past, scope) {
  const task = { scope, format: 'directory' };
  const format = fresh('format');
  const listeners = new Set();
  const pick = (picked) => {
    task.scope = picked;
    for (const listener of listeners) listener();
  };
  const where = picker({ value: scope, all: false, anew: true, label: t('import.scope'), signal, onPick: pick });
  const outcome = h('div', { class: 'outcome' });
  const work = { task, signal, past, outcome, onTask: (listener) => listeners.add(listener) };
  return h(
    'section',
    { 'class': 'card', 'aria-label': t('import.bring') },
    h('h2', {}, t('import.bring')),
    h('p', { class: 'soft' }, t('import.lead')),
    h(
      'div',
      { class: 'where' },
      h(
        'div',
        { class: 'field' },
        h('span', { 'class': 'label', 'aria-hidden': 'true' }, t('import.scope')),
        where,
        h('small', { class: 'soft' }, t('import.scope.hint')),
      ),
      h(
        'div',
        { class: 'field' },
        h('label', { for: format }, t('import.format')),
        h(
          'select',
          {
            id: format,
            on: {
              change: (event) => {
                task.format = event.target.value;
              },
            },
          },
          FORMATS.map((one) => h('option', { value: one }, t(`import.format.${one}`))),
        ),
      ),
    ),
    makeDrop(work),
    outcome,
    makePath(work),
  );
}

/** Files of this computer: chosen or dropped, looked at, then sent. */
function makeDrop(work) {
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
        complain(error);
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

/** A button that chooses files, in the page's language: the browser's own speaks the browser's. */
function chooser(label, props, onPick) {
  const id = fresh('files');
  const input = h('input', {
    id,
    type: 'file',
    class: 'visually-hidden',
    ...props,
    on: {
      change: () => {
        const files = [...input.files];
        // Emptied, so that the same choice made again is a choice.
        input.value = '';
        onPick(files);
      },
    },
  });
  return h('span', { class: 'chooser' }, input, h('label', { for: id, class: 'button' }, label));
}

const told = ({ file, reason }) => ({ file, reason: named('import.reason', reason) });

/** Send, watch, report. Answers whether all of it was sent. */
async function bring(work, { kept, left }) {
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
        ),
      );
  } catch (error) {
    failed(outcome, error);
  }
  if (!signal.aborted) past.reload();
  return true;
}

function failed(outcome, error) {
  if (error.name !== 'AbortError')
    fill(outcome, h('p', { class: 'problem', role: 'alert' }, t('frame.problem', { message: error.message })));
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
    const done = sum(tasks, (one) => (OVER.has(one.job.state) ? one.count : one.job.done));
    bar.value = total + done;
    fill(text, t('import.reading', { done: number(done), total: number(total) }));
  };
  return { element: h('div', { class: 'progress' }, text, bar), sent, worked };
}

/** Look at the tasks until all are over. */
async function watch(tasks, signal, onLook) {
  for (let open = tasks; open.length && !signal.aborted; open = tasks.filter((one) => !OVER.has(one.job.state))) {
    await Promise.all(
      open.slice(0, 4).map(async (one) => {
        one.job = await get(`/v1/tasks/${one.job.id}`, {}, { signal });
      }),
    );
    onLook();
    if (tasks.some((one) => !OVER.has(one.job.state)))
      await new Promise((resolve) => {
        setTimeout(resolve, POLL);
      });
  }
}

function report(jobs, problems = []) {
  const sums = { indexed_files: 0, skipped_files: 0, deleted_files: 0, chunks_created: 0 };
  const all = [...problems];
  const failures = jobs.filter((job) => job.state === 'failed');
  for (const { result } of jobs.filter((job) => job.result)) {
    for (const name of Object.keys(sums)) sums[name] += result[name] ?? 0;
    all.push(...(result.problems ?? []));
  }
  return h(
    'div',
    { class: 'report', role: 'status' },
    h('h3', {}, failures.length ? t('import.failed') : t('import.done')),
    failures.map((job) => h('p', { class: 'problem' }, plain(job.error?.message ?? ''))),
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

const fact = (name, value) => h('div', {}, h('dt', {}, t(name)), h('dd', {}, number(value)));

/** A list of files with reasons that opens; only so many of them are drawn. */
function listed(title, problems, open = false) {
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

// ---- a path of the server

function makePath(work) {
  const [path, sync] = ['path', 'sync'].map(fresh);
  const box = h('input', {
    id: path,
    class: 'mono',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: '/srv/notes',
    on: { input: ready },
  });
  const gone = h('input', { id: sync, type: 'checkbox' });
  const go = h('button', { type: 'submit', disabled: true }, t('import.path.go'));
  work.onTask(ready);
  function ready() {
    go.disabled = !box.value.trim() || !work.task.scope;
  }
  async function start(event) {
    event.preventDefault();
    const { outcome, past, signal, task } = work;
    go.disabled = true;
    try {
      const { job } = await post(
        '/v1/import',
        { path: box.value.trim(), scope: task.scope, format: task.format, sync_deletes: gone.checked },
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
      if (!signal.aborted) fill(outcome, report([tasks[0].job]));
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
      h('div', { class: 'row' }, go),
    ),
  );
}

// ---- earlier imports

function makePast(signal) {
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
      if (tasks.some((task) => !OVER.has(task.state))) timer = setTimeout(reload, 1000);
    } catch (error) {
      complain(error);
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
  const { indexed_files: indexed = 0, skipped_files: unchanged = 0, problems = [], errors = problems.length } = task.result;
  return [
    t('import.summary', { indexed: number(indexed), unchanged: number(unchanged), problems: number(errors) }),
    listed(t('import.left', errors), problems),
  ];
}

function actions(task, reload) {
  const act = (call, said) => async (event) => {
    event.target.disabled = true;
    try {
      await call();
      toast(said);
    } catch (error) {
      complain(error);
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

// ---- exports

function makeExport(signal) {
  const link = h('a', { class: 'button', download: 'commonplace.jsonl', href: '/v1/export' }, t('import.export.go'));
  const where = scopes({
    signal,
    onChange: (list) => link.setAttribute('href', `/v1/export${written({ scope: list })}`),
    words: { label: t('import.export.scopes'), add: t('import.export.add'), remove: (scope) => t('import.export.remove', { scope }) },
  });
  return h(
    'section',
    { 'class': 'card stack', 'aria-label': t('import.export') },
    h('h2', {}, t('import.export')),
    h('p', { class: 'soft' }, t('import.export.lead')),
    where,
    h('div', { class: 'row' }, link),
  );
}

function makeLoad(signal) {
  let file = null;
  const outcome = h('div', { 'class': 'outcome', 'aria-live': 'polite' });
  const name = h('span', { 'class': 'mono small', 'aria-live': 'polite' });
  const choose = chooser(t('import.load.file'), { accept: '.jsonl,.ndjson' }, ([picked]) => {
    file = picked ?? null;
    go.disabled = !file;
    fill(name, file ? `${file.name} · ${size(file.size)}` : '');
    fill(outcome);
  });
  const go = h('button', { type: 'submit', disabled: true }, t('import.load.go'));
  async function start(event) {
    event.preventDefault();
    go.disabled = true;
    fill(outcome, h('p', {}, t('import.load.doing')), h('progress', { 'aria-label': t('import.progress') }));
    try {
      const loaded = await post('/v1/load', file, { signal, headers: { 'Content-Type': 'application/x-ndjson' } });
      fill(
        outcome,
        h('h3', {}, t('import.load.done')),
        h(
          'dl',
          { class: 'facts' },
          ['records', 'created', 'updated', 'unchanged'].map((one) => fact(`import.load.${one}`, loaded[one])),
        ),
      );
    } catch (error) {
      failed(outcome, error);
    }
    go.disabled = false;
  }
  return h(
    'section',
    { 'class': 'card', 'aria-label': t('import.load') },
    h(
      'form',
      { class: 'stack', on: { submit: start } },
      h('h2', {}, t('import.load')),
      h('p', { class: 'soft' }, t('import.load.lead')),
      h('div', { class: 'row' }, choose, name),
      h('div', { class: 'row' }, go),
      outcome,
    ),
  );
}
