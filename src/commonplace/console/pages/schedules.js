// Schedules: what agents do by themselves, when next, what became of the last turn; and the switch for all.

import { get, post, remove } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { time } from '../parts/badge.js';
import { confirm } from '../parts/dialog.js';
import { toast } from '../parts/toast.js';
import { errorNotice, showError } from '../problems.js';
import { address } from '../router.js';
import { may } from '../session.js';
import { language, moment, t } from '../words.js';

const LOOK_EVERY = 3000; // milliseconds, while a turn is played
const pathOf = (id) => `/v1/schedules/${encodeURIComponent(id)}`;

export async function show(place, { signal }) {
  const list = new ScheduleList(signal);
  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.schedules')), h('span', { class: 'grow' }), list.master),
    h('p', { class: 'soft' }, t('schedules.lead')),
    list.element,
  );
  await list.load();
}

class ScheduleList {
  element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  master = h('span', {});
  #signal;
  #timer = null;

  constructor(signal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => clearTimeout(this.#timer));
  }

  async load() {
    clearTimeout(this.#timer);
    try {
      const everyone = may('admin');
      const [{ schedules }, { pauses }] = await Promise.all([
        get('/v1/schedules', everyone ? { everyone: true, limit: 200 } : { limit: 200 }, { signal: this.#signal }),
        get('/v1/schedules/pauses', {}, { signal: this.#signal }),
      ]);
      this.#fill(
        schedules,
        pauses.find((pause) => !pause.target),
      );
      if (schedules.some((schedule) => schedule.running)) this.#timer = setTimeout(() => this.load(), LOOK_EVERY);
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.element, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
    }
  }

  #fill(schedules, pause) {
    const change = () => this.#change(() => post(pause ? '/v1/schedules/resume' : '/v1/schedules/pause', {}), pause ? 'resumed' : 'paused');
    fill(
      this.master,
      may('admin') && h('button', { type: 'button', on: { click: change } }, t(pause ? 'schedules.resume' : 'schedules.pause')),
    );
    fill(
      this.element,
      pause && h('p', { class: 'notice' }, t('schedules.all-paused', { by: pause.by, at: moment(pause.at) })),
      schedules.length
        ? h(
            'ul',
            { 'class': 'schedule-list', 'aria-label': t('frame.schedules') },
            schedules.map((schedule) => this.#row(schedule)),
          )
        : h('p', { class: 'notice' }, t('schedules.none')),
    );
  }

  #row(schedule) {
    const words = language === 'zh' ? schedule.words_zh : schedule.words;
    const session = schedule.target.startsWith('session:') ? schedule.target.slice('session:'.length) : null;
    return h(
      'li',
      { class: 'card' },
      h('div', { class: 'row' }, h('h2', {}, plain(schedule.label, 120)), badge(schedule)),
      h('p', {}, plain(words, 200)),
      schedule.prompt !== schedule.label && h('p', { class: 'text clamp soft' }, plain(schedule.prompt, 400)),
      schedule.next_times.length > 0 &&
        h('p', { class: 'small soft' }, t('schedules.next'), ' ', schedule.next_times.map(moment).join(' · ')),
      schedule.disabled_because && h('p', { class: 'small' }, plain(schedule.disabled_because, 400)),
      schedule.last && lastTurn(schedule.last),
      h(
        'div',
        { class: 'row schedule-buttons' },
        session && h('a', { class: 'button', href: address('sessions', session) }, t('schedules.session')),
        may('writer') && this.#buttons(schedule),
        h('span', { class: 'small soft' }, t('schedules.by', { by: schedule.created_by_name })),
      ),
    );
  }

  #buttons(schedule) {
    const path = pathOf(schedule.id);
    const button = (name, act, more = {}) => h('button', { type: 'button', ...more, on: { click: act } }, t(`schedules.${name}`));
    const toggle = schedule.enabled ? 'disable' : 'enable';
    return [
      button('run', () => this.#change(() => post(`${path}/run`, {}), 'started'), { disabled: schedule.running }),
      button(toggle, () => this.#change(() => post(`${path}/${toggle}`, {}), `${toggle}d`)),
      button('cancel', () => this.#cancel(schedule), { class: 'quiet' }),
    ];
  }

  async #cancel(schedule) {
    const title = t('schedules.cancel.title', { label: schedule.label });
    if (!(await confirm(title, t('schedules.cancel.text'), { label: t('schedules.cancel'), danger: true }))) return;
    await this.#change(() => remove(pathOf(schedule.id), {}, { signal: this.#signal }), 'cancelled');
  }

  async #change(act, done) {
    try {
      await act();
      toast(t(`schedules.${done}`));
    } catch (error) {
      showError(error);
    }
    await this.load();
  }
}

function badge(schedule) {
  const state = schedule.running ? 'running' : schedule.paused ? 'is-paused' : schedule.enabled ? 'on' : 'off';
  return h('span', { class: `badge schedule-${state}` }, t(`schedules.${state}`));
}

function lastTurn(last) {
  const text = last.preview ?? last.error;
  return h(
    'p',
    { class: 'small' },
    h('span', { class: `schedule-${last.status}` }, t(`schedules.last.${last.status}`)),
    ' ',
    time(last.finished_at),
    text && h('span', { class: 'soft' }, ' ', plain(text, 300)),
    last.run && h('a', { class: 'schedule-last', href: address('runs', last.run) }, t('schedules.last.run')),
  );
}
