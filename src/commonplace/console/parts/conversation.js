// A conversation on the page: the turns that are kept, and those that are played while somebody looks. The words are those of the chat.

import { get, listen } from '../api.js';
import { fill, h } from '../dom.js';
import { errorNotice } from '../problems.js';
import { Talk, turnsOf } from '../text/talk.js';
import { t } from '../words.js';
import { TurnView } from './turn_view.js';

const PAGE = 200;
const SESSION = new Set([
  'mode_changed',
  'model_changed',
  'prompt_queued',
  'prompt_withdrawn',
  'turn_started',
  'turn_ended',
  'turn_failed',
]);
const NEAR = 120; // pixels above the end at which somebody still reads along

export const sessionPath = (id, more = '') => `/v1/sessions/${encodeURIComponent(id)}${more}`;

export class Conversation {
  element = h('ol', { class: 'talk' });
  earlier = h('button', { type: 'button', hidden: true, on: { click: () => this.#readEarlier() } }, t('chat.earlier'));
  note = h('div', {});
  talk = new Talk();
  #id;
  #signal;
  #options;
  #messages = [];
  #views = new Map(); // turn -> its view
  #dirty = new Set();
  #frame = 0;
  #heard = [];
  #isTaking = false;
  #seen; // looks which turns are on the screen

  /**
   * `answer`, `withdraw` and `mayWithdraw` as for a TurnView; `onChange()` when a turn begins or ends; `onSession(type, data)` when the session is
   * set otherwise, and when it has to be looked at anew.
   */
  constructor(id, { answer = null, withdraw = null, mayWithdraw, onChange = () => {}, onSession = () => {}, signal }) {
    this.#id = id;
    this.#signal = signal;
    this.#options = { answer, withdraw, mayWithdraw, signal };
    this.onChange = onChange;
    this.onSession = onSession;
    this.#seen = new IntersectionObserver((entries) => this.#remember(entries));
    signal.addEventListener('abort', () => this.#seen.disconnect());
  }

  /** Read the last messages that are kept. */
  async read() {
    const page = await get(sessionPath(this.#id, '/messages'), { limit: PAGE }, { signal: this.#signal });
    this.#messages = page.messages;
    this.earlier.hidden = !page.before;
    this.talk.read(page.messages);
    this.#paint();
    this.onChange();
  }

  /** Hear what happens from now on, and what happened since the daemon took the session up. `onState` as for `listen`. */
  follow(onState) {
    const onEvent = (event) => {
      this.#heard.push(event);
      this.#take();
    };
    return listen({ path: sessionPath(this.#id, '/events'), last: 0, onEvent, onState, signal: this.#signal });
  }

  /** What this person just said. */
  say(run, text) {
    this.#touch(this.talk.say(run, text, new Date().toISOString()));
    this.#paintNow();
    this.toEnd();
  }

  withdraw(run) {
    this.talk.withdraw(run);
    this.#paintNow();
  }

  /** What waits for its turn, as the daemon lists it. */
  queue(prompts) {
    this.talk.queue(prompts);
    this.#paint();
  }

  /** Requests that wait, as the daemon lists them. */
  ask(requests) {
    for (const request of requests) this.#touch(this.talk.ask(request));
    if (requests.length) this.onChange();
  }

  /** Read what was recalled and learned of the turns that come into view. */
  rememberSeen() {
    for (const view of this.#views.values()) this.#seen.observe(view.element);
  }

  toEnd() {
    scrollTo({ top: document.documentElement.scrollHeight });
  }

  async #readEarlier() {
    const height = document.documentElement.scrollHeight;
    this.earlier.disabled = true;
    try {
      const before = this.#messages[0]?.position;
      const page = await get(sessionPath(this.#id, '/messages'), { limit: PAGE, before }, { signal: this.#signal });
      this.#messages = [...page.messages, ...this.#messages];
      this.earlier.hidden = !page.before;
      const known = new Set(this.talk.turns.map(({ run }) => run));
      const more = turnsOf(this.#messages);
      const cut = more.findIndex(({ run }) => run && known.has(run));
      // A turn that was cut by the page is whole now.
      const [first] = this.talk.turns;
      this.talk.turns.unshift(...more.slice(0, cut < 0 ? more.length : cut));
      if (cut >= 0 && first?.state === 'kept') this.talk.turns[this.talk.turns.indexOf(first)] = more[cut];
      this.#paintNow();
      this.rememberSeen();
      scrollBy(0, document.documentElement.scrollHeight - height);
    } catch (error) {
      this.fail(error);
    } finally {
      this.earlier.disabled = false;
    }
  }

  fail(error) {
    if (error.name !== 'AbortError') fill(this.note, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
  }

  /** Events one after the other: what has to be read anew is read before the next one. */
  async #take() {
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      while (this.#heard.length && !this.#signal.aborted) await this.#hear(this.#heard.shift());
    } catch (error) {
      this.fail(error);
    } finally {
      this.#isTaking = false;
    }
  }

  async #hear({ type, data }) {
    if (type === 'state_resync_required') {
      await this.read();
      return this.onSession(type, {});
    }
    if (type === 'replay_complete') return this.rememberSeen();
    const before = this.talk.playing;
    const turn = this.talk.hear(type, data?.data ?? {}, data?.at);
    if (SESSION.has(type)) this.onSession(type, data?.data ?? {});
    if (!turn) return;
    this.#touch(turn);
    const isEnd = type === 'turn_ended' || type === 'turn_failed';
    if (this.talk.playing !== before || type === 'turn_started') this.onChange();
    // What was missed of it is kept by now.
    if (isEnd && turn.isTorn) await this.read();
  }

  #touch(turn) {
    if (!turn) return;
    this.#dirty.add(turn);
    this.#paint();
  }

  #paint() {
    this.#frame ||= requestAnimationFrame(() => this.#paintNow());
  }

  /** However many events came since the last frame, they are painted once. */
  #paintNow() {
    this.#frame = 0;
    if (this.#signal.aborted) return;
    const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;
    const turns = new Set(this.talk.turns);
    for (const [turn, view] of this.#views) {
      if (turns.has(turn)) continue;
      this.#seen.unobserve(view.element);
      view.element.remove();
      this.#views.delete(turn);
    }
    let before = null;
    for (const turn of this.talk.turns) {
      const view = this.#views.get(turn) ?? this.#added(turn);
      if (this.#dirty.has(turn)) view.show();
      const next = before ? before.nextSibling : this.element.firstChild;
      if (next !== view.element) this.element.insertBefore(view.element, next);
      before = view.element;
    }
    this.#dirty.clear();
    fill(this.note, !turns.size && this.empty);
    if (isAtEnd) this.toEnd();
  }

  #added(turn) {
    const view = new TurnView(turn, this.#options);
    this.#views.set(turn, view);
    return view;
  }

  async #remember(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      this.#seen.unobserve(target);
      const view = [...this.#views.values()].find(({ element }) => element === target);
      try {
        await view?.remember();
      } catch {
        // The page was left.
        return;
      }
    }
  }

  /** What stands in the place of turns as long as there are none. */
  empty = null;
}
