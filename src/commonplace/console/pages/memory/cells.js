// A record as a row of the list.

import { h, icon, plain } from '../../dom.js';
import * as badge from '../../parts/badge.js';
import { allowedActions } from '../../parts/record_actions.js';
import { filePath, folderOf, titleOf } from '../../text/title.js';
import { named, t } from '../../words.js';

const PIN = 'M9 4h6l-1 6 3 3H7l3-3zM12 13v7';
const MOST = 320;

export const columns = () => [
  h('span', { class: 'visually-hidden' }, t('memory.column.select')),
  t('memory.source'),
  t('memory.column.key'),
  t('memory.column.value'),
  t('memory.column.trust'),
  t('memory.importance'),
  t('memory.column.updated'),
  h('span', { class: 'visually-hidden' }, t('memory.column.do')),
];

const cell = (name, ...children) => h('span', { role: 'gridcell', class: `cell cell-${name}` }, children);
// Keys do what these buttons do; that they are no stops for Tab keeps the list one stop.
const aside = { type: 'button', tabindex: '-1' };
const called = (record) => titleOf(record) ?? record.text.slice(0, 60);

/** `actions` has select, pin, weigh and more; `chosen` are the ids that are selected; `scoped`: a scope is chosen; `relevance`: of a hit. */
export function cells(record, { actions, chosen, scoped, selects, relevance }) {
  const can = allowedActions(record);
  return [
    cell(
      'select',
      selects &&
        h('input', {
          'type': 'checkbox',
          'tabindex': '-1',
          'checked': chosen.has(record.id),
          'aria-label': t('memory.select', { name: called(record) }),
          'on': { click: (event) => actions.select(record, event) },
        }),
    ),
    cell('source', badge.source(record.source)),
    keyCell(record, scoped),
    cell(
      'value',
      h(
        'span',
        { class: 'clamp' },
        relevance !== undefined && [badge.relevance(relevance), ' '],
        record.state !== 'live' && [badge.state(record.state), ' '],
        plain(record.text, MOST),
      ),
    ),
    cell('trust', badge.trust(record.trust)),
    cell(
      'weight',
      can.weigh
        ? h(
            'button',
            {
              ...aside,
              'class': 'quiet',
              'aria-label': t('memory.importance.of', { n: record.importance }),
              'on': { click: () => actions.weigh(record) },
            },
            meter(record.importance),
          )
        : meter(record.importance),
    ),
    cell('time', badge.time(record.updated_at)),
    cell(
      'do',
      can.pin || record.pinned
        ? h(
            'button',
            {
              ...aside,
              'class': 'quiet pin',
              'disabled': !can.pin,
              'aria-pressed': String(record.pinned),
              'aria-label': t('memory.pin'),
              'title': t(record.pinned ? 'memory.unpin' : 'memory.pin'),
              'on': { click: () => actions.pin(record) },
            },
            icon(PIN),
          )
        : h('span', { class: 'pin' }),
      h(
        'button',
        {
          ...aside,
          'class': 'quiet',
          'aria-label': t('memory.more'),
          'title': t('memory.more'),
          'on': { click: () => actions.more(record) },
        },
        '⋯',
      ),
    ),
  ];
}

function keyCell(record, scoped) {
  const title = titleOf(record);
  return cell(
    'key',
    h('span', { class: title ? 'mono cut' : 'soft cut', title: filePath(record) ?? record.key ?? '' }, title ? plain(title) : '–'),
    h(
      'span',
      { class: 'soft small cut' },
      !scoped && [h('span', { class: 'mono' }, plain(record.scope)), ' · '],
      folderOf(record) ? h('span', { class: 'mono' }, plain(folderOf(record))) : named('memory.kind', record.kind),
    ),
  );
}

function meter(value) {
  const bar = h('span', { 'class': 'weight-bar', 'aria-hidden': 'true' });
  return h('span', { class: value ? 'weight' : 'weight none', style: { '--share': `${value}%` } }, bar, String(value));
}
