// Rooms: several people and one agent. A list of them, or one with what is said in it.

import { get, post } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { time } from '../parts/badge.js';
import { field, form } from '../parts/form.js';
import { showError } from '../problems.js';
import { address, go } from '../router.js';
import { may } from '../session.js';
import { learn, t } from '../words.js';
import { RoomPage } from './rooms/room.js';
import { ROOMS } from './rooms/paths.js';

export async function show(place, { part, signal }) {
  if (!part) return showList(place, signal);
  // The dialog of members has the words of the memory page.
  await learn('memory');
  const page = new RoomPage(part, signal);
  fill(place, page.elements);
  return page.open();
}

async function showList(place, signal) {
  const list = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  const head = h(
    'div',
    { class: 'page-head' },
    h('h1', {}, t('frame.rooms')),
    h('span', { class: 'grow' }),
    h('a', { class: 'button', href: address('channels') }, t('frame.channels')),
    may('writer') && newButton(),
  );
  fill(place, head, list);
  const { rooms } = await get(ROOMS, {}, { signal });
  const row = (room) =>
    h(
      'li',
      {},
      h('a', { href: address('rooms', room.chat) }, plain(room.title || room.chat, 120)),
      ' ',
      h('small', { class: 'soft' }, time(room.created_at)),
    );
  fill(list, rooms.length ? h('ul', { class: 'room-list' }, rooms.map(row)) : none());
}

/** What a room is for, and where the rooms of other platforms are. */
const none = () =>
  h(
    'div',
    { class: 'notice' },
    h('p', {}, t('rooms.none')),
    h('p', {}, t('rooms.elsewhere'), ' ', h('a', { href: address('channels') }, t('frame.channels'))),
  );

function newButton() {
  const click = async () => {
    const title = h('input', { required: true, maxlength: 100, autocomplete: 'off' });
    const act = () => post(ROOMS, { title: title.value.trim() });
    try {
      const room = await form(t('rooms.new'), [field(t('rooms.new.title'), title)], { label: t('rooms.new.do'), act });
      if (room) go('rooms', room.chat);
    } catch (error) {
      showError(error);
    }
  };
  return h('button', { type: 'button', class: 'primary', on: { click } }, t('rooms.new'));
}
