// How a channel is connected: its state in words, what is left to do, a test message, and what happened lately.

import { get, post } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { field } from '../../parts/form.js';
import { errorNotice, showError } from '../../problems.js';
import { named, t } from '../../words.js';
import { after } from './guide.js';
import { LOCAL, channelPath, prose, said } from './paths.js';
import { isMoving, stateText } from './state.js';

const LOOK_EVERY = 3000; // milliseconds, while it connects

export async function showConnection(panel, page, signal) {
  const state = h('div', {});
  const log = h('div', {});
  let timer = null;
  signal.addEventListener('abort', () => clearTimeout(timer));
  const paint = async () => {
    fill(state, stateText(page.status));
    await showLog(log, page, signal);
    if (signal.aborted || !isMoving(page.status)) return;
    timer = setTimeout(() => look().catch(showError), LOOK_EVERY);
  };
  const look = async () => {
    clearTimeout(timer);
    await page.look();
    await paint();
  };
  const again = h('button', { type: 'button', class: 'small', on: { click: () => look().catch(showError) } }, t('channels.look'));
  const isLocal = LOCAL.includes(page.status.channel.kind);
  fill(
    panel,
    h('section', { class: 'card' }, h('div', { role: 'status' }, state), again),
    page.query.new && !isLocal && h('section', { class: 'card guide' }, after(page.guide)),
    h('section', {}, h('h2', {}, t('channels.test')), testForm(page, signal)),
    h('section', {}, h('h2', {}, t('channels.log')), h('p', { class: 'soft small' }, t('channels.log.text')), log),
  );
  await paint();
}

function testForm(page, signal) {
  const list = h('datalist', { id: 'channel-rooms' });
  const chat = h('input', { required: true, maxlength: 180, list: list.id, autocomplete: 'off', class: 'mono' });
  const result = h('div', { role: 'status' });
  const send = h('button', { type: 'submit' }, t('channels.test.do'));
  const submit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    fill(result, t('frame.loading'));
    try {
      fill(result, outcome(await post(channelPath(page.name, '/test'), { chat: chat.value.trim() }, { signal })));
    } catch (error) {
      if (error.name !== 'AbortError') fill(result, h('p', { class: 'problem' }, errorNotice(error)));
    } finally {
      send.disabled = false;
    }
  };
  get(channelPath(page.name, '/spending'), {}, { signal }).then(({ rooms }) => {
    fill(
      list,
      rooms.map(({ room }) => h('option', { value: room.chat }, room.title)),
    );
    if (rooms.length === 1) chat.value = rooms[0].room.chat;
  }, showError);
  const hint = LOCAL.includes(page.status.channel.kind) ? 'channels.test.hint.local' : 'channels.test.hint';
  return h(
    'form',
    { class: 'stack channel-form', on: { submit } },
    field(t('channels.test.room'), chat, t(hint)),
    list,
    h('div', { class: 'row' }, send),
    result,
  );
}

function outcome({ is_sent: isSent, chat, error, meaning }) {
  if (isSent) return h('p', { class: 'good' }, t('channels.test.sent', { chat: chat.slice(0, 180) }));
  return [
    h('p', { class: 'problem' }, h('strong', {}, t('channels.test.failed')), ' ', plain(error ?? '', 500)),
    meaning && h('p', {}, h('strong', {}, t('channels.meaning')), ' ', prose(said(meaning))),
  ];
}

async function showLog(place, page, signal) {
  try {
    const { entries } = await get(channelPath(page.name, '/log'), {}, { signal });
    const row = ({ at, event, detail, meaning }) =>
      h(
        'li',
        {},
        h('small', { class: 'soft' }, time(at)),
        ' ',
        h('strong', {}, named('channels.event', event)),
        detail && [' ', h('span', { class: 'mono small' }, plain(detail, 500))],
        meaning && h('p', { class: 'small' }, prose(said(meaning))),
      );
    // The latest first.
    fill(
      place,
      entries.length ? h('ol', { class: 'channel-log' }, entries.toReversed().map(row)) : h('p', { class: 'soft' }, t('channels.log.none')),
    );
  } catch (error) {
    if (error.name !== 'AbortError') fill(place, h('p', { class: 'problem' }, errorNotice(error)));
  }
}
