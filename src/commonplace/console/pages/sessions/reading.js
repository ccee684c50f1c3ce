// A conversation to read: who said what, tool calls folded, and beside each answer what was recalled.

import { get } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { Conversation, sessionPath } from '../../parts/conversation.js';
import { archive, discard, rename } from '../../parts/session_actions.js';
import { address, go } from '../../router.js';
import { may } from '../../session.js';
import { titleOf } from '../../text/session_title.js';
import { t } from '../../words.js';

export async function readingOf(place, id, signal) {
  const conversation = new Conversation(id, { signal });
  conversation.empty = h('p', { class: 'notice' }, t('sessions.empty'));
  const head = h('div', {});
  fill(
    place,
    h('p', { class: 'small back' }, h('a', { href: address('sessions') }, '← ', t('sessions.all'))),
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.sessions'))),
    head,
    h('div', { class: 'earlier' }, conversation.earlier),
    conversation.note,
    conversation.element,
  );
  const show = (session) => fill(head, headOf(session, show));
  try {
    const [session] = await Promise.all([get(sessionPath(id), {}, { signal }), conversation.read()]);
    show(session);
    // One frame later the turns are on the page.
    requestAnimationFrame(() => conversation.rememberSeen());
  } catch (error) {
    conversation.fail(error);
  }
}

function headOf(session, show) {
  const facts = [session.agent, session.workspace, session.folder, session.model].filter(Boolean);
  return [
    h('h2', { class: 'session-name' }, plain(titleOf(session, t('chat.untitled')), 200)),
    h(
      'div',
      { class: 'row small soft' },
      h('span', {}, t('sessions.messages', session.messages)),
      time(session.updated_at),
      facts.map((one) => h('span', { class: 'mono' }, plain(one, 120))),
      h('a', { href: address('runs', '', { session: session.id }) }, t('sessions.runs')),
    ),
    may('writer') && h('div', { class: 'row session-buttons' }, buttons(session, show)),
  ];
}

function buttons(session, show) {
  const changed = async (act) => {
    const now = await act(session);
    if (now) show(now);
  };
  const click = (label, act) => h('button', { type: 'button', on: { click: act } }, label);
  return [
    h('a', { class: 'button', href: address('chat', session.id) }, t('sessions.continue')),
    click(t('sessions.rename'), () => changed(rename)),
    click(t(session.archived_at ? 'sessions.restore' : 'sessions.archive'), () => changed(archive)),
    click(t('frame.delete'), async () => (await discard(session)) && go('sessions')),
  ];
}
