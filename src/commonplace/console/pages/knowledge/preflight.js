// Is it known already? What a run would be told before it works something out.

import { post } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { field } from '../../parts/form.js';
import { errorNotice } from '../../problems.js';
import { named, t } from '../../words.js';

const FIELDS = ['subject', 'project', 'namespace', 'task_family'];

export function preflight(signal) {
  const boxes = Object.fromEntries(
    FIELDS.map((name) => [name, h('input', { maxlength: 255, autocomplete: 'off', required: name === 'subject' })]),
  );
  const outcome = h('div', { 'class': 'preflight-outcome', 'aria-live': 'polite' });
  const go = h('button', { type: 'submit' }, t('knowledge.preflight.go'));
  const submit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    const named = FIELDS.map((name) => [name, boxes[name].value.trim()]).filter(([, value]) => value);
    try {
      fill(outcome, answer(await post('/v1/knowledge/preflight', Object.fromEntries(named), { signal })));
    } catch (error) {
      if (error.name !== 'AbortError') fill(outcome, h('p', { class: 'problem', role: 'alert' }, errorNotice(error)));
    }
    go.disabled = false;
  };
  const rows = FIELDS.map((name) => field(t(`knowledge.preflight.${name}`), boxes[name]));
  return h(
    'details',
    { class: 'card preflight' },
    h('summary', {}, t('knowledge.preflight')),
    h('p', { class: 'soft small' }, t('knowledge.preflight.lead')),
    h('form', { class: 'preflight-form', on: { submit } }, rows, go),
    outcome,
  );
}

function answer({ decision, coverage_key: key, items, context }) {
  const line = (one) =>
    h(
      'li',
      {},
      plain(one.title, 300),
      ' ',
      h('span', { class: 'badge' }, named('review.status.short', one.status)),
      ' ',
      h('small', { class: 'soft' }, time(one.last_seen_at)),
    );
  return [
    h('p', {}, h('strong', {}, named('knowledge.decision', decision))),
    h('p', { class: 'soft small' }, t('review.coverage'), ' ', h('code', {}, plain(key, 500))),
    items.length > 0 && h('ul', {}, items.map(line)),
    context && h('details', {}, h('summary', {}, t('knowledge.preflight.context')), h('pre', {}, plain(context, 20_000))),
  ];
}
