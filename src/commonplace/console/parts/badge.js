// Small labels: where a memory comes from, how far it is trusted, what state it is in, when something was.

import { h } from '../dom.js';
import { bandOf, percentOf } from '../text/relevance.js';
import { moment, named, since, t } from '../words.js';

const COLOURED = new Set(['manual', 'auto', 'director', 'import', 'file', 'turn', 'distilled', 'resource', 'managed']);

/** The class that gives a source its colour; those of other programs share one. */
export const tinted = (value) => `source-${COLOURED.has(value) ? value : 'other'}`;

export const source = (value) => h('span', { class: `badge source ${tinted(value)}` }, named('frame.source', value));

const TRUSTED = new Set(['system_generated', 'verified', 'human_approved']);

export const trust = (value) =>
  h('span', { class: `badge trust ${TRUSTED.has(value) ? 'trusted' : 'untrusted'}` }, named('frame.trust', value));

export const state = (value) => h('span', { class: `badge state state-${value}` }, named('frame.state', value));

/** The chance that something answers the question. */
export function relevance(chance) {
  const band = bandOf(chance);
  const words = t(`frame.likely.${band}`, { percent: percentOf(chance) });
  return h('span', { class: `badge relevance relevance-${band}`, title: t('frame.likely') }, words);
}

/** A moment as people say it; the exact one when asked. */
export const time = (written) =>
  written ? h('time', { datetime: written, title: moment(written) }, since(written)) : h('span', { class: 'soft' }, '–');
