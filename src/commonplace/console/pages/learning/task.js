// One task: what it is, how it stands, and what it did, in words.

import { h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { address } from '../../router.js';
import { may } from '../../session.js';
import { moment, named, number, since, t } from '../../words.js';

const DOTS = { queued: '', running: 'warn', done: 'good', failed: 'problem' };
const PLACES = [
  [/\/(?:projects\/[^/]+|\.commonplace)\/memory\/(.+\.md)$/, 'project'],
  [/\/memories\/(.+\.md)$/, 'user'],
];
const MOST_LISTED = 12;

export function row(task, { retry, drop }) {
  const name = t('learning.task', { kind: t(`learning.${task.kind}`), when: moment(task.created_at) });
  const deed = (label, act, kind = '') =>
    h('button', { 'type': 'button', 'class': kind, 'aria-label': `${label}: ${name}`, 'on': { click: act } }, label);
  const several = task.attempts > 1 || task.state === 'failed';
  const moving = task.state === 'running' && task.total > 0;
  return h(
    'li',
    { class: 'learning-task' },
    h(
      'div',
      { class: 'learning-line' },
      h('span', { 'class': `dot ${DOTS[task.state]}`, 'aria-hidden': 'true' }),
      h('strong', {}, t(`learning.${task.kind}`)),
      h('span', {}, named('learning.state', task.state)),
      task.scope && h('span', { class: 'mono soft' }, plain(task.scope, 80)),
      task.result?.method && h('span', { class: 'badge' }, named('learning.method', task.result.method)),
      h('span', { class: 'soft small' }, plain(task.created_by, 60)),
      several && h('span', { class: 'soft small' }, t('learning.attempts', { count: task.attempts, most: task.max_attempts })),
      task.state === 'queued' &&
        task.not_before &&
        h('span', { class: 'soft small' }, t('learning.next', { when: since(task.not_before) })),
      h('span', { class: 'grow' }),
      h('span', { class: 'soft small' }, time(task.updated_at)),
    ),
    moving && h('progress', { 'value': task.done, 'max': task.total, 'aria-label': name }),
    task.error && failure(task.error),
    task.state === 'done' && outcome(task),
    may('writer') &&
      task.state !== 'done' &&
      task.state !== 'running' &&
      h('div', { class: 'row' }, task.state === 'failed' && deed(t('learning.retry'), retry), deed(t('learning.drop'), drop, 'quiet')),
  );
}

/** Why it failed, in words we have for the code, else in the server's. */
export function failure({ code, message }) {
  const known = named('learning.error', code);
  return h('p', { class: 'learning-why problem' }, known === code ? plain(message, 500) : known, ' ', h('code', {}, code));
}

export function outcome(task) {
  const told = task.result ?? {};
  const parts = task.kind === 'extract' ? learned(told) : filed(told);
  const why = told.fallback && h('p', { class: 'soft small' }, t('learning.fallback', { reason: named('learning.error', told.fallback) }));
  return h('div', { class: 'learning-outcome' }, parts, why);
}

function filed(told) {
  const files = told.files_touched ?? [];
  const removed = told.removed_entries ?? [];
  return [
    told.summary && h('p', {}, plain(told.summary, 600)),
    told.redactions?.length > 0 && h('p', { class: 'soft small' }, t('learning.redactions', { kinds: takenOut(told.redactions) })),
    told.deduped_entries > 0 && h('p', { class: 'soft small' }, t('learning.deduped', told.deduped_entries)),
    listed(
      t('learning.removed'),
      removed.map((one) => plain(one.summary, 120)),
    ),
    listed(t('learning.touched'), files.slice(0, MOST_LISTED).map(linked), files.length - MOST_LISTED),
  ];
}

const takenOut = (redactions) => redactions.map(({ kind, count }) => `${plain(kind, 40)} (${number(count)})`).join(', ');

function listed(name, nodes, more = 0) {
  if (!nodes.length) return null;
  return h(
    'p',
    { class: 'small' },
    h('span', { class: 'soft' }, name, ' '),
    nodes.map((one, index) => [index ? ' · ' : '', one]),
    more > 0 && ` +${number(more)}`,
  );
}

/** A file is told by its whole path on the server; the Files tab knows it by its folder and the path below. */
function linked(whole) {
  for (const [place, root] of PLACES) {
    const found = place.exec(whole);
    if (found) return h('a', { class: 'mono', href: address('learning', 'files', { root, path: found[1] }) }, plain(found[1], 120));
  }
  return h('span', { class: 'mono' }, plain(whole.split('/').at(-1), 120));
}

function learned(told) {
  const facts = told.facts ?? [];
  const status = facts.length ? t('learning.extracted', facts.length) : named('learning.status', told.status);
  const dropped = Object.entries(told.dropped ?? {}).map(([reason, count]) => `${named('learning.dropped', reason)} (${number(count)})`);
  const links = facts
    .slice(0, MOST_LISTED)
    .map((id, index) => h('a', { href: address('record', id) }, t('learning.fact', { number: index + 1 })));
  if (told.episode) links.push(h('a', { href: address('record', told.episode) }, t('learning.episode')));
  return [
    h('p', {}, status, told.superseded?.length > 0 && ` ${t('learning.superseded', told.superseded.length)}`),
    listed(t('learning.facts'), links),
    dropped.length > 0 && h('p', { class: 'soft small' }, t('learning.dropped', { reasons: dropped.join(t('learning.comma')) })),
  ];
}
