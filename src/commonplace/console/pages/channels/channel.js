// One channel: how it is connected, its rooms, who is let in, how it is set, and its guide.

import { get, patch, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { confirm } from '../../parts/dialog.js';
import { tabs } from '../../parts/tabs.js';
import { toast } from '../../parts/toast.js';
import { errorNotice, showError } from '../../problems.js';
import { address, go, replaceAddress } from '../../router.js';
import { t } from '../../words.js';
import { showConnection } from './connection.js';
import { wholeGuide } from './guide.js';
import { channelPath, governs, titleOf } from './paths.js';
import { showRooms } from './rooms.js';
import { showSenders } from './senders.js';
import { showSettings } from './settings.js';
import { stateBadge } from './state.js';

const PARTS = { connection: showConnection, rooms: showRooms, senders: showSenders, settings: showSettings, guide: showGuide };
const BUILT_IN = ['web', 'terminal'];

export class ChannelPage {
  name;
  kinds;
  query;
  status = null;
  #signal;
  #badge = h('span', {});
  #buttons = h('span', { class: 'row' });
  #tabs = null;

  constructor(name, { kinds, query, signal }) {
    Object.assign(this, { name, kinds, query });
    this.#signal = signal;
  }

  get guide() {
    return this.kinds.find(({ guide }) => guide.kind === this.status.channel.kind).guide;
  }

  async open(place) {
    try {
      await this.look();
    } catch (error) {
      if (error.name === 'AbortError') return;
      const text = error.status === 404 ? t('channels.gone') : errorNotice(error);
      fill(
        place,
        h('div', { class: 'page-head' }, h('h1', {}, t('frame.channels'))),
        h('p', { class: 'notice', role: 'alert' }, text),
        back(),
      );
      return;
    }
    const head = h(
      'div',
      { class: 'page-head' },
      h('h1', {}, t('frame.channels')),
      h(
        'p',
        { class: 'chat-title cut' },
        plain(this.name, 40),
        ' ',
        h('span', { class: 'soft' }, titleOf(this.kinds, this.status.channel.kind)),
      ),
      this.#badge,
      h('span', { class: 'grow' }),
      this.#buttons,
      back(),
    );
    if (!governs()) return void fill(place, head, h('p', { class: 'notice' }, t('channels.admin')), wholeGuide(this.guide));
    const names = Object.fromEntries(Object.keys(PARTS).map((name) => [name, t(`channels.part.${name}`)]));
    const open = (name, panel, leaving) => {
      replaceAddress('channels', this.name, { ...this.query, tab: name });
      return PARTS[name](panel, this, leaving);
    };
    this.#tabs = tabs({ page: 'channels', label: t('channels.parts'), names, open, signal: this.#signal });
    fill(place, head, this.#tabs.list, this.#tabs.panel);
    await this.#tabs.choose(Object.hasOwn(PARTS, this.query.tab) ? this.query.tab : 'connection', {});
  }

  /** Ask anew how it is. */
  async look() {
    this.status = await get(channelPath(this.name), {}, { signal: this.#signal });
    fill(this.#badge, stateBadge(this.status));
    const { enabled } = this.status.channel;
    const button = (name, act, more = {}) => h('button', { type: 'button', ...more, on: { click: act } }, t(`channels.${name}`));
    fill(
      this.#buttons,
      governs() && [
        enabled ? button('stop', () => this.#switch(false)) : button('start', () => this.#switch(true), { class: 'primary' }),
        !BUILT_IN.includes(this.name) && button('remove', () => this.#remove(), { class: 'quiet' }),
      ],
    );
    return this.status;
  }

  /** Set it otherwise. What it throws is for whoever asked. */
  async change(settings) {
    await patch(channelPath(this.name), { settings });
    toast(t('channels.changed'));
    await this.look();
  }

  async #switch(enabled) {
    if (
      !enabled &&
      !(await confirm(t('channels.stop.title', { name: this.name }), t('channels.stop.text'), { label: t('channels.stop'), danger: true }))
    )
      return;
    try {
      await patch(channelPath(this.name), { enabled });
      await this.look();
      await this.#tabs.choose('connection', {});
    } catch (error) {
      showError(error);
    }
  }

  async #remove() {
    const title = t('channels.remove.title', { name: this.name });
    if (!(await confirm(title, t('channels.remove.text'), { label: t('channels.remove'), danger: true }))) return;
    try {
      await remove(channelPath(this.name));
      toast(t('channels.removed', { name: this.name }));
      go('channels');
    } catch (error) {
      showError(error);
    }
  }
}

const back = () => h('a', { class: 'button', href: address('channels') }, t('channels.all'));

function showGuide(panel, page) {
  fill(panel, h('div', { class: 'guide' }, wholeGuide(page.guide)));
}
