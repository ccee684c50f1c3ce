// Who did what. Rows are asked for again when something happened, at most once a second.

import { get, written } from '../../api.js';
import { fill, h, later, paced, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { showError } from '../../problems.js';
import { address } from '../../router.js';
import { named, t } from '../../words.js';

const OUTCOMES = ['ok', 'unchanged', 'denied', 'refused', 'not_found', 'failed', 'blocked', 'budget_exhausted'];
const PAGE = 25;

export function audit(signal) {
  const chosen = { actor: '', action: '', outcome: '' };
  let older = null;
  let run = 0;
  const body = h('tbody');
  const more = h('button', { type: 'button', hidden: true, on: { click: () => load(older) } }, t('live.older'));
  const file = h('a', { class: 'button', href: '/v1/audit/export', download: 'audit.jsonl' }, t('live.export'));
  const field = (name) =>
    h('input', {
      'type': 'search',
      'aria-label': t(`live.${name}`),
      'placeholder': t(`live.${name}`),
      'on': { input: later((event) => choose(name, event.target.value.trim()), 250) },
    });
  const element = h(
    'div',
    {},
    h(
      'div',
      { class: 'filters' },
      field('actor'),
      field('action'),
      h(
        'select',
        { 'aria-label': t('live.outcome'), 'on': { change: (event) => choose('outcome', event.target.value) } },
        h('option', { value: '' }, t('live.outcome.all')),
        OUTCOMES.map((one) => h('option', { value: one }, named('live.outcome', one))),
      ),
      file,
    ),
    h(
      'div',
      { 'class': 'scroll-x', 'tabindex': '0', 'role': 'region', 'aria-label': t('live.audit') },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['when', 'actor', 'action', 'outcome', 'what'].map((name) => h('th', { scope: 'col' }, t(`live.${name}`))),
          ),
        ),
        body,
      ),
    ),
    more,
  );

  function choose(name, value) {
    chosen[name] = value;
    file.href = `/v1/audit/export${written(chosen)}`;
    load();
  }

  async function load(cursor = null) {
    const mine = ++run;
    try {
      const page = await get('/v1/audit', { ...chosen, limit: PAGE, cursor }, { signal });
      // Something else was asked for since.
      if (mine !== run) return;
      older = page.cursor;
      more.hidden = !older;
      const rows = page.rows.map(row);
      if (cursor) body.append(...rows);
      else fill(body, rows.length ? rows : h('tr', {}, h('td', { colspan: 5, class: 'soft' }, t('frame.nothing'))));
    } catch (error) {
      showError(error);
    }
  }

  return { element, refresh: () => load(), stir: paced(() => signal.aborted || (body.childElementCount <= PAGE && load())) };
}

function row(one) {
  const what = one.record
    ? h('a', { href: address('record', one.record) }, one.scope ? plain(one.scope, 60) : t('frame.record'))
    : plain(one.scope ?? '', 60);
  return h(
    'tr',
    {},
    h('td', {}, time(one.at)),
    h('td', {}, plain(one.actor, 40)),
    h('td', { class: 'mono' }, one.action),
    h('td', { class: `outcome-${one.outcome}` }, named('live.outcome', one.outcome)),
    h('td', {}, what),
  );
}
