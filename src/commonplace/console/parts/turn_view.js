// A turn of a conversation as an element, which grows as the turn does. The words are those of the chat.

import { fill, h, plain } from '../dom.js';
import { errorMessage } from '../problems.js';
import { address } from '../router.js';
import { whoami } from '../session.js';
import { isOver } from '../text/talk.js';
import { clock, lookup, moment, number, t } from '../words.js';
import { lengthy } from './lengthy.js';
import { usd } from './money.js';
import { readRecollection, recollection } from './recollection.js';
import { partView } from './turn_parts.js';

const MOST_SAID = 4_000; // characters of a question at once

/** `answer(request, choice)` votes on a question, `withdraw(turn)` takes back what waits, if this person `mayWithdraw(turn)`; without them nobody can. */
export class TurnView {
  element;
  turn;
  #options;
  #said = h('div', { class: 'said' });
  #answer = h('div', { class: 'answer' });
  #parts = h('div', { class: 'parts' });
  #foot = h('div', { class: 'turn-foot row small soft' });
  #beside;
  #views = [];
  #saidFor = null;

  constructor(turn, { answer = null, withdraw = null, mayWithdraw = isMine, signal }) {
    this.turn = turn;
    this.#options = { answer, withdraw, mayWithdraw, signal };
    this.#beside = recollection(signal);
    fill(this.#answer, this.#parts, this.#foot);
    this.element = h('li', { class: 'turn' }, this.#said, h('div', { class: 'exchange' }, this.#answer, this.#beside.element));
    this.show();
  }

  /** Show the turn as it is now. */
  show() {
    const { turn } = this;
    this.element.dataset.state = turn.state;
    if (turn.run) this.element.dataset.run = turn.run;
    this.#sayAgain();
    // A turn that began anew has other parts.
    while (this.#views.length && this.#views.at(-1).part !== turn.parts[this.#views.length - 1]) this.#views.pop().element.remove();
    turn.parts.forEach((part, index) => {
      this.#views[index] ??= this.#added(part);
      this.#views[index].show(part);
    });
    this.#beside.show(turn);
    this.#showFoot();
  }

  /** What was recalled and learned is read from the run, where nothing told. */
  async remember() {
    const { turn } = this;
    if (!turn.run || turn.recalled || !isOver(turn)) return;
    const read = await readRecollection(turn.run, this.#options.signal);
    if (!read || turn.recalled) return;
    Object.assign(turn, { recalled: read.recalled, learned: turn.learned ?? read.learned });
    this.show();
  }

  #added(part) {
    const view = partView(part, this.#options);
    this.#parts.append(view.element);
    return { ...view, part };
  }

  #sayAgain() {
    const { turn } = this;
    const now = `${turn.text}\0${turn.state === 'waiting'}\0${turn.speaker}`;
    if (now === this.#saidFor) return;
    this.#saidFor = now;
    const { withdraw, mayWithdraw } = this.#options;
    const back =
      withdraw &&
      mayWithdraw(turn) &&
      h('button', { type: 'button', class: 'quiet small', on: { click: () => withdraw(turn) } }, t('chat.withdraw'));
    fill(
      this.#said,
      h(
        'div',
        { class: 'row small soft' },
        h('strong', {}, isMine(turn) ? t('chat.you') : plain(turn.speaker, 60)),
        turn.at && h('time', { datetime: turn.at, title: moment(turn.at) }, clock(turn.at)),
        turn.state === 'waiting' && [h('span', { class: 'badge' }, t('chat.waiting')), back],
      ),
      lengthy({ class: 'text' }, turn.text, { most: MOST_SAID }),
    );
  }

  #showFoot() {
    const { turn } = this;
    const { usage } = turn;
    const run = turn.run && isOver(turn) && h('a', { href: address('runs', turn.run) }, t('chat.run'));
    fill(
      this.#foot,
      turn.state === 'running' && h('span', { class: 'working', role: 'status' }, t(`chat.${activity(turn)}`)),
      turn.state === 'cancelled' && h('span', { class: 'warn' }, t('chat.stopped')),
      turn.error && h('p', { class: 'problem', role: 'alert' }, failure(turn.error)),
      turn.stop && !['end_turn', 'cancelled'].includes(turn.stop) && h('span', { class: 'warn' }, t(`chat.stop.${turn.stop}`)),
      usage && h('span', {}, spent(usage)),
      run,
    );
  }
}

/** What a turn that is played does just now. */
function activity({ parts }) {
  if (parts.some(({ kind, answer, isOver: over }) => kind === 'permission' && !answer && !over)) return 'asks';
  const last = parts.at(-1);
  if (last?.kind === 'tool' && !last.result) return 'works';
  return last?.kind === 'text' ? 'writes' : 'thinks';
}

export const isMine = ({ speaker }) => !speaker || speaker === whoami()?.subject;

/** What went wrong, as a sentence. */
export const failure = (error) => lookup(`chat.problem.${error.code}`) ?? errorMessage(error);

/** Which model spoke, and what it took. */
export function spent({ model, input_tokens: input, output_tokens: output, cost_micro_usd: cost }) {
  const parts = [model];
  if (input || output) parts.push(t('chat.tokens', { input: number(input), output: number(output) }));
  if (cost) parts.push(usd(cost / 1_000_000));
  return parts.join(' · ');
}
