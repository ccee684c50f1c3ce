// One run: its story, its blackboard, the same made again from its journal, and the files it left.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { tabs } from '../../parts/tabs.js';
import { errorNotice } from '../../problems.js';
import { address, replaceAddress } from '../../router.js';
import { t } from '../../words.js';
import { artifactsOf } from './artifacts.js';
import { blackboardOf } from './blackboard.js';
import { iso, runPath, status } from './list.js';
import { replayOf } from './replay.js';
import { timelineOf } from './timeline.js';

const TABS = {
  timeline: timelineOf,
  blackboard: blackboardOf,
  replay: replayOf,
  artifacts: (panel, run, signal) => artifactsOf(panel, { run: run.run_id }, signal),
};

export async function runOf(place, id, query, signal) {
  const head = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  const body = h('div', {});
  fill(
    place,
    h('p', { class: 'small back' }, h('a', { href: address('runs') }, '← ', t('runs.all'))),
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.runs'))),
    head,
    body,
  );
  try {
    const run = await get(runPath(id), {}, { signal });
    fill(head, headOf(run));
    const made = tabs({
      page: 'runs',
      label: t('runs.parts'),
      names: Object.fromEntries(Object.keys(TABS).map((name) => [name, t(`runs.${name}`)])),
      open: (name, panel, leaving) => {
        replaceAddress('runs', id, { tab: name === 'timeline' ? '' : name });
        return told(panel, () => TABS[name](panel, run, leaving));
      },
      signal,
    });
    fill(body, made.list, made.panel);
    await made.choose(Object.hasOwn(TABS, query.tab ?? '') ? query.tab : 'timeline', {});
  } catch (error) {
    if (error.name !== 'AbortError') fill(head, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
  }
}

/** Do it, and say in the panel what went wrong. */
async function told(panel, act) {
  try {
    await act();
  } catch (error) {
    if (error.name !== 'AbortError') fill(panel, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
  }
}

const headOf = (run) => [
  h('h2', { class: 'run-name clamp' }, plain(run.objective || run.run_id, 400)),
  h(
    'div',
    { class: 'row small soft' },
    status(run.status),
    time(iso(run.created_at_ms)),
    run.ended_at_ms &&
      run.started_at_ms &&
      h('span', {}, t('runs.took', { seconds: ((run.ended_at_ms - run.started_at_ms) / 1000).toFixed(1) })),
    run.session && h('a', { href: address('sessions', run.session) }, t('runs.session')),
    h('code', {}, plain(run.run_id, 128)),
  ),
  run.last_error && h('p', { class: 'problem' }, plain(run.last_error, 500)),
];
