// A text somebody stored, with the sentence for which it is in quarantine highlighted.

import { h, plain } from '../dom.js';

/** As `plain`, in a list. A sentence that is not in the text, or not in the part that is shown, leaves it as it is. */
export function marked(text, sentence, most = Infinity) {
  const start = sentence ? text.indexOf(sentence) : -1;
  const end = start + (sentence?.length ?? 0);
  if (start < 0 || end > most) return [plain(text, most)];
  return [plain(text.slice(0, start)), h('mark', { class: 'cause' }, plain(sentence)), plain(text.slice(end), most - end)];
}
