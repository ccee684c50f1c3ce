// A question about a tool call: what it would do, who decides it, how the votes stand, and how long there is. The words are those of the chat.

import { post } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { may, whoami } from '../session.js';
import { countdown, policyOf, secondsLeft, standing } from '../text/permission.js';
import { t } from '../words.js';
import { patchOf } from './patch.js';
import { LONGEST_TITLE, argumentsOf, toolTitle } from './tool_call.js';

/** What ends a request before anybody has decided it. */
const CUT_OFF = new Set(['turn_cancelled', 'session_closed']);
const SOON = 30; // seconds

/** Vote on a request. Answers how many more votes are needed; 0: it is decided. */
export async function vote(session, request, choice, signal) {
  const path = `/v1/sessions/${encodeURIComponent(session)}/permissions/${encodeURIComponent(request.id)}`;
  const { outcome, votes_needed: needed } = await post(path, { choice }, { signal });
  return outcome === 'recorded' ? needed : 0;
}

/**
 * { element, show(part) }. `answer(request, choice)` votes, and answers how many votes are needed then, or null if it did not count; without it nobody
 * votes here.
 */
export function permissionView({ answer, signal }) {
  const element = h('section', { class: 'permission' });
  const votes = h('div', { class: 'small', role: 'status' });
  const time = h('span', { class: 'small soft time-left' });
  let state = null;
  let timer = null;
  let shown = null;
  let mine = null; // how many votes are needed beside this person's

  function tick() {
    const seconds = secondsLeft(shown.request, Date.now());
    time.classList.toggle('warn', seconds !== null && seconds <= SOON);
    fill(time, seconds === null ? '' : seconds ? t('chat.permission.left', { time: countdown(seconds) }) : t('chat.permission.up'));
  }

  function stop() {
    clearInterval(timer);
    timer = null;
  }
  signal?.addEventListener('abort', stop);

  async function press(choice, buttons) {
    for (const one of buttons) one.disabled = true;
    const needed = await answer(shown.request, choice);
    if (needed) mine = needed;
    // Whoever voted may still cancel it; whoever's vote did not count may try again.
    for (const one of buttons) one.disabled = needed === 0 || (needed > 0 && one.dataset.choice !== 'cancel');
    if (needed !== 0) fill(votes, votesOf(shown, mine));
  }

  function show(part) {
    shown = part;
    const now = part.answer ? 'answered' : part.isOver ? 'over' : 'asked';
    if (now === 'asked') fill(votes, votesOf(part, mine));
    if (now === state) return;
    state = now;
    element.dataset.state = now;
    stop();
    if (now === 'asked') {
      if (secondsLeft(part.request, Date.now()) !== null && !signal?.aborted) timer = setInterval(tick, 1000);
      fill(element, question(part.request, { votes, time, press: answer && press }));
      tick();
    } else fill(element, decided(part));
  }
  return { element, show };
}

function question(request, { votes, time, press }) {
  const { subject } = whoami();
  const { decide, cancel } = standing(request, { subject, mayWrite: may('writer') });
  const policy = policyOf(request, subject, t('chat.permission.you'));
  const choices = press ? [...(decide ? request.choices : []), ...(cancel ? ['cancel'] : [])] : [];
  const buttons = choices.map((choice) => {
    const kind = { allow_once: 'primary', reject_once: 'danger', cancel: 'quiet' }[choice] ?? '';
    return h(
      'button',
      { type: 'button', class: kind, data: { choice }, on: { click: () => press(choice, buttons) } },
      t(`chat.permission.${choice}`),
    );
  });
  const remembered =
    decide && request.rule && h('p', { class: 'small soft' }, t('chat.permission.rule'), ' ', h('code', {}, plain(request.rule, 300)));
  return [
    h('div', { class: 'row' }, h('h4', { role: 'status' }, t('chat.permission')), h('span', { class: 'grow' }), time),
    h('p', { class: 'permission-title' }, plain(toolTitle(request), 500)),
    request.diff && patchOf(request.diff),
    h(
      'details',
      { class: 'folded', open: !request.diff && request.kind === 'execute' },
      h('summary', {}, t('chat.tool.arguments')),
      argumentsOf(request.arguments),
    ),
    remembered,
    policy && h('p', { class: 'small' }, t(`chat.permission.who.${policy.name}`, policy.values)),
    votes,
    buttons.length > 0 && h('div', { class: 'row permission-answers' }, buttons),
  ];
}

const named = (voter) => (voter === whoami()?.subject ? t('chat.permission.you') : voter);

/** How the votes stand. */
function votesOf({ count, voters = [], refused = [] }, mine) {
  const agree = count ? count.quorum - count.needed : 0;
  return [
    count &&
      h(
        'p',
        {},
        h('strong', {}, t('chat.permission.votes', { agree, quorum: count.quorum })),
        ' ',
        plain(voters.map(named).join(', '), 300),
      ),
    mine !== null && h('p', { class: 'good' }, t('chat.permission.mine')),
    refused.map(({ voter, reason }) => h('p', { class: 'warn' }, t(`chat.permission.refused.${reason}`, { voter }))),
  ];
}

function decided({ request, answer }) {
  const by = answer?.decided_by;
  const choice = !answer || CUT_OFF.has(by) ? 'over' : answer.choice;
  const voters = Object.keys(answer?.votes ?? {});
  const who = voters.length > 1 ? voters.join(', ') : answer?.voter;
  const name = { cancelled: 'chat.permitted.cancelled', no_consensus: 'chat.permitted.no_consensus', timeout: 'chat.permission.nobody' }[
    by
  ];
  const words = t(name ?? `chat.permitted.${choice}`);
  const isSomebody = who && who !== whoami()?.subject;
  return h(
    'p',
    { class: 'small' },
    h('span', { class: choice.startsWith('allow') ? 'good' : 'problem' }, words),
    ' ',
    h('span', { class: 'cut' }, plain(toolTitle(request), LONGEST_TITLE)),
    isSomebody && h('span', { class: 'soft' }, '– ', plain(who, 120)),
  );
}
