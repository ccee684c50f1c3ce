// Where a person writes: Enter sends, Shift and Enter begin a line, Escape stops.

import { fill, h } from '../../dom.js';
import { t } from '../../words.js';

const TALLEST = 0.4; // of the window

/**
 * `onSend(text, model)` answers whether it was taken on; `onStop()` ends the turn that is played; `onModel(model)` hears that one was chosen.
 * `hasMore()`: something goes along, so that there need be no words.
 */
export function composer({ onSend, onStop, onModel, hasMore = () => false, signal }) {
  const box = h('textarea', {
    'class': 'chat-box',
    'rows': 1,
    'maxlength': 1_000_000,
    'placeholder': t('chat.placeholder'),
    'aria-label': t('chat.say'),
    'on': { input: grow, keydown: onKey },
  });
  const model = modelMenu(onModel);
  const send = h('button', { type: 'submit', class: 'primary' }, t('chat.send'));
  const stop = h(
    'button',
    { type: 'button', class: 'danger', hidden: true, on: { click: onStop } },
    t('chat.stop'),
    ' ',
    h('kbd', {}, 'Esc'),
  );
  const problem = h('p', { class: 'problem small', role: 'alert', hidden: true });
  const element = h(
    'form',
    { class: 'composer', on: { submit } },
    problem,
    box,
    h('div', { class: 'row' }, model, h('span', { class: 'hint small soft' }, t('chat.hint')), h('span', { class: 'grow' }), stop, send),
  );
  let sent = Promise.resolve(); // what was said first is sent first

  function grow() {
    box.style.height = 'auto';
    box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * TALLEST)}px`;
  }

  function onKey(event) {
    // Enter also ends the input of Chinese characters, and sends nothing then.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    submit(event);
  }

  function submit(event) {
    event.preventDefault();
    const text = box.value;
    const chosen = model.value;
    if (!text.trim() && !hasMore()) return;
    problem.hidden = true;
    box.value = '';
    grow();
    sent = sent.then(async () => {
      // What was not taken on is not lost.
      if (!(await onSend(text, chosen))) putBack(text);
    });
  }

  function putBack(text) {
    box.value = box.value.trim() ? `${text}\n${box.value}` : text;
    grow();
    box.focus();
  }

  onEscape(() => !stop.hidden && onStop(), signal);

  return {
    element,
    get text() {
      return box.value;
    },
    focus: () => matchMedia('(hover: hover)').matches && box.focus({ preventScroll: true }),
    setBusy: (isBusy) => {
      stop.hidden = !isBusy;
    },
    complain: (message) => {
      fill(problem, message);
      problem.hidden = false;
    },
    putBack,
    offer: (models, usual) => offerModels(model, models, usual),
  };
}

function modelMenu(onModel) {
  const change = () => model.value && onModel(model.value);
  const model = h('select', { 'aria-label': t('chat.model'), 'class': 'chat-model', 'hidden': true, 'on': { change } });
  return model;
}

/** Call `act` when Escape is pressed, unless it closes a dialog. */
function onEscape(act, signal) {
  addEventListener(
    'keydown',
    (event) => {
      if (event.key === 'Escape' && !event.isComposing && !document.querySelector('dialog[open]')) act();
    },
    { signal },
  );
}

/** The models there are; `usual` speaks if nobody chooses one. */
function offerModels(model, models, usual) {
  const kept = model.value;
  fill(
    model,
    h('option', { value: '' }, t('chat.model.usual', { model: usual })),
    models.filter((name) => name !== usual).map((name) => h('option', { value: name }, name)),
  );
  model.value = models.includes(kept) && kept !== usual ? kept : '';
  model.hidden = models.length < 2;
}
