// The block of context as an agent would get it, within a budget of tokens.

import { fill, fresh, h, plain } from '../../dom.js';
import { toast } from '../../parts/toast.js';
import { number, t } from '../../words.js';

export function makeBlock(lab) {
  const { asked } = lab;
  const id = fresh('budget');
  const count = h('p', { class: 'small', role: 'status' });
  const meter = h('progress', { 'max': asked.budget, 'value': 0, 'aria-label': t('recall.block.used') });
  const text = h(
    'pre',
    { 'tabindex': '0', 'role': 'region', 'aria-label': t('recall.block.text'), 'class': 'block soft' },
    t('recall.block.none'),
  );
  const note = h('p', { class: 'small warn', hidden: true }, t('recall.block.plain'));
  const told = h('output', { 'for': id, 'class': 'mono', 'aria-live': 'off' }, number(asked.budget));
  let shown = '';
  const budget = h('input', {
    id,
    type: 'range',
    min: 50,
    max: 8000,
    step: 50,
    on: {
      input: () => {
        asked.budget = Number(budget.value);
        fill(told, number(asked.budget));
        lab.fit();
      },
    },
  });
  budget.value = String(asked.budget);
  const copy = h('button', { type: 'button', disabled: true, on: { click: () => copied(shown, text) } }, t('frame.copy'));
  const element = h(
    'section',
    { 'class': 'card beside', 'aria-label': t('recall.block') },
    h('div', { class: 'row' }, h('h2', { class: 'grow' }, t('recall.block')), copy),
    h('p', { class: 'soft small' }, t('recall.block.lead')),
    h('div', { class: 'weight' }, h('label', { for: id }, t('recall.budget')), budget, told),
    meter,
    count,
    note,
    text,
  );

  const remark = () => {
    note.hidden = asked.mode === 'hybrid' && !asked.at && !Object.keys(asked.weights).length;
  };

  function paint(answer) {
    shown = answer.text;
    meter.max = asked.budget;
    meter.value = answer.tokens;
    fill(
      count,
      t('recall.block.count', { tokens: number(answer.tokens), budget: number(asked.budget), records: number(answer.records.length) }),
      answer.left_out ? ` ${t('recall.block.left', answer.left_out)}` : '',
    );
    remark();
    text.classList.toggle('soft', !shown);
    fill(text, shown ? plain(shown) : t('recall.block.empty'));
    copy.disabled = !shown;
  }
  return { element, paint, remark };
}

async function copied(written, element) {
  try {
    await navigator.clipboard.writeText(written);
    toast(t('frame.copied'));
  } catch {
    // Without a secure context there is no clipboard: at least it is selected.
    getSelection().selectAllChildren(element);
  }
}
