// The sessions in use: whose they are, with what they were opened, what they do now, and what they ask, to be answered here.

import { fill, h, plain } from '../../dom.js';
import { isBusy, onLive } from '../../parts/live_sessions.js';
import { permissionView, vote } from '../../parts/permission.js';
import { failure } from '../../parts/turn_view.js';
import { toast } from '../../parts/toast.js';
import { address } from '../../router.js';
import { may, whoami } from '../../session.js';
import { titleOf } from '../../text/session_title.js';
import { named, t } from '../../words.js';

/** A section that keeps itself up to date, and is hidden as long as nothing is in use. */
export function liveSessions(signal) {
  const list = h('ul', { 'class': 'live-list', 'aria-label': t('sessions.live') });
  const element = h('section', { class: 'live-sessions', hidden: true }, h('h2', {}, t('sessions.live')), list);
  const rows = new Map(); // session -> its row

  function show(all) {
    // What nobody has open and does nothing is merely kept ready.
    const sessions = all.filter(isBusy);
    const ids = new Set(sessions.map(({ session }) => session.id));
    for (const [id, row] of rows) {
      if (ids.has(id)) continue;
      row.element.remove();
      rows.delete(id);
    }
    sessions.forEach((activity, index) => {
      const { id } = activity.session;
      if (!rows.has(id)) rows.set(id, liveRow(id, signal));
      const row = rows.get(id);
      row.show(activity);
      // Moved only if it stands elsewhere: what is moved loses the keyboard.
      if (list.children[index] !== row.element) list.insertBefore(row.element, list.children[index] ?? null);
    });
    element.hidden = !sessions.length;
  }

  onLive(show, signal);
  return element;
}

function liveRow(id, signal) {
  const link = h('a', { class: 'live-title', href: address('chat', id) });
  const head = h('div', { class: 'session-head' });
  const facts = h('div', { class: 'row small soft' });
  const questions = h('div', { class: 'stack' });
  const element = h('li', { class: 'live-session' }, head, facts, questions);
  const views = new Map(); // request -> its view

  async function answer(request, choice) {
    try {
      return await vote(id, request, choice, signal);
    } catch (error) {
      if (error.name !== 'AbortError') toast(failure(error), { kind: 'problem' });
      return error.code === 'permission_resolved' ? 0 : null;
    }
  }

  function ask(requests) {
    const ids = new Set(requests.map((request) => request.id));
    for (const [key, view] of views) {
      if (ids.has(key)) continue;
      // The keyboard stays where it was answered.
      if (view.element.contains(document.activeElement)) link.focus();
      view.element.remove();
      views.delete(key);
    }
    for (const request of requests) {
      if (views.has(request.id)) continue;
      const view = permissionView({ answer: may('writer') ? answer : null, signal });
      views.set(request.id, view);
      view.show({ request, answer: null, isOver: false });
      questions.append(view.element);
    }
  }

  return {
    element,
    show(activity) {
      const { session, state, permissions } = activity;
      element.dataset.state = state;
      fill(link, plain(titleOf(session, t('chat.untitled')), 200));
      const badges = [
        h('span', { class: 'badge' }, named('chat.source', session.source)),
        session.shared && h('span', { class: 'badge' }, t('sessions.shared')),
      ];
      if (!link.isConnected) fill(head, h('span', { 'class': 'live-dot', 'aria-hidden': 'true' }), link);
      while (head.children.length > 2) head.lastElementChild.remove();
      head.append(...badges.filter(Boolean));
      fill(facts, factsOf(activity));
      ask(permissions);
    },
  };
}

function factsOf({ session, state, tool, prompts, listeners }) {
  const playing = prompts.find((prompt) => prompt.state === 'running');
  const waiting = prompts.filter((prompt) => prompt.state === 'queued').length;
  const does = tool ?? playing?.text ?? '';
  return [
    h('span', { class: 'live-state' }, t(`chat.does.${state}`)),
    does && h('span', { class: 'cut' }, plain(does, 160)),
    playing && playing.speaker !== whoami().subject && h('span', {}, t('sessions.speaks', { speaker: playing.speaker })),
    session.owner !== whoami().subject && h('span', { class: 'mono' }, t('sessions.of', { owner: session.owner })),
    h('span', { class: 'mono' }, plain(session.agent, 80)),
    waiting > 0 && h('span', {}, t('sessions.queued', waiting)),
    listeners > 0 && h('span', {}, t('chat.listeners', listeners)),
  ];
}
