// The blackboard of a run: what those who work on it share.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { lengthy } from '../../parts/lengthy.js';
import { named, t } from '../../words.js';
import { iso, runPath } from './list.js';

const ITEMS = ['facts', 'decisions', 'open_questions'];
const SUMMARIES = ['rolling', 'latest_context_pack'];
const SCHEME = 'artifact://';

export async function blackboardOf(place, run, signal) {
  const board = await get(runPath(run.run_id, '/blackboard'), {}, { signal });
  const sections = sectionsOf(board, run);
  fill(place, sections.length ? sections : h('p', { class: 'notice' }, t('runs.blackboard.none')));
}

/** What stands on it, a section a kind; what is empty is left out. */
export function sectionsOf(board, run) {
  const tasks = board.tasks.length ? board.tasks : run.tasks;
  return [
    ...ITEMS.filter((kind) => board[kind].length).map((kind) => section(kind, board[kind].map(item))),
    board.artifacts.length > 0 && section('artifacts', board.artifacts.map(artifact)),
    tasks.length > 0 && section('tasks', tasks.map(task)),
    run.steps.length > 0 && section('steps', run.steps.map(step)),
    ...SUMMARIES.filter((name) => board.summaries[name]).map((name) => [
      h('h3', {}, t(`runs.board.${name}`)),
      lengthy({ class: 'text card' }, board.summaries[name], { most: 20_000 }),
    ]),
  ].filter(Boolean);
}

const section = (kind, rows) => h('section', {}, h('h3', {}, t(`runs.board.${kind}`)), h('ul', { class: 'board' }, rows));
const item = ({ text, ts_ms: at }) =>
  h('li', {}, h('span', { class: 'text' }, plain(text, 2_000)), ' ', h('small', { class: 'soft' }, time(iso(at))));
const artifact = ({ path, artifact_type: type }) => h('li', {}, pathShown(path), ' ', h('small', { class: 'soft' }, plain(type, 80)));
const task = ({ id, task_type: type, status, last_error: error }) =>
  h(
    'li',
    {},
    h('code', {}, plain(type || id, 120)),
    ' ',
    h('span', { class: 'badge' }, named('runs.step-status', status)),
    error && [' ', h('span', { class: 'problem small' }, plain(error, 300))],
  );
const step = ({ title, status }) => h('li', {}, plain(title, 300), ' ', h('span', { class: 'badge' }, named('runs.step-status', status)));

/** One that is kept here can be fetched; another is a path, and only told. */
function pathShown(path) {
  if (!path.startsWith(SCHEME)) return h('code', {}, plain(path, 500));
  const id = path.slice(SCHEME.length);
  return h('a', { href: `/v1/artifacts/${encodeURIComponent(id)}/content`, download: '' }, plain(id, 120));
}
