// What happens in a turn, part by part: text, thoughts, tool calls, plans, questions. The words are those of the chat.

import { fill, h, plain } from '../dom.js';
import { patchSize } from '../text/patch.js';
import { named, t } from '../words.js';
import { lengthy } from './lengthy.js';
import { markdown } from './markdown.js';
import { patchOf } from './patch.js';
import { permissionView } from './permission.js';
import { LONGEST_TITLE, argumentsOf, toolTitle } from './tool_call.js';

const MOST_RENDERED = 20_000; // characters that are read as Markdown
const MOST_SHOWN = 20_000; // characters of a result at once

/** The view of a part: { element, show(part) }, where `show` is called whenever the part has changed. The options are those of a TurnView. */
export function partView(part, options) {
  return {
    text: textView,
    thinking: thinkingView,
    tool: toolView,
    plan: planView,
    permission: permissionView,
    compacted: compactedView,
    note: noteView,
  }[part.kind](options);
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

/** What was asked of a tool, and what it answered. */
const toolInside = ({ tool, arguments: given, result }) => [
  h('p', { class: 'small soft' }, t('chat.tool.name'), ' ', h('code', {}, plain(tool, LONGEST_TITLE))),
  argumentsOf(given),
  result?.diff && patchOf(result.diff),
  result && [h('h4', {}, t('chat.tool.result')), lengthy({ class: 'text mono output' }, result.text || '–', { most: MOST_SHOWN })],
];

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

function noteView() {
  const element = h('p', { class: 'small soft' });
  const show = ({ type, data: { mode, model, by } }) =>
    fill(element, t(`chat.note.${type}${by ? '' : '.agent'}`, { by: by ?? '', value: mode ?? model }));
  return { element, show };
}

function compactedView() {
  const element = h('p', { class: 'small soft' });
  return {
    element,
    show: ({ messages, by }) => fill(element, t('chat.compacted', messages), by === 'model' ? ` ${t('chat.compacted.model')}` : ''),
  };
}
