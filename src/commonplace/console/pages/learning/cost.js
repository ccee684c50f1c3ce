// What models cost: today's budget, where the money went, and the cap of a day.

import { get, put } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { field } from '../../parts/form.js';
import { usd } from '../../parts/money.js';
import { toast } from '../../parts/toast.js';
import { errorNotice, showError } from '../../problems.js';
import { moment, named, number, t } from '../../words.js';

const DAYS = ['1', '7', '30'];
const LATEST = 50;

export async function cost(place, { query, signal, settle }) {
  const tab = new CostTab({ days: DAYS.includes(query.days) ? query.days : '1', signal, settle });
  fill(place, tab.elements);
  await tab.load();
}

const region = (name) => ({ 'class': 'scroll-x', 'tabindex': '0', 'role': 'region', 'aria-labelledby': `learning-${name}` });

class CostTab {
  #days;
  #signal;
  #settle;
  #today = h(
    'section',
    { 'class': 'card', 'aria-labelledby': 'learning-today' },
    h('h2', { id: 'learning-today' }, t('learning.budget')),
    h('p', { class: 'soft' }, t('frame.loading')),
  );
  #totals = h('div', region('totals'), h('p', { class: 'soft' }, t('frame.loading')));
  #latest = h('div', region('latest'));

  constructor({ days, signal, settle }) {
    this.#days = days;
    this.#signal = signal;
    this.#settle = settle;
  }

  get elements() {
    return [
      this.#today,
      h('div', { class: 'learning-head' }, h('h2', { id: 'learning-totals' }, t('learning.totals')), this.#daysMenu()),
      this.#totals,
      h('h2', { id: 'learning-latest' }, t('learning.latest')),
      this.#latest,
    ];
  }

  #daysMenu() {
    const change = (event) => {
      this.#days = event.target.value;
      this.#settle({ days: this.#days });
      this.load();
    };
    const options = DAYS.map((days) => h('option', { value: days }, t(`learning.days.${days}`)));
    return h('select', { 'aria-label': t('learning.days'), 'value': this.#days, 'on': { change } }, options);
  }

  #fetch() {
    return get('/v1/budgets', { days: this.#days, limit: LATEST }, { signal: this.#signal });
  }

  async load() {
    try {
      this.#paint(await this.#fetch());
    } catch (error) {
      if (error.name === 'AbortError') return;
      fill(this.#totals, h('p', { class: 'problem', role: 'alert' }, errorNotice(error)));
    }
  }

  #paint(budget) {
    fill(this.#today, ...bar(budget), this.#capForm(budget));
    fill(this.#totals, budget.totals.length ? spent(budget.totals) : h('p', { class: 'soft' }, t('learning.totals.none')));
    fill(this.#latest, budget.latest.length ? tasks(budget.latest) : h('p', { class: 'soft' }, t('learning.latest.none')));
  }

  #capForm({ daily_usd: daily, standard_usd: standard, own }) {
    const cap = h('input', {
      type: 'number',
      min: 0,
      max: 1000000,
      step: 'any',
      required: true,
      inputmode: 'decimal',
      value: String(daily),
      name: 'cap',
    });
    const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    const submit = (event) => {
      event.preventDefault();
      this.#saveCap(Number(cap.value), problem);
    };
    const unset = () => this.#saveCap(null, problem);
    return h(
      'form',
      { class: 'learning-cap', on: { submit } },
      field(t('learning.budget.cap'), cap, t('learning.budget.cap.hint')),
      h(
        'div',
        { class: 'row' },
        h('button', { type: 'submit', class: 'primary' }, t('learning.budget.set')),
        own && h('button', { type: 'button', on: { click: unset } }, t('learning.budget.unset', { usd: usd(standard) })),
        h('span', { class: 'soft small' }, own ? t('learning.budget.cap.own') : t('learning.budget.cap.standard', { usd: usd(standard) })),
      ),
      problem,
    );
  }

  /** `daily` null: the operator's cap again. */
  async #saveCap(daily, problem) {
    problem.hidden = true;
    try {
      await put('/v1/budgets', { daily_usd: daily }, { signal: this.#signal });
      const budget = await this.#fetch();
      toast(t('learning.budget.saved', { usd: usd(budget.daily_usd) }));
      this.#paint(budget);
      this.#today.querySelector('input')?.focus();
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (error.code === 'out_of_reach') showError(error);
      // What was typed stays, and why it was refused stands beside it.
      fill(problem, errorNotice(error));
      problem.hidden = false;
    }
  }
}

const amounts = ({ daily_usd: daily, spent_usd: sum, left_usd: left }) => ({ spent: usd(sum), daily: usd(daily), left: usd(left) });

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
      t('learning.budget.spent', amounts(budget)),
      ' ',
      h('span', { class: 'soft', title: budget.resets_at }, t('learning.budget.resets', { when: moment(budget.resets_at) })),
    ),
    h('p', { class: 'soft' }, t('learning.budget.chat', amounts(budget.chat))),
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
