// The last events, newest first. A burst is painted once a frame, and no more than are kept.

import { fill, h, plain } from '../../dom.js';
import { address } from '../../router.js';
import { t } from '../../words.js';

const KEPT = 500;
// What the stream says about itself.
const OWN = new Set(['replay_complete', 'state_resync_required', 'slow_client_warning', 'client_evicted']);
const clock = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 1 });

export function feed(signal) {
  let waiting = [];
  let paused = false;
  let asked = 0;
  const quiet = () => h('li', { class: 'quiet' }, t('live.quiet'));
  const list = h('ol', { 'class': 'feed', 'tabindex': '0', 'aria-label': t('live.events') }, quiet());
  const pause = h('button', { 'type': 'button', 'aria-pressed': 'false', 'on': { click: toggle } }, t('live.pause'));
  const clear = h('button', { type: 'button', class: 'quiet', on: { click: wipe } }, t('live.clear'));
  let empty = true;

  function wipe() {
    fill(list, quiet());
    empty = true;
  }

  function toggle() {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    if (!paused) paint();
    label();
  }

  function label() {
    fill(pause, paused ? t('live.resume', { count: waiting.length }) : t('live.pause'));
  }

  function paint() {
    asked = 0;
    if (paused || signal.aborted) return label();
    const rows = waiting.slice(-KEPT).reverse().map(row);
    waiting = [];
    if (empty) fill(list);
    empty = false;
    list.prepend(...rows);
    while (list.childElementCount > KEPT) list.lastElementChild.remove();
  }

  return {
    element: list,
    controls: [pause, clear],
    add(event) {
      waiting.push(event);
      if (waiting.length > KEPT * 4) waiting = waiting.slice(-KEPT);
      asked ||= requestAnimationFrame(paint);
    },
  };
}

function row({ type, data }) {
  if (OWN.has(type)) return h('li', { class: 'soft' }, h('span'), h('span', { class: 'mono' }, type), h('span', {}, t(`live.own.${type}`)));
  const at = data.at ? h('time', { datetime: data.at }, clock.format(new Date(data.at))) : h('span');
  return h(
    'li',
    {},
    at,
    h('span', { class: 'mono' }, type),
    h('span', { class: 'cut' }, what(type, data)),
    h('span', { class: 'soft cut' }, data.actor ? plain(data.actor, 40) : ''),
  );
}

function what(type, { scope, data = {} }) {
  const told = scope ? [plain(scope, 80), ' '] : [];
  const id = typeof data.id === 'string' ? data.id : null;
  if (type.startsWith('record.') && id && type !== 'record.purged')
    return [...told, h('a', { href: address('record', id) }, data.kind ?? t('frame.record')), ` v${data.version ?? ''}`];
  const rest = Object.entries(data).filter(([name, value]) => name !== 'id' && ['string', 'number', 'boolean'].includes(typeof value));
  return [...told, plain(rest.map(([name, value]) => `${name} ${value}`).join(' · '), 200)];
}
