// Elements from plain calls. Text becomes text nodes, never markup: nothing in the console assigns innerHTML.

import { splitHidden } from './text/characters.js';

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element. `props`: `on` maps events to listeners, `style` and `data` map names to values, `class` may be a list; a name that
 * the element knows as a property is set as one (value, checked, disabled), others are attributes. null and false leave one out.
 */
export function h(tag, props = {}, ...children) {
  return dress(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), props, children);
}

/** A picture of lines, 24 by 24, drawn along `path`. */
export const icon = (path) => svg('svg', { 'viewBox': '0 0 24 24', 'class': 'icon', 'aria-hidden': 'true' }, svg('path', { d: path }));

const AS_PROPERTY = new Set(['value', 'checked', 'disabled', 'indeterminate', 'selected', 'hidden', 'multiple', 'open', 'readOnly']);

function dress(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === 'class') element.setAttribute('class', Array.isArray(value) ? value.filter(Boolean).join(' ') : value);
    else if (name === 'style') for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (name === 'data') Object.assign(element.dataset, value);
    else if (AS_PROPERTY.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  // A select has its value only once its options are there.
  fill(element, ...children);
  if (props && 'value' in props && element.tagName === 'SELECT') element.value = props.value;
  return element;
}

/** Put these in the place of whatever is in `element`; lists are flattened, null and false left out. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false && one !== ''));
  return element;
}

/**
 * Text somebody stored, as nodes: what cannot be seen is shown as a mark with its code, and how many there are in a row. At most `most`
 * characters of it.
 */
export function plain(text, most = Infinity) {
  const mark = ({ code, count }) => h('span', { class: 'hidden-character', title: code }, count > 1 ? `${code} ×${count}` : code);
  return h(
    'bdi',
    {},
    splitHidden(text, most).map((piece) => (typeof piece === 'string' ? piece : mark(piece))),
  );
}

let counted = 0;
/** An id for a label and what it labels. */
export const fresh = (name) => `${name}-${++counted}`;

/** Call `act` at most once in `wait` milliseconds, however often it is asked for, and once more after the last time. */
export function paced(act, wait = 1000) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      act();
    }, wait);
  };
}

/**
 * Call `act` at once where nothing of it is under way; else once more when that has ended, for all that was asked for meanwhile. What takes
 * longer is not waited for once no further call came for `patience` milliseconds: `act` gives up what it did before by itself.
 */
export function eager(act, patience = 250) {
  let under = null;
  let wanted = false;
  let timer;

  async function begin() {
    clearTimeout(timer);
    wanted = false;
    const mine = (async () => act())();
    under = mine;
    try {
      await mine;
    } finally {
      if (under === mine) {
        under = null;
        if (wanted) begin();
      }
    }
  }

  return () => {
    if (!under) return void begin();
    wanted = true;
    clearTimeout(timer);
    timer = setTimeout(begin, patience);
  };
}

/** Call `act` once no further call came for `wait` milliseconds. */
export function later(act, wait = 150) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), wait);
  };
}
