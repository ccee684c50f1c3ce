// One room: what was said in it, what is said now, who is there, and the place where one writes.

import { get, listen, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { confirm } from '../../parts/dialog.js';
import { showMembers } from '../../parts/members.js';
import { failure } from '../../parts/turn_view.js';
import { unsaved } from '../../parts/unsaved.js';
import { errorNotice, showError } from '../../problems.js';
import { address, go } from '../../router.js';
import { may, whoami } from '../../session.js';
import { t } from '../../words.js';
import { composer } from '../chat/composer.js';
import { Attachments } from './attachments.js';
import { showMemory } from './memory.js';
import { MessageView } from './message.js';
import { roomPath, roomScope } from './paths.js';

const PAGE = 100;
const NEAR = 120; // pixels above the end at which somebody still reads along
const TYPING = 4000; // milliseconds for which somebody is shown to write

export class RoomPage {
  #id;
  #signal;
  #views = new Map(); // message id -> its view
  #typing = new Map(); // sender -> the timer that ends it
  #names = new Map();
  #reply = null;
  #told = 0;
  #title = h('p', { class: 'chat-title cut' });
  #people = h('p', { class: 'small soft', role: 'status' });
  #earlier = h('button', { type: 'button', hidden: true, on: { click: () => this.#readEarlier().catch(showError) } }, t('chat.earlier'));
  #talk = h('ol', { class: 'room-talk' });
  #note = h('div', {});
  #line = h('p', { class: 'small soft room-line', role: 'status' });
  #to = h('p', { class: 'small', hidden: true });
  #ask = h('input', { type: 'checkbox', checked: true });
  #composer;
  #files;

  constructor(id, signal) {
    this.#id = id;
    this.#signal = signal;
    this.#composer = composer({
      onSend: (text) => this.#send(text),
      onStop: () => this.#send('/cancel', []),
      hasMore: () => this.#files.some,
      signal,
    });
    this.#files = new Attachments(id, this.#composer.element);
    this.#composer.element.addEventListener('input', () => this.#tellTyping());
    unsaved(() => this.#composer.text.trim() !== '' || this.#files.some, signal);
  }

  get elements() {
    const button = (name, click) => h('button', { type: 'button', on: { click } }, t(`rooms.${name}`));
    const asks = h('label', { class: 'row small', title: t('rooms.ask.hint') }, this.#ask, t('rooms.ask'));
    const row = h('div', { class: 'row small' }, asks, h('span', { class: 'grow' }), this.#files.button);
    const foot = may('writer') ? [row, this.#files.element, this.#composer.element] : h('p', { class: 'notice' }, t('chat.reader'));
    return [
      h(
        'div',
        { class: 'page-head' },
        h('h1', {}, t('frame.rooms')),
        this.#title,
        h('span', { class: 'grow' }),
        button('memory', () => showMemory(this.#id, this.#signal)),
        button('members', () => showMembers(roomScope(this.#id), this.#signal)),
        may('writer') && button('remove', () => this.#remove()),
        h('a', { class: 'button', href: address('rooms') }, t('rooms.all')),
      ),
      this.#people,
      h('div', { class: 'chat-place' }, h('div', { class: 'earlier' }, this.#earlier), this.#note, this.#talk),
      h('div', { class: 'chat-foot' }, this.#line, this.#to, foot),
    ];
  }

  async open() {
    try {
      const [room] = await Promise.all([get(roomPath(this.#id), {}, { signal: this.#signal }), this.#read()]);
      fill(this.#title, plain(room.title || room.chat, 120));
    } catch (error) {
      if (error.name === 'AbortError') return;
      fill(this.#note, h('p', { class: 'notice', role: 'alert' }, error.status === 404 ? t('rooms.gone') : errorNotice(error)));
      this.#composer.element.hidden = true;
      return;
    }
    this.#toEnd();
    this.#composer.focus();
    const onState = (state, seconds) => {
      const words = { waiting: () => t('chat.lost', { seconds }), gone: () => t('rooms.gone'), open: () => '' };
      fill(this.#note, words[state]() && h('p', { class: 'notice warn' }, words[state]()));
      // What was said while nobody listened is read anew.
      if (state === 'open' && this.#views.size) this.#read().catch(showError);
    };
    listen({ path: roomPath(this.#id, '/events'), last: null, onEvent: (event) => this.#hear(event), onState, signal: this.#signal });
  }

  // ---- what is said

  async #read() {
    const page = await get(roomPath(this.#id, '/messages'), { limit: PAGE }, { signal: this.#signal });
    this.#earlier.hidden = !page.before;
    for (const message of page.messages) this.#put(message);
    fill(this.#note, !this.#views.size && h('p', { class: 'notice' }, t('rooms.empty')));
  }

  async #readEarlier() {
    const [first] = this.#views.values();
    const height = document.documentElement.scrollHeight;
    const page = await get(roomPath(this.#id, '/messages'), { limit: PAGE, before: first.message.number }, { signal: this.#signal });
    this.#earlier.hidden = !page.before;
    const later = [...this.#views];
    this.#views = new Map();
    for (const message of page.messages) this.#put(message);
    this.#views = new Map([...this.#views, ...later]);
    this.#talk.prepend(...page.messages.map(({ id }) => this.#views.get(id).element));
    scrollBy(0, document.documentElement.scrollHeight - height);
  }

  #put(message) {
    if (message.author === 'person') this.#names.set(message.sender, message.sender_name);
    const known = this.#views.get(message.id);
    if (known) return known.show(message);
    const options = {
      quoted: (id) => this.#views.get(id)?.message,
      onReply: may('writer') ? (one) => this.#replyTo(one) : null,
      onVote: may('writer') ? (request, choice) => this.#vote(request, choice) : null,
    };
    const view = new MessageView(message, options);
    this.#views.set(message.id, view);
    this.#talk.append(view.element);
  }

  #hear({ type, data }) {
    if (type === 'state_resync_required') return void this.#read().catch(showError);
    const event = data?.data;
    if (!event) return;
    const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;
    if (type === 'message') {
      fill(this.#note);
      this.#put(event.message);
      this.#showTyping(event.message.sender, false);
    } else if (type === 'message_changed') this.#views.get(event.id)?.change(event);
    else if (type === 'marked') this.#views.get(event.id)?.mark(event.mark);
    else if (type === 'typing') this.#showTyping(event.sender, event.active, event.sender_name);
    else if (type === 'presence') fill(this.#people, t('rooms.here', { people: event.people.join(', ').slice(0, 300) }));
    if (isAtEnd) this.#toEnd();
  }

  #showTyping(sender, active, name = '') {
    if (sender === whoami()?.subject) return;
    clearTimeout(this.#typing.get(sender)?.timer);
    this.#typing.delete(sender);
    // A person who goes away says nothing; the agent always says when it is done.
    if (active) this.#typing.set(sender, { name, timer: sender ? setTimeout(() => this.#showTyping(sender, false), TYPING) : 0 });
    const people = [...this.#typing].filter(([one]) => one).map(([, one]) => t('rooms.writes', { name: one.name.slice(0, 60) }));
    fill(this.#line, [this.#typing.has('') ? t('rooms.works') : '', ...people].filter(Boolean).join(' '));
    this.#composer.setBusy(this.#typing.has(''));
  }

  #tellTyping() {
    if (Date.now() - this.#told < TYPING / 2) return;
    this.#told = Date.now();
    // That one writes is worth no complaint.
    post(roomPath(this.#id, '/typing'), { active: true }, { signal: this.#signal }).catch(() => {});
  }

  #toEnd() {
    scrollTo({ top: document.documentElement.scrollHeight });
  }

  // ---- what a person does

  /** Whether it was taken on. */
  async #send(text, files = null) {
    const body = { text, mention: this.#ask.checked || Boolean(this.#reply), reply_to: this.#reply?.id ?? null };
    try {
      body.attachments = files ?? (await this.#files.upload(this.#signal));
      this.#put(await post(roomPath(this.#id, '/messages'), body, { signal: this.#signal }));
      if (!files) this.#files.clear();
      this.#replyTo(null);
      fill(this.#note);
      this.#toEnd();
      return true;
    } catch (error) {
      if (error.name !== 'AbortError') this.#composer.complain(failure(error));
      return false;
    }
  }

  #replyTo(message) {
    this.#reply = message;
    this.#to.hidden = !message;
    if (!message) return;
    const name = message.author === 'person' ? message.sender_name : t(`rooms.${message.author}`);
    const stop = h('button', { type: 'button', class: 'quiet small', on: { click: () => this.#replyTo(null) } }, t('rooms.no-reply'));
    fill(this.#to, t('rooms.replying', { name: name.slice(0, 60) }), ': ', plain(message.text, 80), ' ', stop);
    this.#composer.focus();
  }

  /** Whether the request was answered, by this person or by somebody before. */
  async #vote(request, choice) {
    try {
      await post(roomPath(this.#id, `/permissions/${encodeURIComponent(request)}`), { choice }, { signal: this.#signal });
      return true;
    } catch (error) {
      this.#composer.complain(failure(error));
      return error.code === 'permission_resolved';
    }
  }

  async #remove() {
    if (!(await confirm(t('rooms.remove.title'), t('rooms.remove.text'), { label: t('rooms.remove'), danger: true }))) return;
    try {
      await remove(roomPath(this.#id));
      go('rooms');
    } catch (error) {
      showError(error);
    }
  }
}
