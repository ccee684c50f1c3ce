// The rooms of a channel: their titles, what they have spent, and whether the agent is paused in them.

import { get, post } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { usd } from '../../parts/money.js';
import { toast } from '../../parts/toast.js';
import { errorNotice, showError } from '../../problems.js';
import { address } from '../../router.js';
import { moment, number, t } from '../../words.js';
import { channelPath } from './paths.js';

export async function showRooms(panel, page, signal) {
  const reload = () => showRooms(panel, page, signal);
  try {
    const { rooms } = await get(channelPath(page.name, '/spending'), {}, { signal });
    const none = h('p', { class: 'notice' }, t(page.name === 'web' ? 'channels.rooms.none.web' : 'channels.rooms.none'));
    fill(
      panel,
      rooms.length
        ? h(
            'ul',
            { class: 'channel-rooms' },
            rooms.map((one) => row(one, page, reload)),
          )
        : none,
    );
  } catch (error) {
    if (error.name !== 'AbortError') fill(panel, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
  }
}

function row(one, page, reload) {
  const { room } = one;
  const title = plain(room.title || room.chat, 120);
  return h(
    'li',
    { class: 'card' },
    h(
      'div',
      { class: 'row' },
      h('h2', {}, page.name === 'web' ? h('a', { href: address('rooms', room.chat) }, title) : title),
      !room.is_group && h('span', { class: 'badge' }, t('channels.rooms.alone')),
      room.paused && h('span', { class: 'badge warn' }, t('channels.rooms.paused')),
      h('span', { class: 'grow' }),
      pauseButton(room, page, reload),
    ),
    h(
      'p',
      { class: 'small soft' },
      h('span', { class: 'mono' }, plain(room.chat, 180)),
      ' · ',
      t('channels.rooms.since'),
      ' ',
      time(room.created_at),
    ),
    one.limit_usd || one.limit_tokens ? spent(one) : h('p', { class: 'small soft' }, t('channels.rooms.no-budget')),
  );
}

/** Money, tokens, or both: what is used up first counts. */
function spent({
  limit_usd: limit,
  spent_usd: real,
  estimated_usd: estimated,
  limit_tokens: most,
  tokens,
  estimated_tokens: guess,
  until,
}) {
  const bars = [];
  if (limit) {
    const values = { spent: usd(real + estimated), limit: usd(limit), until: moment(until) };
    bars.push(bar((real + estimated) / limit, t('channels.rooms.spent', values)));
  }
  if (most) {
    const values = { spent: number(tokens + guess), limit: number(most), until: moment(until) };
    bars.push(bar((tokens + guess) / most, t('channels.rooms.tokens', values)));
  }
  return h('div', {}, bars);
}

function bar(whole, text) {
  const share = Math.min(1, whole);
  return [
    h('p', { class: `small ${share >= 0.95 ? 'problem' : share >= 0.75 ? 'warn' : ''}` }, text),
    h('progress', { 'max': 1, 'value': share, 'aria-label': text }),
  ];
}

function pauseButton(room, page, reload) {
  const name = room.paused ? 'resume' : 'pause';
  const click = async () => {
    try {
      await post(channelPath(page.name, '/pause'), { chat: room.chat, paused: !room.paused });
      toast(t(`channels.rooms.${name}.done`));
    } catch (error) {
      showError(error);
    }
    await reload();
  };
  const label = t(`channels.rooms.${name}`);
  return h('button', { 'type': 'button', 'class': 'small', 'aria-label': `${label}: ${room.title || room.chat}`, 'on': { click } }, label);
}
