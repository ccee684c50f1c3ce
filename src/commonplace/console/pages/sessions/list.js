// All conversations, the one used last first; or those in which something was said.

import { get } from '../../api.js';
import { eager, fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { onLive } from '../../parts/live_sessions.js';
import { archive, discard, rename, share } from '../../parts/session_actions.js';
import { shortcut } from '../../parts/shortcuts.js';
import { errorNotice } from '../../problems.js';
import { address, replaceAddress } from '../../router.js';
import { may, whoami } from '../../session.js';
import { titleOf } from '../../text/session_title.js';
import { named, t } from '../../words.js';
import { liveSessions } from './live.js';

const PAGE = 50;
const HITS = 50;
const CHOICES = ['no', 'yes', 'any'];

export async function listOf(place, query, signal) {
  const list = new SessionList(query, signal);
  fill(
    place,
    h(
      'div',
      { class: 'page-head' },
      h('h1', {}, t('frame.sessions')),
      h('span', { class: 'grow' }),
      may('writer') && h('a', { class: 'button', href: address('chat') }, t('chat.new')),
    ),
    liveSessions(signal),
    h('div', { class: 'filters' }, list.box, list.choice),
    list.element,
    list.more,
  );
  shortcut('/', t('frame.shortcuts.search'), () => list.box.focus(), signal);
  await list.load();
  onLive(() => list.refresh(), signal);
}

class SessionList {
  element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  box;
  choice;
  more = h('button', { type: 'button', hidden: true, on: { click: () => this.#loadMore() } }, t('frame.more'));
  #signal;
  #cursor = null;
  #rows = []; // { session, snippet }

  constructor({ q = '', archived = 'no' }, signal) {
    this.#signal = signal;
    const search = eager(() => this.load());
    this.box = h('input', {
      'type': 'search',
      'value': q,
      'maxlength': 1000,
      'placeholder': t('sessions.search'),
      'aria-label': t('sessions.search'),
      'on': { input: search },
    });
    this.choice = h(
      'select',
      { 'aria-label': t('sessions.which'), 'value': CHOICES.includes(archived) ? archived : 'no', 'on': { change: () => this.load() } },
      CHOICES.map((value) => h('option', { value }, t(`sessions.which.${value}`))),
    );
  }

  async load() {
    const asked = { q: this.box.value.trim(), archived: this.choice.value };
    replaceAddress('sessions', '', { q: asked.q, archived: asked.archived === 'no' ? '' : asked.archived });
    try {
      const rows = asked.q ? await this.#search(asked) : await this.#list(asked, null);
      // An answer that comes late is thrown away.
      if (asked.q !== this.box.value.trim()) return;
      this.#rows = rows;
      this.#paint();
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.element, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
    }
  }

  /** What others did meanwhile, as long as nobody looks for something or reads on. */
  async refresh() {
    if (this.box.value.trim() || this.#rows.length > PAGE || this.element.contains(document.activeElement)) return;
    await this.load();
  }

  async #search({ q, archived }) {
    const which = archived === 'no' ? 'any' : archived;
    const { hits } = await get('/v1/sessions/search', { q, archived: which, limit: HITS }, { signal: this.#signal });
    this.#cursor = null;
    // The best of each session stands for it.
    const best = new Map();
    for (const { session, snippet } of hits) if (!best.has(session.id)) best.set(session.id, { session, snippet });
    return [...best.values()];
  }

  async #list({ archived }, cursor) {
    const page = await get('/v1/sessions', { archived, limit: PAGE, cursor }, { signal: this.#signal });
    this.#cursor = page.cursor;
    return page.sessions.map((session) => ({ session, snippet: '' }));
  }

  async #loadMore() {
    const before = this.#rows.length;
    this.#rows = [...this.#rows, ...(await this.#list({ archived: this.choice.value }, this.#cursor))];
    this.#paint();
    this.element.querySelectorAll('.session-title')[before]?.focus();
  }

  #paint() {
    this.more.hidden = this.#cursor === null;
    const none = this.box.value.trim() ? 'sessions.no-hits' : this.choice.value === 'yes' ? 'sessions.none-archived' : 'sessions.none';
    fill(
      this.element,
      this.#rows.length
        ? h(
            'ul',
            { 'class': 'session-list', 'aria-label': t('frame.sessions') },
            this.#rows.map((row) => this.#row(row)),
          )
        : h('p', { class: 'notice' }, t(none)),
    );
  }

  #row({ session, snippet }) {
    const title = titleOf(session, t('chat.untitled'));
    const facts = [session.agent, session.workspace, session.owner !== whoami().subject && t('sessions.of', { owner: session.owner })];
    return h(
      'li',
      {},
      h(
        'div',
        { class: 'session-head' },
        h('a', { class: 'session-title', href: address('sessions', session.id) }, plain(title, 200)),
        session.archived_at && h('span', { class: 'badge' }, t('sessions.away')),
        h('span', { class: 'badge' }, named('chat.source', session.source)),
        session.shared && h('span', { class: 'badge' }, t('sessions.shared')),
      ),
      snippet && h('p', { class: 'text small clamp' }, plain(snippet, 400)),
      h(
        'div',
        { class: 'row small soft' },
        h('span', {}, t('sessions.messages', session.messages)),
        time(session.updated_at),
        facts.filter(Boolean).map((one) => h('span', { class: 'mono' }, plain(one, 80))),
        h('span', { class: 'grow' }),
        may('writer') && this.#buttons(session),
      ),
    );
  }

  #buttons(session) {
    const replaced = (changed) => {
      if (!changed) return;
      this.load();
    };
    const button = (label, click, kind = 'quiet') => h('button', { type: 'button', class: `${kind} small`, on: { click } }, label);
    return [
      h('a', { class: 'button small', href: address('chat', session.id) }, t('sessions.continue')),
      session.workspace &&
        isOurs(session) &&
        button(t(session.shared ? 'sessions.unshare' : 'sessions.share'), async () => replaced(await share(session))),
      button(t('sessions.rename'), async () => replaced(await rename(session))),
      button(t(session.archived_at ? 'sessions.restore' : 'sessions.archive'), async () => replaced(await archive(session))),
      button(t('frame.delete'), async () => replaced(await discard(session))),
    ];
  }
}

const isOurs = ({ owner }) => owner === whoami().subject || may('admin');
