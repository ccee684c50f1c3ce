// What models cost: today's budget, where the money went, and the cap of a day.

import { get, put } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { field } from '../../parts/form.js';
import { toast } from '../../parts/toast.js';
import { errorNotice, showError } from '../../problems.js';
import { language, moment, named, number, t } from '../../words.js';

const DAYS = ['1', '7', '30'];
const LATEST = 50;
const money = (digits) =>
  new Intl.NumberFormat(language === 'zh' ? 'zh-CN' : 'en-GB', {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    maximumFractionDigits: digits,
  });
const dollars = money(2);
const fractions = money(6);
// A task may cost less than a cent, and a cap may have any number of digits.
const usd = (value) => (Number(value.toFixed(2)) === value ? dollars : fractions).format(value);

export async function cost(place, { query, signal, settle }) {
  let days = DAYS.includes(query.days) ? query.days : '1';
  const today = h('section', { 'class': 'card', 'aria-labelledby': 'learning-today' });
  const totals = h(
    'div',
    { 'class': 'scroll-x', 'tabindex': '0', 'role': 'region', 'aria-labelledby': 'learning-totals' },
    h('p', { class: 'soft' }, t('frame.loading')),
  );
  const latest = h('div', { 'class': 'scroll-x', 'tabindex': '0', 'role': 'region', 'aria-labelledby': 'learning-latest' });
  const span = h(
    'select',
    {
      'aria-label': t('learning.days'),
      'value': days,
      'on': {
        change: () => {
          days = span.value;
          settle({ days });
          load();
        },
      },
    },
    DAYS.map((one) => h('option', { value: one }, t(`learning.days.${one}`))),
  );

  async function load() {
    try {
      paint(await get('/v1/budgets', { days, limit: LATEST }, { signal }));
    } catch (error) {
      if (error.name === 'AbortError') return;
      fill(totals, h('p', { class: 'problem', role: 'alert' }, errorNotice(error)));
    }
  }

  function paint(budget) {
    fill(today, ...bar(budget), cap(budget));
    fill(totals, budget.totals.length ? spent(budget.totals) : h('p', { class: 'soft' }, t('learning.totals.none')));
    fill(latest, budget.latest.length ? tasks(budget.latest) : h('p', { class: 'soft' }, t('learning.latest.none')));
  }

  function cap(budget) {
    const wanted = h('input', {
      type: 'number',
      min: 0,
      max: 1000000,
      step: 'any',
      required: true,
      inputmode: 'decimal',
      value: String(budget.daily_usd),
      name: 'cap',
    });
    const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    const save = async (value) => {
      problem.hidden = true;
      try {
        await put('/v1/budgets', { daily_usd: value }, { signal });
        const now = await get('/v1/budgets', { days, limit: LATEST }, { signal });
        toast(t('learning.budget.saved', { usd: usd(now.daily_usd) }));
        paint(now);
        today.querySelector('input')?.focus();
      } catch (error) {
        if (error.name === 'AbortError') return;
        if (error.code === 'out_of_reach') showError(error);
        // What was typed stays, and why it was refused stands beside it.
        fill(problem, errorNotice(error));
        problem.hidden = false;
      }
    };
    return h(
      'form',
      {
        class: 'learning-cap',
        on: {
          submit: (event) => {
            event.preventDefault();
            save(Number(wanted.value));
          },
        },
      },
      field(t('learning.budget.cap'), wanted, t('learning.budget.cap.hint')),
      h(
        'div',
        { class: 'row' },
        h('button', { type: 'submit', class: 'primary' }, t('learning.budget.set')),
        budget.own &&
          h('button', { type: 'button', on: { click: () => save(null) } }, t('learning.budget.unset', { usd: usd(budget.standard_usd) })),
        h(
          'span',
          { class: 'soft small' },
          budget.own ? t('learning.budget.cap.own') : t('learning.budget.cap.standard', { usd: usd(budget.standard_usd) }),
        ),
      ),
      problem,
    );
  }

  fill(today, h('h2', { id: 'learning-today' }, t('learning.budget')), h('p', { class: 'soft' }, t('frame.loading')));
  fill(
    place,
    today,
    h('div', { class: 'learning-head' }, h('h2', { id: 'learning-totals' }, t('learning.totals')), span),
    totals,
    h('h2', { id: 'learning-latest' }, t('learning.latest')),
    latest,
  );
  await load();
}

