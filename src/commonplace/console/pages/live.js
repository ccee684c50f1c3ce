// What happens, as it happens: the event stream, the tasks under way, and the audit.

import { listen } from '../api.js';
import { fill, h } from '../dom.js';
import { picker } from '../parts/picker.js';
import { replaceAddress } from '../router.js';
import { may, whoami } from '../session.js';
import { t } from '../words.js';
import { audit } from './live/audit.js';
import { feed } from './live/feed.js';
import { tasks } from './live/tasks.js';

const KINDS = ['record.*', 'job.*', 'key.*', 'user.*', 'knowledge.*', 'memory_changed'];

export async function show(place, { query, signal }) {
  const heard = feed(signal);
  const work = tasks(signal);
  const written = may('reviewer') ? audit(signal) : null;
  const state = h('span', { class: 'line-state', role: 'status' });
  let chosen = { type: query.type ?? '', scope: query.scope ?? '' };
  let line = null;

  function connect() {
    replaceAddress('live', '', chosen);
    line?.abort();
    line = new AbortController();
    const mine = line;
    let before = null;
    listen({
      query: { type: chosen.type, scope: chosen.scope },
      signal: AbortSignal.any([signal, mine.signal]),
      onState: (now, seconds) => {
        const words = now === 'waiting' ? t('live.lost', { seconds }) : t(before === 'waiting' ? 'live.resumed' : 'live.open');
        fill(state, h('span', { class: `dot ${now === 'open' ? 'good' : 'warn'}` }), words);
        if (now === 'open' && before === 'waiting') work.refresh();
        before = now;
      },
      onEvent: (event) => {
        heard.add(event);
        if (event.type.startsWith('job.')) work.stir();
        written?.stir();
      },
    });
  }

  const kinds = h(
    'select',
    {
      'aria-label': t('live.type'),
      'value': chosen.type,
      'on': {
        change: (event) => {
          chosen.type = event.target.value;
          connect();
        },
      },
    },
    h('option', { value: '' }, t('live.type.all')),
    KINDS.map((kind) => h('option', { value: kind }, kind)),
  );
  const scope = picker({
    value: chosen.scope,
    signal,
    onPick: (picked) => {
      chosen.scope = picked;
      connect();
    },
  });

  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.live')), state),
    h('section', { 'aria-label': t('live.events') }, h('div', { class: 'filters' }, kinds, scope, heard.controls), heard.element),
    h(
      'div',
      { class: 'columns' },
      h('section', { class: 'card' }, h('h2', {}, t('live.tasks')), work.element),
      written
        ? h('section', { class: 'card' }, h('h2', {}, t('live.audit')), written.element)
        : h(
            'section',
            { class: 'card' },
            h('h2', {}, t('live.audit')),
            h('p', { class: 'soft' }, t('live.audit.who', { subject: whoami().subject })),
          ),
    ),
  );
  fill(state, h('span', { class: 'dot' }), t('live.connecting'));
  connect();
  await Promise.all([work.refresh(), written?.refresh()]);
}
