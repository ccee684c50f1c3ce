// What happens in a turn, part by part: text, thoughts, tool calls, plans, questions. The words are those of the chat.

import { fill, h, plain } from '../dom.js';
import { patchSize } from '../text/patch.js';
import { named, t } from '../words.js';
import { lengthy } from './lengthy.js';
import { markdown } from './markdown.js';
import { patchOf } from './patch.js';

const MOST_RENDERED = 20_000; // characters that are read as Markdown
const MOST_SHOWN = 20_000; // characters of a result at once
const LONGEST_TITLE = 200;

/** The view of a part: { element, show(part) }, where `show` is called whenever the part has changed. `answer(request, choice)` answers a question. */
export function partView(part, { answer }) {
  return { text: textView, thinking: thinkingView, tool: toolView, plan: planView, permission: permissionView, compacted: compactedView }[
    part.kind
  ]({ answer });
}

function textView() {
  const element = h('div', { class: 'reply' });
  const show = ({ text }) =>
    fill(element, text.length > MOST_RENDERED ? lengthy({ class: 'text' }, text, { most: MOST_SHOWN }) : markdown(text, { level: 4 }));
  return { element, show };
}

function thinkingView() {
  const box = h('div', { class: 'text soft' });
  const element = h('details', { class: 'folded' }, h('summary', {}, t('chat.thinking')), box);
  let text = '';
  const paint = () => element.open && fill(box, lengthy({ class: 'text' }, text, { most: MOST_SHOWN }));
  element.addEventListener('toggle', paint);
  return {
    element,
    show: (part) => {
      text = part.text;
      paint();
    },
  };
}

function toolView() {
  const outcome = h('span', { class: 'outcome' });
  const title = h('span', { class: 'cut' });
  const box = h('div', { class: 'stack' });
  const element = h('details', { class: 'folded tool' }, h('summary', {}, outcome, title), box);
  let shown = null;
  const paint = () => element.open && shown && fill(box, toolInside(shown));
  element.addEventListener('toggle', paint);
  return {
    element,
    show: (part) => {
      shown = part;
      const state = !part.result ? 'runs' : part.result.failed ? 'failed' : 'done';
      element.dataset.state = state;
      fill(outcome, t(`chat.tool.${state}`));
      fill(title, plain(toolTitle(part), LONGEST_TITLE), part.result?.diff && changed(part.result.diff));
      paint();
    },
  };
}

const changed = (diff) => {
  const { added, removed } = patchSize(diff);
  return [' ', h('span', { class: 'good' }, `+${added}`), ' ', h('span', { class: 'problem' }, `−${removed}`)];
};

/** What a call does, in a line. */
export const toolTitle = ({ tool, arguments: given, title }) => t('chat.tool.title', tool, given, title) || tool;

/** What was asked of a tool, and what it answered. */
const toolInside = ({ tool, arguments: given, result }) => [
  h('p', { class: 'small soft' }, t('chat.tool.name'), ' ', h('code', {}, plain(tool, LONGEST_TITLE))),
  argumentsOf(given),
  result?.diff && patchOf(result.diff),
  result && [h('h4', {}, t('chat.tool.result')), lengthy({ class: 'text mono output' }, result.text || '–', { most: MOST_SHOWN })],
];

/** The arguments of a call, a row each; null if there are none. */
export function argumentsOf(given) {
  const entries = Object.entries(given ?? {});
  if (!entries.length) return null;
  const value = (one) => (typeof one === 'string' ? one : JSON.stringify(one, null, 1));
  return h(
    'dl',
    { class: 'facts' },
    entries.map(([name, one]) => [
      h('dt', { class: 'mono' }, plain(name, 80)),
      h('dd', {}, lengthy({ class: 'text mono output' }, value(one), { most: 2_000 })),
    ]),
  );
}

function planView() {
  const list = h('ol', { class: 'plan' });
  const element = h('section', { 'class': 'plan-box', 'aria-label': t('chat.plan') }, h('h4', {}, t('chat.plan')), list);
  const mark = (status) =>
    h('span', { class: 'plan-mark', title: named('chat.plan', status) }, { completed: '✓', in_progress: '▸' }[status] ?? '○');
  const row = ({ text, status }) =>
    h(
      'li',
      { class: `plan-${status}` },
      mark(status),
      h('span', { class: 'visually-hidden' }, named('chat.plan', status), ': '),
      plain(text, 300),
    );
  return { element, show: ({ entries }) => fill(list, entries.map(row)) };
}

function permissionView({ answer }) {
  const element = h('section', { class: 'permission' });
  let state = null;
  const show = (part) => {
    const now = part.answer ? 'answered' : part.isOver ? 'over' : 'asked';
    if (now === state) return;
    state = now;
    element.dataset.state = now;
    fill(element, now === 'asked' ? question(part.request, answer) : decided(part));
  };
  return { element, show };
}

function question(request, answer) {
  const buttons = request.choices.map((choice) =>
    h(
      'button',
      {
        type: 'button',
        class: { allow_once: 'primary', reject_once: 'danger' }[choice] ?? '',
        on: { click: () => answer && press(choice) },
      },
      t(`chat.permission.${choice}`),
    ),
  );
  async function press(choice) {
    for (const one of buttons) one.disabled = true;
    if (!(await answer(request, choice))) for (const one of buttons) one.disabled = false;
  }
  const remembered =
    request.rule && h('p', { class: 'small soft' }, t('chat.permission.rule'), ' ', h('code', {}, plain(request.rule, 300)));
  return [
    h('h4', { role: 'status' }, t('chat.permission')),
    h('p', { class: 'permission-title' }, plain(toolTitle(request), 500)),
    request.diff && patchOf(request.diff),
    h(
      'details',
      { class: 'folded', open: !request.diff && request.kind === 'execute' },
      h('summary', {}, t('chat.tool.arguments')),
      argumentsOf(request.arguments),
    ),
    remembered,
    answer && h('div', { class: 'row permission-answers' }, buttons),
  ];
}

function decided({ request, answer }) {
  const choice = answer?.choice ?? 'over';
  const words = answer && !answer.voter ? t('chat.permission.nobody') : t(`chat.permitted.${choice}`);
  const title = h('span', { class: 'cut' }, plain(toolTitle(request), LONGEST_TITLE));
  return h('p', { class: 'small' }, h('span', { class: choice.startsWith('allow') ? 'good' : 'problem' }, words), ' ', title);
}

function compactedView() {
  const element = h('p', { class: 'small soft' });
  return {
    element,
    show: ({ messages, by }) => fill(element, t('chat.compacted', messages), by === 'model' ? ` ${t('chat.compacted.model')}` : ''),
  };
}
