// How a channel of a kind is set up, as the daemon's guide says: what to do there, what errors mean. The command shows the same.

import { h, plain } from '../../dom.js';
import { t } from '../../words.js';
import { prose, said } from './paths.js';

const section = (name, content) => content && h('section', {}, h('h3', {}, t(`channels.guide.${name}`)), content);

const numbered = (steps) =>
  steps.length > 0 &&
  h(
    'ol',
    { class: 'guide-steps' },
    steps.map((step) => h('li', {}, prose(said(step)))),
  );

/** What to do on the platform. */
export const there = (guide) => section('there', numbered(guide.steps));

/** What to do when the channel is there. */
export const after = (guide) => section('after', numbered(guide.after));

export function permissions(guide) {
  const row = ({ name, purpose, required, certain }) =>
    h(
      'li',
      {},
      h('code', {}, name),
      ' ',
      said(purpose),
      ' ',
      !required && h('span', { class: 'badge' }, t('channels.guide.optional')),
      ' ',
      h('span', { class: `badge ${certain ? 'good' : 'warn'}` }, t(certain ? 'channels.guide.certain' : 'channels.guide.check')),
    );
  return section('permissions', guide.permissions.length > 0 && h('ul', { class: 'guide-permissions' }, guide.permissions.map(row)));
}

export function troubles(guide) {
  const row = ({ sign, meaning }) => [h('dt', {}, h('code', {}, plain(sign, 80))), h('dd', {}, prose(said(meaning)))];
  return section('problems', guide.problems.length > 0 && h('dl', { class: 'facts guide-problems' }, guide.problems.map(row)));
}

export const openPoints = (guide) =>
  section(
    'open',
    guide.open_points.length > 0 &&
      h(
        'ul',
        {},
        guide.open_points.map((point) => h('li', {}, prose(said(point)))),
      ),
  );

/** All of it, for whoever comes back to look something up. */
export const wholeGuide = (guide) => [
  guide.summary && h('p', {}, prose(said(guide.summary))),
  there(guide),
  permissions(guide),
  after(guide),
  troubles(guide),
  openPoints(guide),
];

/** The line that adds such a channel, for somebody at the daemon's machine. */
export function commandLine({ kind, fields }) {
  const given = fields.filter(({ required }) => required);
  const one = ({ name, secret, example }) => `--${secret ? 'secret' : 'option'} ${name}=${example || '…'}`;
  return ['commonplace channel add', kind, '--kind', kind, ...given.map(one)].join(' ');
}
