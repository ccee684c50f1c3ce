// The weights of the search, each with a slider. What is turned holds for this page only.

import { get } from '../../api.js';
import { fill, fresh, h } from '../../dom.js';
import { errorNotice } from '../../problems.js';
import { named, t } from '../../words.js';

// Those that people turn, with how far; the rest is for the curious.
const FIRST = ['words', 'meaning', 'session', 'before', 'after', 'recency', 'pin', 'importance', 'copies'];
const RANGES = {
  half_life: [1, 365, 1],
  shortest: [1, 200, 1],
  terse: [1, 240, 1],
  coverage: [0, 1, 0.05],
  second: [0, 1, 0.05],
  further: [0, 1, 0.05],
  k1: [0, 3, 0.1],
};

export async function dressWeights(element, lab, signal) {
  let known;
  try {
    ({ weights: known } = await get('/v1/weights', {}, { signal }));
  } catch (error) {
    if (error.name === 'AbortError') return;
    fill(element, h('p', { class: 'problem' }, errorNotice(error)));
    return;
  }
  const first = FIRST.map((name) => known.find((one) => one.name === name)).filter(Boolean);
  const rest = known.filter((one) => !FIRST.includes(one.name));
  const sliders = known.map((one) => [
    one.name,
    slider(one, lab, () => {
      reset.disabled = !Object.keys(lab.asked.weights).length;
    }),
  ]);
  const found = Object.fromEntries(sliders);
  // What a weight means is told once, below, for the one that is looked at: the sliders stay close together.
  const means = h('p', { 'class': 'soft small means', 'aria-hidden': 'true' }, first[0] ? meaningOf(first[0]) : '');
  for (const one of known)
    for (const event of ['pointerenter', 'focusin']) found[one.name].element.addEventListener(event, () => fill(means, meaningOf(one)));
  const reset = h(
    'button',
    {
      type: 'button',
      class: 'quiet',
      disabled: !Object.keys(lab.asked.weights).length,
      on: {
        click: () => {
          lab.asked.weights = {};
          for (const [, one] of sliders) one.reset();
          reset.disabled = true;
          lab.turn();
        },
      },
    },
    t('recall.reset'),
  );
  fill(
    element,
    h('div', { class: 'row' }, h('p', { class: 'soft small grow' }, t('recall.weights.lead')), reset),
    first.map((one) => found[one.name].element),
    rest.length > 0 &&
      h(
        'details',
        { open: rest.some((one) => one.name in lab.asked.weights) },
        h('summary', {}, t('recall.weights.more')),
        rest.map((one) => found[one.name].element),
      ),
    means,
  );
}

/** In our own words; for a weight that we do not know yet, in the server's. */
function meaningOf({ name, meaning }) {
  const ours = named('recall.weight.means', name);
  return ours === name ? meaning : ours;
}

function slider({ name, default: usual, meaning }, lab, onTurn) {
  const id = fresh('weight');
  const [low, high, step] = RANGES[name] ?? [0, Math.max(2, usual * 4), 0.05];
  const value = lab.asked.weights[name] ?? usual;
  const told = h('output', { 'for': id, 'class': 'mono', 'aria-live': 'off' });
  const input = h('input', {
    id,
    'type': 'range',
    'min': low,
    'max': Math.max(high, value),
    step,
    'aria-describedby': `${id}-means`,
    'on': { input: turned },
  });
  // A range is cut to its limits as they stand when it is set.
  input.value = String(value);
  const element = h(
    'div',
    { class: 'weight' },
    h('label', { for: id }, named('recall.weight', name)),
    input,
    told,
    h('span', { id: `${id}-means`, class: 'visually-hidden' }, meaningOf({ name, meaning })),
  );

  function tell() {
    const now = Number(input.value);
    const turnedAway = Math.abs(now - usual) > 1e-9;
    element.classList.toggle('turned', turnedAway);
    fill(told, turnedAway ? now.toFixed(2) : String(usual));
    told.title = t('recall.weight.default', { usual: String(usual) });
    return turnedAway ? now : null;
  }

  function turned() {
    const now = tell();
    if (now === null) delete lab.asked.weights[name];
    else lab.asked.weights[name] = now;
    onTurn();
    lab.turn();
  }

  tell();
  return {
    element,
    reset: () => {
      input.value = String(usual);
      tell();
    },
  };
}
