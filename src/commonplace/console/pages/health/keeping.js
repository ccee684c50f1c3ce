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

export function keeping(signal) {
  const faults = h('div', { 'aria-live': 'polite' }, h('p', { class: 'soft' }, t('health.faults.hint')));
  const rules = h('div');
  const log = h('div');
  const look = h('button', { type: 'button', on: { click: check } }, t('health.faults.look'));

  async function check() {
    look.disabled = true;
    fill(faults, h('p', { class: 'soft' }, t('frame.loading')));
    try {
      const { findings } = await get('/v1/check', {}, { signal });
      fill(
        faults,
        findings.map((one) =>
          h(
            'div',
            { class: `finding ${one.severity}` },
            h('strong', {}, named('health.severity', one.severity), ' · ', one.check),
            h('p', {}, one.message, one.advice && h('span', { class: 'soft' }, ' ', one.advice)),
          ),
        ),
      );
    } catch (error) {
      showError(error);
    } finally {
      look.disabled = false;
    }
  }

  async function load() {
    try {
      const [kept, done] = await Promise.all([get('/v1/rules', {}, { signal }), get('/v1/upkeep', { limit: 20 }, { signal })]);
      told(kept.rules);
      fill(
        log,
        done.log.length
          ? h(
              'table',
              {},
              h(
                'thead',
                {},
                h(
                  'tr',
                  {},
                  ['when', 'did', 'scope', 'records'].map((name) => h('th', { scope: 'col' }, t(`health.log.${name}`))),
                ),
              ),
              h(
                'tbody',
                {},
                done.log.map((one) =>
                  h(
                    'tr',
                    {},
                    h('td', {}, time(one.at)),
                    h('td', {}, named('health.did', one.action), one.detail && h('span', { class: 'soft' }, ' ', plain(one.detail, 120))),
                    h('td', { class: 'mono' }, plain(one.scope, 60)),
                    h('td', {}, number(one.records)),
                  ),
                ),
              ),
            )
          : h('p', { class: 'soft' }, t('health.log.none')),
      );
    } catch (error) {
      showError(error);
    }
  }

  function told(found) {
    fill(
      rules,
      found.length
        ? h(
            'ul',
            {},
            found.map((one) =>
              h(
                'li',
                {},
                h('span', { class: 'mono' }, plain(one.scope, 80)),
                ' – ',
                limits(one),
                ' ',
                h('button', { type: 'button', class: 'quiet', on: { click: () => lift(one.scope) } }, t('health.rules.lift')),
              ),
            ),
          )
        : h('p', { class: 'soft' }, t('health.rules.none')),
    );
  }

  async function lift(scope) {
    if (!(await confirm(t('health.rules.lift'), t('health.rules.lift.ask', { scope })))) return;
    await put('/v1/rules', { scope }, { signal }).then((kept) => told(kept.rules), showError);
  }

  async function add() {
    const scope = h('input', { name: 'scope', required: true, class: 'mono', placeholder: 'session', autocomplete: 'off' });
    const days = h('input', { name: 'days', type: 'number', min: 0, step: 'any' });
    const most = h('input', { name: 'most', type: 'number', min: 0, step: 1 });
    const act = () =>
      put(
        '/v1/rules',
        {
          scope: scope.value.trim(),
          max_age: days.value === '' ? null : Number(days.value) * DAY,
          max_records: most.value === '' ? null : Number(most.value),
        },
        { signal },
      );
    const kept = await form(
      t('health.rules.add'),
      [field(t('frame.scope'), scope, t('health.rules.scope')), field(t('health.rules.days'), days), field(t('health.rules.most'), most)],
      { label: t('frame.save'), act },
    );
    if (kept) told(kept.rules);
  }

  async function tidy() {
    if (!(await confirm(t('health.tidy'), t('health.tidy.ask')))) return;
    await post('/v1/tidy', {}, { signal }).then((done) => {
      toast(t('health.tidy.done', { records: number(done.log.reduce((sum, one) => sum + one.records, 0)) }));
      return load();
    }, showError);
  }

  load();
  return h(
    'div',
    { class: 'columns' },
    h('section', { class: 'card' }, h('h2', {}, t('health.faults')), look, faults),
    h(
      'section',
      { class: 'card' },
      h('h2', {}, t('health.rules')),
      rules,
      h(
        'div',
        { class: 'row' },
        h('button', { type: 'button', on: { click: add } }, t('health.rules.add')),
        h('button', { type: 'button', on: { click: tidy } }, t('health.tidy')),
      ),
    ),
    h('section', { class: 'card' }, h('h2', {}, t('health.log')), h('div', { class: 'scroll-x' }, log)),
  );
}

function limits(rule) {
  const parts = [];
  if (rule.max_age !== null) parts.push(t('health.rules.age', { days: number(Math.round((rule.max_age / DAY) * 10) / 10) }));
  if (rule.max_records !== null) parts.push(t('health.rules.records', { records: number(rule.max_records) }));
  return parts.join(', ');
}
