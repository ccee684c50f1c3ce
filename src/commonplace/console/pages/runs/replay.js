// A run made again from its journal: whether it comes to what is kept, and how it stood after an event of the past.

import { get, post } from '../../api.js';
import { fill, h } from '../../dom.js';
import { field } from '../../parts/form.js';
import { toast } from '../../parts/toast.js';
import { errorNotice, showError } from '../../problems.js';
import { may } from '../../session.js';
import { number, t } from '../../words.js';
import { sectionsOf } from './blackboard.js';
import { runPath, status } from './list.js';

export async function replayOf(place, run, signal) {
  const last = run.last_event_seq;
  const upto = h('input', { type: 'number', min: 0, max: last, step: 1, placeholder: String(last), inputmode: 'numeric' });
  const again = h('input', { type: 'checkbox' });
  const outcome = h('div', { class: 'replay', role: 'status' });
  const checkpoints = h('div', {});
  fill(
    place,
    h('p', { class: 'soft' }, t('runs.replay.lead')),
    h(
      'form',
      { class: 'row replay-form', on: { submit } },
      field(t('runs.replay.upto'), upto, t('runs.replay.upto.hint', { last: number(last) })),
      h('label', { class: 'check' }, again, ' ', t('runs.replay.from-start')),
      h('button', { type: 'submit', class: 'primary' }, t('runs.replay.do')),
    ),
    outcome,
    checkpoints,
  );

  async function submit(event) {
    event.preventDefault();
    fill(outcome, h('p', { class: 'soft' }, t('frame.loading')));
    try {
      const query = { upto: upto.value === '' ? null : Number(upto.value), from_checkpoint: !again.checked };
      fill(outcome, outcomeOf(await get(runPath(run.run_id, '/replay'), query, { signal })));
    } catch (error) {
      if (error.name !== 'AbortError') fill(outcome, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
    }
  }

  async function load() {
    const { checkpoints: held } = await get(runPath(run.run_id, '/checkpoints'), {}, { signal });
    const keep = h('button', { type: 'button', on: { click: keepOne } }, t('runs.checkpoint'));
    fill(
      checkpoints,
      h('h3', {}, t('runs.checkpoints')),
      h('p', { class: 'soft' }, held.length ? t('runs.checkpoints.at', { list: held.map(number).join(', ') }) : t('runs.checkpoints.none')),
      may('writer') && keep,
    );
  }

  async function keepOne() {
    try {
      await post(runPath(run.run_id, '/checkpoints'), { reason: 'console' }, { signal });
      toast(t('runs.checkpoint.kept'));
      await load();
    } catch (error) {
      showError(error);
    }
  }
  await load();
}

function outcomeOf({
  drift,
  upto_seq: upto,
  events_applied: events,
  patches_applied: patches,
  from_checkpoint: resumed,
  replay,
  replay_blackboard: board,
}) {
  const mismatches = Object.entries(drift).filter(([name, value]) => value && name !== 'mismatch');
  const verdict = upto !== null ? null : drift.mismatch ? 'drift' : 'same';
  return [
    verdict && h('p', { class: verdict === 'same' ? 'good' : 'problem' }, t(`runs.replay.${verdict}`)),
    mismatches.length > 0 &&
      h(
        'ul',
        {},
        mismatches.map(([name]) => h('li', {}, h('code', {}, name))),
      ),
    h('p', { class: 'row' }, t('runs.replay.state'), status(replay.status)),
    h('p', { class: 'small soft' }, t('runs.replay.counts', events, patches), ' ', resumed && t('runs.replay.resumed')),
    sectionsOf(board, replay),
  ];
}
