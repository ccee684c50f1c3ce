// The question, and where, how, how many and as of when.

import { fresh, h } from '../../dom.js';
import { everyoneSwitch } from '../../parts/everyone.js';
import { scopes } from '../../parts/scopes.js';
import { t } from '../../words.js';
import { LIMIT, MODES, within } from './lab.js';

export function makeQuestion(lab, signal) {
  const { asked } = lab;
  const box = h('input', {
    id: fresh('question'),
    type: 'search',
    maxlength: 10000,
    value: asked.text,
    placeholder: t('recall.question.hint'),
    autocomplete: 'off',
    on: {
      input: () => {
        asked.text = box.value;
      },
    },
  });
  const submit = (event) => {
    event.preventDefault();
    lab.ask();
  };
  const element = h(
    'form',
    { class: 'question card', role: 'search', on: { submit } },
    h('label', { class: 'visually-hidden', for: box.id }, t('recall.question')),
    h('div', { class: 'asking' }, box, h('button', { type: 'submit', class: 'primary' }, t('recall.ask'))),
    options(lab, signal),
  );
  const say = (text) => {
    box.value = text;
    asked.text = text;
  };
  return { element, box, say };
}

/** Where, how, how many and as of when: a change asks again. */
function options(lab, signal) {
  const { asked } = lab;
  const set = (name, value) => {
    asked[name] = value;
    lab.ask();
  };
  const onChange = (name, value = (input) => input.value) => ({ change: (event) => set(name, value(event.target)) });
  const clamp = (input) => {
    input.value = within(input.value, 1, 50, LIMIT);
    return Number(input.value);
  };
  const words = { label: t('recall.scopes'), add: t('recall.scopes.add'), remove: (scope) => t('recall.scopes.remove', { scope }) };
  const everyone = everyoneSwitch((isOn) => {
    set('everyone', isOn);
    paint();
  });
  const paint = () => everyone.paint({ isOn: asked.everyone, hasScope: asked.scopes.length > 0 });
  const pick = (list) => {
    set('scopes', list);
    paint();
  };
  const where = scopes({ value: asked.scopes, signal, onChange: pick, words });
  paint();
  const modes = MODES.map((mode) => h('option', { value: mode }, t(`recall.mode.${mode}`)));
  const row = h(
    'div',
    { class: 'options-row' },
    h('div', { class: 'field places' }, h('span', { 'class': 'label', 'aria-hidden': 'true' }, t('recall.scopes')), where),
    labelled('mode', h('select', { value: asked.mode, on: onChange('mode') }, modes)),
    labelled('limit', h('input', { type: 'number', min: 1, max: 50, value: asked.limit, on: onChange('limit', clamp) }), 'field narrow'),
    labelled('at', h('input', { type: 'datetime-local', value: asked.at, on: onChange('at') })),
    everyone.element,
  );
  return [row, everyone.note];
}

function labelled(name, control, kind = 'field') {
  control.id = fresh(name);
  return h('div', { class: kind }, h('label', { for: control.id }, t(`recall.${name}`)), control);
}
