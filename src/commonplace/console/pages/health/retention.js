// For admins: faults the store finds in itself, how long things are kept, and what tidying did.

import { get, post, put } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { confirm } from '../../parts/dialog.js';
import { field, form } from '../../parts/form.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { named, number, t } from '../../words.js';

const DAY = 86_400;

export function retention(signal) {
  const panel = new RetentionPanel(signal);
  panel.load();
  return panel.element;
}

class RetentionPanel {
  #signal;
  #faults = h('div', { 'aria-live': 'polite' }, h('p', { class: 'soft' }, t('health.faults.hint')));
  #rules = h('div');
  #log = h('div');
  #check = h('button', { type: 'button', on: { click: () => this.#findFaults() } }, t('health.faults.look'));

  constructor(signal) {
    this.#signal = signal;
    const button = (label, act) => h('button', { type: 'button', on: { click: act } }, label);
    this.element = h(
      'div',
      { class: 'columns' },
      h('section', { class: 'card' }, h('h2', {}, t('health.faults')), this.#check, this.#faults),
      h(
        'section',
        { class: 'card' },
        h('h2', {}, t('health.rules')),
        this.#rules,
        h(
          'div',
          { class: 'row' },
          button(t('health.rules.add'), () => this.#addRule()),
          button(t('health.tidy'), () => this.#tidy()),
        ),
      ),
      h('section', { class: 'card' }, h('h2', {}, t('health.log')), h('div', { class: 'scroll-x' }, this.#log)),
    );
  }

  async load() {
    const options = { signal: this.#signal };
    try {
      const [{ rules }, { log }] = await Promise.all([get('/v1/rules', {}, options), get('/v1/upkeep', { limit: 20 }, options)]);
      this.#showRules(rules);
      fill(this.#log, log.length ? logTable(log) : h('p', { class: 'soft' }, t('health.log.none')));
    } catch (error) {
      showError(error);
    }
  }

  async #findFaults() {
    this.#check.disabled = true;
    fill(this.#faults, h('p', { class: 'soft' }, t('frame.loading')));
    try {
      const { findings } = await get('/v1/check', {}, { signal: this.#signal });
      fill(this.#faults, findings.map(finding));
    } catch (error) {
      showError(error);
    } finally {
      this.#check.disabled = false;
    }
  }

  #showRules(rules) {
    const item = (rule) => {
      const click = () => this.#liftRule(rule.scope);
      const lift = h('button', { type: 'button', class: 'quiet', on: { click } }, t('health.rules.lift'));
      return h('li', {}, h('span', { class: 'mono' }, plain(rule.scope, 80)), ' – ', limits(rule), ' ', lift);
    };
    fill(this.#rules, rules.length ? h('ul', {}, rules.map(item)) : h('p', { class: 'soft' }, t('health.rules.none')));
  }

  async #liftRule(scope) {
    if (!(await confirm(t('health.rules.lift'), t('health.rules.lift.ask', { scope })))) return;
    await put('/v1/rules', { scope }, { signal: this.#signal }).then(({ rules }) => this.#showRules(rules), showError);
  }

  async #addRule() {
    const answer = await askRule(this.#signal);
    if (answer) this.#showRules(answer.rules);
  }

  async #tidy() {
    if (!(await confirm(t('health.tidy'), t('health.tidy.ask')))) return;
    await post('/v1/tidy', {}, { signal: this.#signal }).then(({ log }) => {
      toast(t('health.tidy.done', { records: number(log.reduce((sum, { records }) => sum + records, 0)) }));
      return this.load();
    }, showError);
  }
}

const finding = ({ severity, check, message, advice }) =>
  h(
    'div',
    { class: `finding ${severity}` },
    h('strong', {}, named('health.severity', severity), ' · ', check),
    h('p', {}, message, advice && h('span', { class: 'soft' }, ' ', advice)),
  );

function logTable(log) {
  const names = ['when', 'did', 'scope', 'records'].map((name) => h('th', { scope: 'col' }, t(`health.log.${name}`)));
  const row = ({ at, action, detail, scope, records }) =>
    h(
      'tr',
      {},
      h('td', {}, time(at)),
      h('td', {}, named('health.did', action), detail && h('span', { class: 'soft' }, ' ', plain(detail, 120))),
      h('td', { class: 'mono' }, plain(scope, 60)),
      h('td', {}, number(records)),
    );
  return h('table', {}, h('thead', {}, h('tr', {}, names)), h('tbody', {}, log.map(row)));
}

/** Ask for a new rule and store it. Answers { rules }, or null. */
function askRule(signal) {
  const scope = h('input', { name: 'scope', required: true, class: 'mono', placeholder: 'session', autocomplete: 'off' });
  const days = h('input', { name: 'days', type: 'number', min: 0, step: 'any' });
  const most = h('input', { name: 'most', type: 'number', min: 0, step: 1 });
  const amount = (input, unit) => (input.value === '' ? null : Number(input.value) * unit);
  const act = () => put('/v1/rules', { scope: scope.value.trim(), max_age: amount(days, DAY), max_records: amount(most, 1) }, { signal });
  return form(
    t('health.rules.add'),
    [field(t('frame.scope'), scope, t('health.rules.scope')), field(t('health.rules.days'), days), field(t('health.rules.most'), most)],
    { label: t('frame.save'), act },
  );
}

function limits(rule) {
  const parts = [];
  if (rule.max_age !== null) parts.push(t('health.rules.age', { days: number(Math.round((rule.max_age / DAY) * 10) / 10) }));
  if (rule.max_records !== null) parts.push(t('health.rules.records', { records: number(rule.max_records) }));
  return parts.join(', ');
}
