// How a channel is: a badge, what that means in words, and what its last error means.

import { h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { t } from '../../words.js';
import { prose, said } from './paths.js';

const MOVING = ['connecting', 'waiting'];

/** One of stopped, elsewhere, connecting, connected, waiting, refused, failed (it could not begin) and ready (it begins when it is used). */
export function stateOf({ channel, running, connection, leader }) {
  if (!channel.enabled) return 'stopped';
  if (leader) return 'elsewhere';
  if (running && connection) return connection.status;
  return connection ? 'failed' : 'ready';
}

/** Whether it may be another in a moment. */
export const isMoving = (status) => MOVING.includes(stateOf(status));

export const stateBadge = (status) =>
  h(
    'span',
    { class: `badge channel-${stateOf(status)}`, title: t(`channels.state.${stateOf(status)}.text`) },
    t(`channels.state.${stateOf(status)}`),
  );

/** What the state means, and what is wrong, with what to do about it. */
export function stateText(status) {
  const { connection, meaning } = status;
  const state = stateOf(status);
  return h(
    'div',
    { class: 'channel-state' },
    h(
      'p',
      {},
      t(`channels.state.${state}.text`),
      connection && state !== 'ready' && [' ', h('small', { class: 'soft' }, t('channels.since'), ' ', time(connection.since))],
    ),
    state === 'elsewhere' && h('p', {}, plain(status.leader, 500)),
    connection?.attempts > 0 && h('p', { class: 'small soft' }, t('channels.attempts', connection.attempts)),
    connection?.error && h('p', { class: 'problem' }, plain(connection.error, 500)),
    meaning && h('p', {}, h('strong', {}, t('channels.meaning')), ' ', prose(said(meaning))),
  );
}
