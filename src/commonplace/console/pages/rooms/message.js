// A message of a room as an element. What the agent writes grows; a question of a tool has its buttons.

import { fill, h, plain } from '../../dom.js';
import { lengthy } from '../../parts/lengthy.js';
import { markdown } from '../../parts/markdown.js';
import { patchOf } from '../../parts/patch.js';
import { whoami } from '../../session.js';
import { clock, moment, t } from '../../words.js';
import { filesOf } from './attachments.js';

const MOST_RENDERED = 20_000; // characters that are read as Markdown
const CHOICES = { 'approve': 'allow_once', 'approve-always': 'allow_session', 'deny': 'reject_once' };

export class MessageView {
  message;
  element;
  #options;
  #mark = h('span', { class: 'small' });
  #body = h('div', {});

  /** `quoted(id)` is another message, `onReply(message)` and `onVote(request, choice)` what a person does; null if they may not. */
  constructor(message, options) {
    this.#options = options;
    this.element = h('li', {
      class: 'message',
      data: { author: message.author, own: message.sender === whoami()?.subject, id: message.id },
    });
    this.show(message);
  }

  show(message) {
    this.message = message;
    const { onReply, quoted } = this.#options;
    const name = message.author === 'person' ? message.sender_name : t(`rooms.${message.author}`);
    const reply =
      onReply &&
      message.author !== 'notice' &&
      h('button', { type: 'button', class: 'quiet small', on: { click: () => onReply(this.message) } }, t('rooms.reply'));
    const before = message.data.reply_to && message.author !== 'notice' ? quoted(message.data.reply_to) : null;
    fill(
      this.element,
      h(
        'div',
        { class: 'row small soft' },
        h('strong', {}, plain(name, 60)),
        h('time', { datetime: message.at, title: moment(message.at) }, clock(message.at)),
        this.#mark,
        reply,
      ),
      before &&
        h('p', { class: 'quote cut' }, before.author === 'person' ? [plain(before.sender_name, 40), ': '] : '', plain(before.text, 100)),
      this.#body,
      filesOf(message.data.attachments),
    );
    this.#showBody();
  }

  change({ text, data }) {
    this.message = { ...this.message, text: text ?? this.message.text, data: data ?? this.message.data };
    this.#showBody();
  }

  mark(mark) {
    fill(this.#mark, mark && h('span', { 'title': t('rooms.seen'), 'aria-label': t('rooms.seen') }, mark));
  }

  #showBody() {
    const { author, text, data } = this.message;
    if (data.card) fill(this.#body, this.#card(data));
    else if (author === 'agent' && text.length <= MOST_RENDERED)
      fill(this.#body, h('div', { class: 'reply' }, markdown(text, { level: 4 })));
    else fill(this.#body, lengthy({ class: 'text' }, text, { most: MOST_RENDERED }));
  }

  #card({ card, outcome }) {
    const { onVote } = this.#options;
    const done =
      outcome &&
      (outcome.voter
        ? t(outcome.allowed ? 'rooms.allowed' : 'rooms.refused', { voter: outcome.voter.slice(0, 60) })
        : plain(outcome.text, 200));
    const buttons = card.options.map(({ label, command }) =>
      h(
        'button',
        {
          type: 'button',
          class: command === 'deny' ? 'danger' : command === 'approve' ? 'primary' : '',
          on: {
            click: async ({ target }) => {
              const row = target.parentElement.querySelectorAll('button');
              for (const one of row) one.disabled = true;
              // Whoever was too late sees what was decided.
              if (!(await onVote(card.request, CHOICES[command]))) for (const one of row) one.disabled = false;
            },
          },
        },
        plain(label, 60),
      ),
    );
    return h(
      'section',
      { class: 'card-box', data: { state: outcome ? 'answered' : 'asked' } },
      h('p', { class: 'small soft' }, plain(card.asker, 60), ' · ', h('code', {}, plain(card.tool, 60))),
      h('p', {}, h('strong', {}, plain(card.title, 500))),
      card.diff && patchOf(card.diff),
      done ? h('p', { role: 'status' }, done) : onVote && h('div', { class: 'row' }, buttons),
    );
  }
}
