// Chat: talk to an agent, see what it recalls and does, and say what it may.

import { get, patch, post, remove } from '../api.js';
import { fill, h, paced, plain } from '../dom.js';
import { Conversation, sessionPath } from '../parts/conversation.js';
import { isBusy, onLive } from '../parts/live_sessions.js';
import { vote } from '../parts/permission.js';
import { unsaved } from '../parts/unsaved.js';
import { failure, isMine } from '../parts/turn_view.js';
import { showError } from '../problems.js';
import { address, replaceAddress } from '../router.js';
import { may, whoami } from '../session.js';
import { titleOf } from '../text/session_title.js';
import { t } from '../words.js';
import { choices } from './chat/choices.js';
import { composer } from './chat/composer.js';
import { sessionBar } from './chat/session_bar.js';

const RECENT = 6;
const PACE = 200; // milliseconds

export async function show(place, { part, query, signal }) {
  const page = new ChatPage(signal);
  fill(place, page.elements);
  await page.open(part, query);
}

class ChatPage {
  #signal;
  #id = '';
  #conversation = null;
  #offer = { agents: [], models: [] };
  #title = h('p', { class: 'chat-title cut' });
  #links = h('span', { class: 'row' });
  #line = h('p', { class: 'small warn', role: 'status', hidden: true });
  #place = h('div', { class: 'chat-place' });
  #composer;
  #choices;
  #bar = sessionBar({ onMode: (mode) => this.#configure({ mode }) });
  #state = null; // how the session is set, as far as it is known

