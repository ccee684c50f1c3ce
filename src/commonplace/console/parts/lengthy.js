// A long text is laid out in part, and whole when somebody asks for it: with megabytes a browser is busy for seconds.

import { fill, h } from '../dom.js';
import { size, t } from '../words.js';
import { marked } from './marked.js';

const MOST_AT_ONCE = 100_000;

/**
 * A box with a text somebody stored: so many characters of it and, below the box, a button for the rest. A `sentence` of it is highlighted. A list
 * of elements.
 */
export function lengthy(props, text, { most = MOST_AT_ONCE, sentence = null } = {}) {
  const box = h('div', props, marked(text, sentence, most));
  return text.length > most ? [box, wholly(box, [text], () => marked(text, sentence))] : [box];
}

/** A button that shows the whole, so many bytes as these `texts` have, in the place of what `box` holds. */
export function wholly(box, texts, whole) {
  const button = h(
    'button',
    { type: 'button', class: 'wholly', on: { click: shown } },
    t('frame.show-all', { size: size(bytesOf(texts)) }),
  );

  function shown() {
    button.disabled = true;
    fill(button, t('frame.loading'));
    // That it was pressed is painted first.
    requestAnimationFrame(() =>
      setTimeout(() => {
        fill(box, whole());
        // What is long scrolls; whoever pressed by keyboard goes on from there.
        box.tabIndex = 0;
        box.focus({ preventScroll: true });
        button.remove();
      }),
    );
  }
  return button;
}

const bytesOf = (texts) => new Blob(texts).size;
