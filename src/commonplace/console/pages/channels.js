// Channels: the ways in by which rooms reach an agent. A list of them, one with all that is to know of it, or how another is added.

import { get } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { errorNotice } from '../problems.js';
import { address } from '../router.js';
import { t } from '../words.js';
import { ChannelPage } from './channels/channel.js';
import { showAdding, showKinds } from './channels/add.js';
import { linksOf } from './channels/links.js';
import { CHANNELS, governs, prose, said, titleOf } from './channels/paths.js';
import { isMoving, stateBadge } from './channels/state.js';

const LOOK_EVERY = 3000; // milliseconds, while a channel connects

export async function show(place, { part, query, signal }) {
  const { kinds } = await get(`${CHANNELS}/kinds`, {}, { signal });
  const wanted = kinds.find(({ guide }) => guide.kind === query.add);
  if (part) return new ChannelPage(part, { kinds, query, signal }).open(place);
  if (wanted) return showAdding(place, wanted, signal);
  if (query.add) return showKinds(place, kinds);
  return showList(place, kinds, signal);
}

async function showList(place, kinds, signal) {
  const list = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  fill(
    place,
    h(
      'div',
      { class: 'page-head' },
      h('h1', {}, t('frame.channels')),
      h('span', { class: 'grow' }),
      h('a', { class: 'button', href: address('rooms') }, t('channels.to-rooms')),
      governs() && h('a', { class: 'button primary', href: address('channels', '', { add: 'kind' }) }, t('channels.add')),
    ),
    h('p', { class: 'soft' }, t('channels.lead')),
    list,
    governs() ? people(kinds, signal) : h('p', { class: 'notice' }, t('channels.admin')),
  );
  let timer = null;
  signal.addEventListener('abort', () => clearTimeout(timer));
  const load = async () => {
    try {
      const { channels } = await get(CHANNELS, {}, { signal });
      fill(
        list,
        h(
          'ul',
          { class: 'channel-list' },
          channels.map((status) => card(status, kinds)),
        ),
        channels.length <= 2 && governs() && none(),
      );
      if (channels.some(isMoving)) timer = setTimeout(load, LOOK_EVERY);
    } catch (error) {
      if (error.name !== 'AbortError') fill(list, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
    }
  };
  await load();
}

/** Only what is there without being made: how to bring in the team. */
const none = () =>
  h('p', { class: 'notice' }, t('channels.none'), ' ', h('a', { href: address('channels', '', { add: 'kind' }) }, t('channels.add')));

function card(status, kinds) {
  const { channel, connection, meaning } = status;
  return h(
    'li',
    { class: 'card' },
    h(
      'div',
      { class: 'row' },
      h('h2', {}, h('a', { href: address('channels', channel.name) }, plain(channel.name, 40))),
      h('span', { class: 'soft' }, titleOf(kinds, channel.kind)),
      h('span', { class: 'grow' }),
      stateBadge(status),
    ),
    connection?.error && h('p', { class: 'problem small' }, plain(connection.error, 300)),
    meaning && h('p', { class: 'small' }, prose(said(meaning))),
    h(
      'p',
      { class: 'small soft' },
      t('channels.answers', { agent: channel.settings.agent.slice(0, 60) }),
      channel.settings.workspace && [' · ', t('channels.remembers', { workspace: channel.settings.workspace.slice(0, 60) })],
    ),
  );
}

const people = (kinds, signal) =>
  h('section', {}, h('h2', {}, t('channels.links')), h('p', { class: 'soft' }, t('channels.links.text')), linksOf(kinds, signal));
