// The fields of a platform: what it is given that anybody may know (options), and where its secrets are.

import { h } from '../../dom.js';
import { field } from '../../parts/form.js';
import { t } from '../../words.js';
import { prose, said } from './paths.js';

// A variable's name in capitals, or a file: a secret that somebody pastes is neither.
const PLACE = '[A-Z_][A-Z0-9_]*|file:.+';

/** The fields of a guide, filled with what `settings` has. `element`, and `value`: { options, secrets }. */
export function platformFields(guide, settings = { options: {}, secrets: {} }) {
  const rows = guide.fields.map((one) => ({ one, control: controlOf(one, settings) }));
  const element = rows.map(({ one, control }) => {
    const label = [said(one.label), ' ', !one.required && h('span', { class: 'soft' }, `(${t('channels.guide.optional')})`)];
    return field(label, control, prose(said(one.help)));
  });
  return {
    element,
    get value() {
      const options = {};
      const secrets = {};
      for (const { one, control } of rows) {
        const given = control.value.trim();
        if (given) (one.secret ? secrets : options)[one.name] = given;
      }
      return { options, secrets };
    },
  };
}

function controlOf({ name, secret, required, default: usual, choices, example }, settings) {
  const held = (secret ? settings.secrets : settings.options)[name] ?? '';
  if (choices.length) {
    const option = ({ value, label }) => h('option', { value }, said(label));
    return h('select', { name, value: held || usual || choices[0].value }, choices.map(option));
  }
  return h('input', {
    name,
    value: held,
    required: required && !usual,
    placeholder: example,
    maxlength: 1000,
    autocomplete: 'off',
    spellcheck: 'false',
    class: 'mono',
    ...(secret ? { pattern: PLACE, title: t('channels.secret.rule') } : {}),
  });
}
