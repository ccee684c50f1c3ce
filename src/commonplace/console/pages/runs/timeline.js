// A run as a story: what was asked, recalled, sent, done, allowed, answered, learned. The event behind each step on request.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { lengthy } from '../../parts/lengthy.js';
import { markdown } from '../../parts/markdown.js';
import { learnedRow, recalledLists, textsOf } from '../../parts/recollection.js';
import { argumentsOf, toolTitle } from '../../parts/tool_call.js';
import { spent } from '../../parts/turn_view.js';
import { lookup, moment, replaceNames, t } from '../../words.js';
import { stepsOf } from '../../text/timeline.js';
import { runPath, status } from './list.js';

const PAGE = 1_000;
const MOST_RENDERED = 20_000;
const clock = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });

export async function timelineOf(place, run, signal) {
  const list = h('ol', { 'class': 'timeline', 'aria-label': t('runs.timeline') });
  const more = h('button', { type: 'button', hidden: true, on: { click: load } }, t('frame.more'));
  let events = [];
  let after = 0;
  fill(place, list, more);

  async function load() {
    const page = await get(runPath(run.run_id, '/events'), { after, limit: PAGE }, { signal });
    events = [...events, ...page.events];
    after = page.after;
    more.hidden = after === null;
    const steps = stepsOf(events);
    fill(list, steps.length ? steps.map((step) => stepRow(step, signal)) : h('li', { class: 'soft' }, t('runs.no-events')));
  }
  await load();
}

function stepRow(step, signal) {
  const at = new Date(step.at);
  return h(
    'li',
    { class: `step step-${step.kind}` },
    h(
      'div',
      { class: 'step-head row' },
      h('h3', {}, lookup(`runs.step.${step.kind}`) ?? step.kind),
      h('time', { class: 'small soft mono', datetime: at.toISOString(), title: moment(at.toISOString()) }, clock.format(at)),
    ),
    INSIDE[step.kind](step, signal),
    rawOf(step.events),
  );
}

/** The events as they are kept, letter by letter, once somebody opens them. */
function rawOf(events) {
  const box = h('div', {});
  const element = h('details', { class: 'folded raw' }, h('summary', {}, t('runs.raw')), box);
  element.addEventListener('toggle', () => {
    const text = events.map((event) => JSON.stringify(event, null, 2)).join('\n');
    if (element.open && !box.childElementCount) fill(box, lengthy({ class: 'text mono output' }, text, { most: 20_000 }));
  });
  return element;
}

const said = (text) =>
  text.length > MOST_RENDERED ? lengthy({ class: 'text' }, text, { most: MOST_RENDERED }) : markdown(text, { level: 4 });

const INSIDE = {
  question: ({ text, speaker, model }) => [
    lengthy({ class: 'text' }, text, { most: 4_000 }),
    h(
      'p',
      { class: 'small soft' },
      [speaker, model].filter(Boolean).map((one, index) => [index > 0 && ' · ', plain(one, 80)]),
    ),
  ],
  hits: ({ hits }, signal) => hitsOf(hits, signal),
  block: ({ text }) =>
    h(
      'details',
      { class: 'folded' },
      h('summary', {}, t('runs.block.show')),
      lengthy({ class: 'text mono output' }, text, { most: 20_000 }),
    ),
  tool: ({ tool, title, arguments: given, ended }) =>
    h(
      'details',
      { class: 'folded tool', data: { state: !ended ? 'runs' : ended.failed ? 'failed' : 'done' } },
      h(
        'summary',
        {},
        h('span', { class: 'outcome' }, t(`chat.tool.${!ended ? 'runs' : ended.failed ? 'failed' : 'done'}`)),
        h('span', { class: 'cut' }, plain(toolTitle({ tool, arguments: given, title }), 200)),
      ),
      h('p', { class: 'small soft' }, t('chat.tool.name'), ' ', h('code', {}, plain(tool, 120))),
      argumentsOf(given),
      ended && [h('h4', {}, t('chat.tool.result')), lengthy({ class: 'text mono output' }, ended.text || '–', { most: 20_000 })],
    ),
  permission: ({ title, rule, answer }) => [
    h('p', {}, plain(title, 500)),
    rule && h('p', { class: 'small soft' }, t('runs.rule'), ' ', h('code', {}, plain(rule, 300))),
    h('p', { class: answer?.choice.startsWith('allow') ? 'good' : 'problem' }, voteOf(answer)),
  ],
  reply: ({ text }) => said(text),
  end: ({ status: now, error, code, cost }) => [
    h('p', { class: 'row' }, status(now), cost && h('span', { class: 'soft' }, spent(asUsage(cost)))),
    error && h('p', { class: 'problem' }, replaceNames(lookup(`problems.${code}`) ?? '{message}', { message: error })),
  ],
  learned: ({ memories }, signal) =>
    memories.length
      ? h(
          'ul',
          { class: 'memories' },
          memories.map((memory) => learnedRow(memory, signal)),
        )
      : h('p', { class: 'soft' }, t('runs.learned.none')),
  other: ({ type, status: now }) => h('p', { class: 'row' }, h('code', {}, plain(type, 120)), status(now)),
};

const asUsage = ({ model, input, output, microUsd }) => ({ model, input_tokens: input, output_tokens: output, cost_micro_usd: microUsd });

function voteOf(answer) {
  if (!answer) return t('runs.vote.none');
  if (!answer.voter) return t('chat.permission.nobody');
  return [t(`chat.permitted.${answer.choice}`), ' ', t('runs.vote.by', { voter: answer.voter })];
}

/** The memories that were recalled; their texts come a moment later. */
function hitsOf(hits, signal) {
  if (!hits.length) return h('p', { class: 'soft' }, t('chat.recalled.none'));
  const list = h('div', {}, recalledLists(hits));
  textsOf(hits, signal).then(
    (read) => fill(list, recalledLists(read)),
    () => {},
  );
  return list;
}