  constructor(signal) {
    this.#signal = signal;
    this.#choices = choices(signal);
    this.#composer = composer({
      onSend: (text, model) => this.#send(text, model),
      onStop: () => this.#stop(),
      onModel: (model) => this.#maySet && this.#configure({ model }),
      signal,
    });
    unsaved(() => this.#composer.text.trim() !== '', signal);
  }

  get elements() {
    const bar = may('writer') ? this.#composer.element : h('p', { class: 'notice' }, t('chat.reader'));
    return [
      h('div', { class: 'page-head' }, h('h1', {}, t('frame.chat')), this.#title, h('span', { class: 'grow' }), this.#links),
      this.#bar.element,
      this.#place,
      h('div', { class: 'chat-foot' }, this.#line, bar),
    ];
  }

  async open(id, query) {
    const offer = get('/v1/agents', {}, { signal: this.#signal });
    // Whoever talks on is not asked again with whom.
    await (id ? this.#take(id) : this.#greet());
    try {
      this.#offer = await offer;
    } catch (error) {
      showError(error);
    }
    if (!id) this.#choices.offer(this.#offer, query);
    this.#offerModels();
    this.#composer.focus();
  }

  /** Nothing was said yet: with whom to talk, and what there is to go on with. */
  async #greet() {
    const recent = h('div', {});
    fill(this.#links, sessionsLink());
    fill(
      this.#place,
      h('div', { class: 'notice chat-greeting' }, h('h2', {}, t('chat.begin')), h('p', {}, t('chat.begin.text')), this.#choices.element),
      recent,
    );
    const { sessions } = await get('/v1/sessions', { limit: RECENT }, { signal: this.#signal });
    showRecent(recent, sessions, []);
    onLive((live) => showRecent(recent, sessions, live), this.#signal);
  }

  /** The session that is talked in from now on. */
  async #take(id) {
    this.#id = id;
    const signal = this.#signal;
    const conversation = new Conversation(id, {
      answer: may('writer') ? (request, choice) => this.#answer(request, choice) : null,
      withdraw: may('writer') ? (turn) => this.#withdraw(turn) : null,
      mayWithdraw: (turn) => isMine(turn) || this.#maySet,
      onChange: () => this.#changed(),
      onSession: paced(() => this.#look().catch(showError), PACE),
      signal,
    });
    this.#conversation = conversation;
    conversation.empty = h('p', { class: 'notice' }, t('chat.empty'));
    fill(this.#links, h('a', { class: 'button', href: address('chat') }, t('chat.new')), sessionsLink());
    fill(this.#place, h('div', { class: 'earlier' }, conversation.earlier), conversation.note, conversation.element);
    try {
      const [session] = await Promise.all([get(sessionPath(id), {}, { signal }), conversation.read()]);
      this.#showSession(session);
    } catch (error) {
      conversation.fail(error);
      this.#composer.element.hidden = true;
      return;
    }
    conversation.toEnd();
    conversation.follow((state, seconds) => this.#showLine(state, seconds));
    await this.#look();
  }

  /** How the session is set, what waits in it for its turn, and what for an answer. */
  async #look() {
    const state = await get(sessionPath(this.#id, '/state'), {}, { signal: this.#signal });
    this.#state = state;
    this.#conversation.queue(state.prompts);
    this.#conversation.ask(state.permissions);
    this.#showSettings();
  }

  get #maySet() {
    return Boolean(this.session) && may('writer') && (this.session.owner === whoami().subject || may('admin'));
  }

  async #configure(changes) {
    try {
      this.#state = await patch(sessionPath(this.#id, '/state'), changes, { signal: this.#signal });
    } catch (error) {
      this.#composer.complain(error.code ? failure(error) : error.message);
    }
    this.#showSettings();
  }

  #showSettings() {
    if (this.session && this.#state) this.#bar.show(this.session, this.#state, this.#maySet);
    this.#offerModels();
  }

  #showSession(session) {
    this.session = session;
    const where = [session.agent, session.workspace, session.folder].filter(Boolean).join(' · ');
    fill(this.#title, plain(titleOf(session, t('chat.untitled')), 120), ' ', h('small', { class: 'soft mono' }, plain(where, 200)));
    this.#showSettings();
  }

  #offerModels() {
    if (this.#state) return this.#composer.offer(this.#state.options.models, this.#state.options.model);
    const agent = this.#offer.agents.find(({ id }) => id === (this.session?.agent ?? this.#choices.value.agent));
    this.#composer.offer(this.#offer.models, agent?.profile?.model ?? this.session?.model ?? this.#offer.models[0] ?? '');
  }

  #showLine(state, seconds) {
    this.#line.hidden = state === 'open';
    fill(this.#line, state === 'waiting' ? t('chat.lost', { seconds }) : state === 'gone' ? t('chat.gone') : '');
  }

  #changed() {
    const { talk } = this.#conversation;
    this.#composer.setBusy(Boolean(talk.playing));
    // The first question gives the session its title.
    if (!this.session?.title && talk.turns.length) this.#learnTitle();
  }

  async #learnTitle() {
    try {
      this.#showSession(await get(sessionPath(this.#id), {}, { signal: this.#signal }));
    } catch (error) {
      if (error.status !== 404) showError(error);
    }
  }

  // ---- what a person does

  /** Whether it was taken on. */
  async #send(text, model) {
    const signal = this.#signal;
    try {
      if (!this.#id) {
        const session = await post('/v1/sessions', { ...this.#choices.value, model: model || null, source: 'console' }, { signal });
        replaceAddress('chat', session.id);
        await this.#take(session.id);
      }
      const { run } = await post(sessionPath(this.#id, '/turns'), { text, model: model || null }, { signal });
      this.#conversation.say(run, text);
      return true;
    } catch (error) {
      if (error.name !== 'AbortError') this.#composer.complain(error.code ? failure(error) : error.message);
      return false;
    }
  }

  async #stop() {
    try {
      await post(sessionPath(this.#id, '/cancel'), {}, { signal: this.#signal });
    } catch (error) {
      showError(error);
    }
  }

  async #withdraw(turn) {
    try {
      const { cancelled } = await remove(sessionPath(this.#id, `/turns/${encodeURIComponent(turn.run)}`), {}, { signal: this.#signal });
      if (!cancelled) return;
      this.#conversation.withdraw(turn.run);
      this.#composer.putBack(turn.text);
    } catch (error) {
      showError(error);
    }
  }

  /** As for a TurnView: how many more votes are needed, or null if this one did not count. */
  async #answer(request, choice) {
    try {
      return await vote(this.#id, request, choice, this.#signal);
    } catch (error) {
      this.#composer.complain(failure(error));
      return error.code === 'permission_resolved' ? 0 : null;
    }
  }
}

/** What there is to go on with: what is in use first, whoever opened it. The keyboard is left where it is. */
function showRecent(place, sessions, live) {
  if (place.contains(document.activeElement)) return;
  const states = new Map(live.filter(isBusy).map((activity) => [activity.session.id, activity.state]));
  const open = live.map(({ session }) => session).filter(({ id }) => states.has(id));
  const others = sessions.filter(({ id }) => !states.has(id));
  const row = (session) => {
    const state = states.get(session.id);
    const badge = state && h('span', { class: state === 'asking' ? 'badge warn' : 'badge' }, t(`chat.does.${state}`));
    return h('li', {}, h('a', { href: address('chat', session.id) }, plain(titleOf(session, t('chat.untitled')), 120)), ' ', badge);
  };
  const rows = [...open, ...others].slice(0, Math.max(RECENT, open.length)).map(row);
  fill(place, rows.length > 0 && [h('h2', {}, t('chat.recent')), h('ul', { class: 'recent' }, rows)]);
}

const sessionsLink = () => h('a', { class: 'button', href: address('sessions') }, t('chat.sessions'));
