// Take back all that one source wrote: first what would become of each record, then the doing, then the way back.

import { post } from '../../api.js';
import { fill, h } from '../../dom.js';
import { dialog } from '../../parts/dialog.js';
import { field, reasoned } from '../../parts/form.js';
import { errorNotice } from '../../problems.js';
import { named, number, t } from '../../words.js';
import { toRecord } from './desk.js';

const ORIGINS = ['source', 'session', 'actor', 'import', 'rollback'];
const SHOWN = 200;

/** Open it, for this origin where one is given. `onDone` is called when it is closed after something was done. */
export function rollback({ by = 'source', value = '', onDone = () => {} } = {}) {
  const origin = h(
    'select',
    { value: by },
    ORIGINS.map((one) => h('option', { value: one }, t(`review.rollback.${one}`))),
  );
  const name = h('input', { required: true, maxlength: 255, autocomplete: 'off', class: 'mono', value });
  const since = h('input', { type: 'datetime-local' });
  const { why, row } = reasoned();
  const told = h('div', { 'aria-live': 'polite' });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const look = h('button', { type: 'submit', class: 'primary' }, t('review.rollback.look'));
  const act = h(
    'button',
    { type: 'button', class: 'danger', hidden: true, on: { click: () => run(asked(), perform) } },
    t('review.rollback.do'),
  );
  const close = h('button', { type: 'button', on: { click: () => made.close() } }, t('frame.close'));

  let acted = false;

  const asked = () => ({
    [origin.value]: name.value.trim(),
    since: since.value ? new Date(since.value).toISOString() : null,
    reason: why.value.trim(),
  });

  async function run(body, then) {
    if (look.disabled) return;
    look.disabled = act.disabled = true;
    problem.hidden = true;
    try {
      await then(body);
    } catch (error) {
      fill(problem, errorNotice(error));
      problem.hidden = false;
    } finally {
      look.disabled = act.disabled = false;
    }
  }

  async function plan(body) {
    const found = await post('/v1/rollback', { ...body, dry_run: true });
    const many = found.deleted + found.set_back;
    fill(told, h('h3', {}, t('review.rollback.would')), summed(found), steps(found.steps, 'would'));
    act.hidden = many === 0;
  }

  async function perform(body) {
    if (!form.reportValidity()) return;
    const done = await post('/v1/rollback', body);
    acted = true;
    act.hidden = true;
    const back = h(
      'button',
      { type: 'button', on: { click: () => run({ rollback: done.id, reason: body.reason }, undone) } },
      t('review.rollback.back'),
    );
    fill(
      told,
      h('h3', {}, t('review.rollback.done')),
      summed(done),
      h('p', { class: 'row' }, h('span', {}, t('review.rollback.id')), h('code', {}, done.id), back),
      steps(done.steps, 'did'),
    );
    back.focus();
  }

  async function undone(body) {
    const done = await post('/v1/rollback', body);
    fill(told, h('h3', {}, t('review.rollback.undone')), summed(done), steps(done.steps, 'did'));
  }

  // What was looked at is what is done: another name, and it is looked at anew.
  const anew = () => {
    act.hidden = true;
    fill(told);
  };
  const form = h(
    'form',
    {
      class: 'stack',
      on: {
        submit: (event) => {
          event.preventDefault();
          run(asked(), plan);
        },
      },
    },
    h('p', { class: 'soft' }, t('review.rollback.lead')),
    h(
      'div',
      { class: 'review-origin' },
      field(t('review.rollback.by'), origin),
      field(t('review.rollback.name'), name),
      field(t('review.rollback.since'), since),
    ),
    row,
    problem,
    told,
    h('div', { class: 'buttons' }, close, look, act),
  );
  for (const one of [origin, name, since]) one.addEventListener('input', anew);
  const made = dialog(t('review.rollback'), form, { wide: true, onClose: () => acted && onDone() });
  (value ? why : name).focus();
}

const summed = (found) =>
  h('p', {}, t('review.rollback.summed', { deleted: number(found.deleted), back: number(found.set_back), left: number(found.left) }));

function steps(found, tense) {
  if (!found.length) return h('p', { class: 'soft' }, t('review.rollback.nothing'));
  return h(
    'div',
    { 'class': 'scroll-x review-steps', 'tabindex': '0', 'role': 'group', 'aria-label': t('review.rollback.steps') },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          ['record', 'scope', 'becomes'].map((name) => h('th', { scope: 'col' }, t(`review.${name}`))),
        ),
      ),
      h(
        'tbody',
        {},
        found
          .slice(0, SHOWN)
          .map((one) =>
            h(
              'tr',
              {},
              h('td', {}, toRecord(one.id)),
              h('td', { class: 'mono small' }, one.scope),
              h('td', {}, t(`review.step.${tense}.${one.kind}`, { to: one.to }), one.why && ` (${named('review.left', one.why)})`),
            ),
          ),
      ),
    ),
    found.length > SHOWN && h('p', { class: 'soft' }, t('review.rollback.more', { count: number(found.length - SHOWN) })),
  );
}
