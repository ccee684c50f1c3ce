// Choosing files of this computer.

import { fresh, h } from '../../dom.js';

/** A button that chooses files, in the page's language: the browser's own speaks the browser's. */
export function chooser(label, props, onPick) {
  const id = fresh('files');
  const input = h('input', {
    id,
    type: 'file',
    class: 'visually-hidden',
    ...props,
    on: {
      change: () => {
        const files = [...input.files];
        // Emptied, so that the same choice made again is a choice.
        input.value = '';
        onPick(files);
      },
    },
  });
  return h('span', { class: 'chooser' }, input, h('label', { for: id, class: 'button' }, label));
}
