// Take back all that one source wrote: first what would become of each record, then doing it, then the way back.

import { post } from '../../api.js';
import { fill, h } from '../../dom.js';
import { dialog } from '../../parts/dialog.js';
import { field, reasoned } from '../../parts/form.js';
import { errorNotice } from '../../problems.js';
import { named, number, t } from '../../words.js';
import { toRecord } from './desk.js';

const ORIGINS = ['source', 'session', 'actor', 'import', 'rollback'];
const SHOWN = 200;

/** Open it, for this origin if one is given. `onDone` is called when it is closed after something was rolled back. */
export function rollback({ by = 'source', value = '', onDone = () => {} } = {}) {
  const view = new RollbackForm(by, value);
  const box = dialog(t('review.rollback'), view.form, { wide: true, onClose: () => view.isChanged && onDone() });
  view.onClose = () => box.close();
  view.focus();
}

class RollbackForm {
  form;
  isChanged = false; // something was rolled back
  onClose = () => {};
  #origin;
  #name;
  #since = h('input', { type: 'datetime-local' });
  #reason = reasoned(); // { why, row }
  #report = h('div', { 'aria-live': 'polite' });
  #problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  #plan = h('button', { type: 'submit', class: 'primary' }, t('review.rollback.look'));
  #perform;

  constructor(by, value) {
    const origins = ORIGINS.map((origin) => h('option', { value: origin }, t(`review.rollback.${origin}`)));
    this.#origin = h('select', { value: by }, origins);
    this.#name = h('input', { required: true, maxlength: 255, autocomplete: 'off', class: 'mono', value });
    const click = () => this.#run(() => this.#rollBack());
    this.#perform = h('button', { type: 'button', class: 'danger', hidden: true, on: { click } }, t('review.rollback.do'));
    this.form = this.#build();
    for (const input of [this.#origin, this.#name, this.#since]) input.addEventListener('input', () => this.#forgetPlan());
  }

  #build() {
    const submit = (event) => {
      event.preventDefault();
      this.#run(() => this.#showPlan());
    };
    return h(
      'form',
      { class: 'stack', on: { submit } },
      h('p', { class: 'soft' }, t('review.rollback.lead')),
      h(
        'div',
        { class: 'review-origin' },
        field(t('review.rollback.by'), this.#origin),
        field(t('review.rollback.name'), this.#name),
        field(t('review.rollback.since'), this.#since),
      ),
      this.#reason.row,
      this.#problem,
      this.#report,
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', on: { click: () => this.onClose() } }, t('frame.close')),
        this.#plan,
        this.#perform,
      ),
    );
  }

  focus() {
    (this.#name.value ? this.#reason.why : this.#name).focus();
  }

  get #body() {
    const since = this.#since.value ? new Date(this.#since.value).toISOString() : null;
    return { [this.#origin.value]: this.#name.value.trim(), since, reason: this.#reason.why.value.trim() };
  }

  async #run(act) {
    if (this.#plan.disabled) return;
    this.#plan.disabled = this.#perform.disabled = true;
    this.#problem.hidden = true;
    try {
      await act();
    } catch (error) {
      fill(this.#problem, errorNotice(error));
      this.#problem.hidden = false;
    } finally {
      this.#plan.disabled = this.#perform.disabled = false;
    }
  }

  async #showPlan() {
    const plan = await post('/v1/rollback', { ...this.#body, dry_run: true });
    fill(this.#report, h('h3', {}, t('review.rollback.would')), summed(plan), steps(plan.steps, 'would'));
    this.#perform.hidden = plan.deleted + plan.set_back === 0;
  }

  /** What was planned is what is done: for another name there has to be another plan. */
  #forgetPlan() {
    this.#perform.hidden = true;
    fill(this.#report);
  }

  async #rollBack() {
    if (!this.form.reportValidity()) return;
    const body = this.#body;
    const outcome = await post('/v1/rollback', body);
    this.isChanged = true;
    this.#perform.hidden = true;
    const click = () => this.#run(() => this.#undo(outcome.id, body.reason));
    const back = h('button', { type: 'button', on: { click } }, t('review.rollback.back'));
    fill(
      this.#report,
      h('h3', {}, t('review.rollback.done')),
      summed(outcome),
      h('p', { class: 'row' }, h('span', {}, t('review.rollback.id')), h('code', {}, outcome.id), back),
      steps(outcome.steps, 'did'),
    );
    back.focus();
  }

  async #undo(id, reason) {
    const outcome = await post('/v1/rollback', { rollback: id, reason });
    fill(this.#report, h('h3', {}, t('review.rollback.undone')), summed(outcome), steps(outcome.steps, 'did'));
  }
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