function bar(budget) {
  const { daily_usd: daily, spent_usd: sum, left_usd: left } = budget;
  const head = h('h2', { id: 'learning-today' }, t('learning.budget'));
  if (!budget.model) {
    return [
      head,
      h('p', {}, t('learning.budget.none')),
      h('p', { class: 'soft' }, coded(t('learning.budget.none.how')), ' ', t('learning.budget.none.cap')),
    ];
  }
  return [
    head,
    h('p', { class: 'soft' }, t('learning.budget.model', { model: '' }), plain(budget.model, 120)),
    h('progress', {
      'class': left > 0 ? '' : 'over',
      'value': Math.min(sum, daily),
      'max': daily || 1,
      'aria-label': t('learning.budget.bar'),
    }),
    h(
      'p',
      {},
      t('learning.budget.spent', { spent: usd(sum), daily: usd(daily), left: usd(left) }),
      ' ',
      h('span', { class: 'soft', title: budget.resets_at }, t('learning.budget.resets', { when: moment(budget.resets_at) })),
    ),
    daily === 0 ? h('p', { class: 'warn' }, t('learning.budget.off')) : left <= 0 && h('p', { class: 'warn' }, t('learning.budget.over')),
  ];
}

const coded = (text) => text.split('`').map((part, index) => (index % 2 ? h('code', {}, part) : part));
const head = (...names) =>
  h(
    'thead',
    {},
    h(
      'tr',
      {},
      names.map(([name, numeric]) => h('th', { scope: 'col', class: numeric ? 'amount' : '' }, t(`learning.${name}`))),
    ),
  );
const amount = (...told) => h('td', { class: 'amount' }, told);

function spent(totals) {
  const dearest = Math.max(...totals.map((one) => one.cost_usd)) || 1;
  const all = (name) => totals.reduce((sum, one) => sum + one[name], 0);
  return h(
    'table',
    { class: 'learning-costs' },
    head(['purpose'], ['model'], ['usd', 1], ['tasks', 1], ['tokens.in', 1], ['tokens.out', 1]),
    h(
      'tbody',
      {},
      totals.map((one) =>
        h(
          'tr',
          {},
          h('td', {}, plain(one.purpose, 80)),
          h('td', { class: 'mono' }, plain(one.model, 80)),
          amount(
            usd(one.cost_usd),
            h('span', { 'class': 'learning-share', 'aria-hidden': 'true', 'style': { '--share': String(one.cost_usd / dearest) } }),
          ),
          amount(number(one.tasks), one.failed > 0 && h('span', { class: 'problem small' }, ' ', t('learning.failed.of', one.failed))),
          amount(number(one.input_tokens)),
          amount(number(one.output_tokens)),
        ),
      ),
    ),
    h(
      'tfoot',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'row', colspan: 2 }, t('learning.sum')),
        amount(usd(all('cost_usd'))),
        amount(number(all('tasks'))),
        amount(number(all('input_tokens'))),
        amount(number(all('output_tokens'))),
      ),
    ),
  );
}

function tasks(latest) {
  return h(
    'table',
    { class: 'learning-costs' },
    head(['when'], ['session'], ['usd', 1], ['tokens.in', 1], ['tokens.out', 1], ['outcome'], ['model']),
    h(
      'tbody',
      {},
      latest.map((one) =>
        h(
          'tr',
          {},
          h('td', {}, time(one.at)),
          h('td', { class: 'mono learning-work' }, plain(one.session, 120)),
          amount(usd(one.cost_usd)),
          amount(number(one.input_tokens)),
          amount(number(one.output_tokens)),
          h('td', { class: one.ok ? 'good' : 'problem' }, named('learning.outcome', one.ok ? 'ok' : 'failed')),
          h('td', { class: 'mono' }, plain(one.model, 80)),
        ),
      ),
    ),
  );
}
