// A session as the conversation it was: who said what and when, in order, day by day, a page at a time.

import { get } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { lengthy } from '../parts/lengthy.js';
import { markdownOf } from '../parts/markdown.js';
import { shortcut } from '../parts/shortcuts.js';
import { errorNotice } from '../problems.js';
import { address } from '../router.js';
import { clock, day, moment, number, t } from '../words.js';

const PAGE = 100;
const MOST_RENDERED = 20_000; // characters of a turn
const COLOURS = 6;

export async function show(place, { part, query, signal }) {
  const talk = new Conversation(part, query, signal);
  const all = address('memory', query.scope ?? '', { session: part });
  fill(
    place,
    h('p', { class: 'small back' }, h('a', { href: all }, '← ', t('session.records'))),
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.session'), ' ', h('span', { class: 'mono' }, plain(part, 120))), talk.count),
    talk.days,
    talk.note,
    talk.more,
  );
  shortcut('j', t('session.key.next'), () => talk.step(1), signal);
  shortcut('k', t('session.key.before'), () => talk.step(-1), signal);
  shortcut('u', t('session.records'), () => void (location.hash = all), signal);
  await talk.loadUpTo(query.at ? Number(query.at) : 0);
}

class Conversation {
  count = h('p', { class: 'soft', role: 'status' }, t('frame.loading'));
  days = h('div', {});
  note = h('div', {});
  more = h('button', { type: 'button', hidden: true, on: { click: () => this.#goOn() } }, t('session.more'));
  #asked;
  #signal;
  #cursor = null;
  #size = 0;
  #speakers = new Map(); // speaker -> the number of their colour
  #day = null; // the last one: { name, list }

  constructor(session, { scope }, signal) {
    this.#asked = { session, scope, kind: 'turn', order: 'position', limit: PAGE };
    this.#signal = signal;
  }

  /** As far as the turn at this position, which is shown; 0: the first page. */
  async loadUpTo(position) {
    let last;
    do last = await this.#load();
    while (last !== null && this.#cursor !== null && last < position);
    const here = position ? this.days.querySelector(`[data-position="${position}"]`) : null;
    if (!here) return;
    here.setAttribute('aria-current', 'true');
    here.scrollIntoView({ block: 'center' });
    here.querySelector('a').focus({ preventScroll: true });
  }

  /** To the next turn, or the one before. */
  step(by) {
    const links = [...this.days.querySelectorAll('.turn-place')];
    const at = links.findIndex((link) => link.closest('li').contains(document.activeElement));
    links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]?.focus();
  }

  /** The next page; the keyboard goes on with its first turn. */
  async #goOn() {
    const before = this.#size;
    await this.#load();
    this.days.querySelectorAll('.turn-place')[before]?.focus();
  }

  /** The position of the last turn that came; null if none did. */
  async #load() {
    this.more.disabled = true;
    try {
      const { records, cursor } = await get('/v1/records', { ...this.#asked, cursor: this.#cursor }, { signal: this.#signal });
      this.#cursor = cursor;
      for (const record of records) this.#add(record);
      this.#size += records.length;
      fill(this.note, !this.#size && h('p', { class: 'notice' }, t('session.none')));
      this.#paint();
      return records.at(-1)?.position ?? null;
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.note, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
      return null;
    } finally {
      this.more.disabled = false;
    }
  }

  #paint() {
    const size = `${number(this.#size)}${this.#cursor === null ? '' : '+'}`;
    this.more.hidden = this.#cursor === null;
    fill(this.count, t('session.count', this.#size, size), ' · ', [...this.#speakers.keys()].slice(0, 5).map(listed));
  }

  #add(record) {
    const said = record.at ?? record.created_at;
    const name = day(said);
    if (this.#day?.name !== name) {
      const list = h('ol', { class: 'talk' });
      this.#day = { name, list };
      this.days.append(h('section', { class: 'day' }, h('h2', {}, h('time', { datetime: said.slice(0, 10) }, name)), list));
    }
    this.#day.list.append(this.#turn(record, said));
  }

  #turn(record, said) {
    const speaker = record.speaker ?? '–';
    if (!this.#speakers.has(speaker)) this.#speakers.set(speaker, (this.#speakers.size % COLOURS) + 1);
    const rendered = record.text.length > MOST_RENDERED ? null : markdownOf(record.text, { level: 4 });
    const hint = h('span', { class: 'visually-hidden' }, ' ', t('session.open', { speaker }));
    return h(
      'li',
      { class: `turn speaker-${this.#speakers.get(speaker)}`, data: { position: record.position } },
      h(
        'div',
        { class: 'row' },
        h('strong', {}, plain(speaker, 60)),
        h('time', { class: 'soft small', datetime: said, title: moment(said) }, clock(said)),
        h('a', { class: 'turn-place small mono', href: address('record', record.id) }, `#${number((record.position ?? 0) + 1)}`, hint),
      ),
      rendered ?? lengthy({ class: 'text' }, record.text, { most: MOST_RENDERED }),
    );
  }
}

const listed = (speaker, index) => [index > 0 && ', ', plain(speaker, 40)];
