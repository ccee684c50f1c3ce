// A call of a tool in words: what it does, and with what. The words are those of the chat.

import { h, plain } from '../dom.js';
import { t } from '../words.js';
import { lengthy } from './lengthy.js';

export const LONGEST_TITLE = 200;

/** What a call does, in a line. */
export const toolTitle = ({ tool, arguments: given, title }) => t('chat.tool.title', tool, given, title) || tool;

/** The arguments of a call, a row each; null if there are none. */
export function argumentsOf(given) {
  const entries = Object.entries(given ?? {});
  if (!entries.length) return null;
  const value = (one) => (typeof one === 'string' ? one : JSON.stringify(one, null, 1));
  return h(
    'dl',
    { class: 'facts' },
    entries.map(([name, one]) => [
      h('dt', { class: 'mono' }, plain(name, 80)),
      h('dd', {}, lengthy({ class: 'text mono output' }, value(one), { most: 2_000 })),
    ]),
  );
}
