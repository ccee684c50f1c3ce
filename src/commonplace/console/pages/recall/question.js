// The question, and where, how, how many and as of when.

import { fresh, h } from '../../dom.js';
import { scopes } from '../../parts/scopes.js';
import { t } from '../../words.js';
import { LIMIT, MODES, within } from './lab.js';

export function makeQuestion(lab, signal) {
  const { asked } = lab;
  const [ask, mode, limit, at] = ['question', 'mode', 'limit', 'at'].map(fresh);
  const box = h('input', {
    id: ask,
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
  const changed = (name, read = (input) => input.value) => ({
    change: (event) => {
      asked[name] = read(event.target);
      lab.ask();
    },
  });
  const counted = (input) => {
    input.value = within(input.value, 1, 50, LIMIT);
    return Number(input.value);
  };
  const where = scopes({
    value: asked.scopes,
    signal,
    onChange: (list) => {
      asked.scopes = list;
      lab.ask();
    },
    words: { label: t('recall.scopes'), add: t('recall.scopes.add'), remove: (scope) => t('recall.scopes.remove', { scope }) },
  });
  const element = h(
    'form',
    {
      class: 'question card',
      role: 'search',
      on: {
        submit: (event) => {
          event.preventDefault();
          lab.ask();
        },
      },
    },
    h('label', { class: 'visually-hidden', for: ask }, t('recall.question')),
    h('div', { class: 'asking' }, box, h('button', { type: 'submit', class: 'primary' }, t('recall.ask'))),
    h(
      'div',
      { class: 'options-row' },
      h('div', { class: 'field places' }, h('span', { 'class': 'label', 'aria-hidden': 'true' }, t('recall.scopes')), where),
      h(
        'div',
        { class: 'field' },
        h('label', { for: mode }, t('recall.mode')),
        h(
          'select',
          { id: mode, value: asked.mode, on: changed('mode') },
          MODES.map((one) => h('option', { value: one }, t(`recall.mode.${one}`))),
        ),
      ),
      h(
        'div',
        { class: 'field narrow' },
        h('label', { for: limit }, t('recall.limit')),
        h('input', { id: limit, type: 'number', min: 1, max: 50, value: asked.limit, on: changed('limit', counted) }),
      ),
      h(
        'div',
        { class: 'field' },
        h('label', { for: at }, t('recall.at')),
        h('input', { id: at, type: 'datetime-local', value: asked.at, on: changed('at') }),
      ),
    ),
  );
  const say = (text) => {
    box.value = text;
    asked.text = text;
  };
  return { element, box, say };
}
