// Accept, mend, reject, purge: each asks for a reason and stays open until the server has agreed.

import { patch, post } from '../../api.js';
import { h } from '../../dom.js';
import { field, form, reasoned } from '../../parts/form.js';
import { isConflict, undoRecord } from '../../parts/record_actions.js';
import { toast } from '../../parts/toast.js';
import { showWaiting } from '../../parts/waiting.js';
import { showError } from '../../problems.js';
import { HIDDEN } from '../../text/characters.js';
import { named, number, t } from '../../words.js';

const BATCH = 100;
const TRUSTS = ['human_approved', 'verified', 'external_user_supplied'];

/** Which label it bears from now on; '' leaves the one it has, which is `held` where it is one. */
function trusts(held = null) {
  return h(
    'select',
    { name: 'trust' },
    h('option', { value: '' }, held ? t('review.trust.same.as', { trust: named('frame.trust', held) }) : t('review.trust.same')),
    TRUSTS.map((one) => h('option', { value: one }, named('review.trust', one))),
  );
}

/** Findings one by one, records some hundred at a time; where one fails, those before it, in `done`, are not asked for again. */
async function settle(many, done, deed, body) {
  const versions = new Map(many.map((one) => [one.id, one.record?.version]));
  const left = (type) => many.filter((one) => one.type === type && !done.has(one.id)).map((one) => one.id);
  for (const id of left('finding')) {
    await post(`/v1/review/findings/${id}/${deed}`, { reason: body.reason });
    done.set(id, null);
  }
  for (let ids = left('record'); ids.length; ids = ids.slice(BATCH)) {
    const now = ids.slice(0, BATCH);
    // What was written since it was looked at, nobody has vouched for.
    const seen = deed === 'purge' ? {} : { versions: Object.fromEntries(now.map((id) => [id, versions.get(id)])) };
    const { records } = await post(`/v1/review/${deed}`, { ...body, ids: now, ...seen });
    for (const id of now) done.set(id, deed === 'purge' ? null : records.find((one) => one.id === id));
  }
  return many.map((one) => one.id);
}

/** Let these out, or (`whole`) all of a source or a session. Answers the ids that are settled, or null. */
export async function accept(many, { whole = null, onBack = null } = {}) {
  if (!whole && many.length === 1 && many[0].held) return acceptChange(many[0], onBack);
  const { why, row } = reasoned();
  const trust = trusts(many.length === 1 ? many[0].record?.trust : null);
  const done = new Map();
  const labelled = Boolean(whole) || many.some((one) => one.type === 'record');
  const act = async () => {
    const reason = why.value.trim();
    const label = trust.value || null;
    if (whole) {
      const { records } = await post('/v1/review/release', { ...whole, reason, trust: label });
      return said(
        'accepted',
        records.map((one) => one.id),
      );
    }
    const settled = await settle(many, done, 'release', { reason, trust: label }).catch((error) => anew(error, onBack));
    return said('accepted', settled, { released: many.length === 1 ? done.get(many[0].id) : null, onBack });
  };
  const text = whole ? t('review.accept.whole', about(whole)) : t('review.accept.text', number(many.length), many.length);
  const fields = [h('p', {}, text), labelled && field(t('review.trust'), trust, t('review.trust.hint')), row];
  return form(t('review.accept'), fields, { label: t('review.accept'), focus: why, act });
}

/** What waits beside a record of ours: put it there, or keep both. */
async function acceptChange(one, onBack) {
  const { why, row } = reasoned();
  const trust = trusts(one.record.trust);
  const choice = (value, on) =>
    h('label', { class: 'check' }, h('input', { type: 'radio', name: 'how', value, checked: on }), ' ', t(`review.accept.${value}`));
  const how = h('fieldset', { class: 'stack' }, h('legend', {}, t('review.accept.how')), choice('beside', true), choice('change', false));
  let changed = false;
  const act = async () => {
    const reason = why.value.trim();
    if (how.querySelector(':checked').value === 'beside') {
      const body = { reason, trust: trust.value || null, expected: one.record.version };
      const released = await post(`/v1/review/${one.id}/release`, body).catch((error) => anew(error, onBack));
      return said('accepted', [one.id], { released, onBack });
    }
    // Whoever accepts a text in the place of ours vouches for it. What waited is then told twice, and goes.
    const label = trust.value || 'human_approved';
    if (!changed) await patch(`/v1/records/${one.held.id}`, { text: one.text, reason, trust: label, expected: one.held.version });
    changed = true;
    await post(`/v1/review/${one.id}/purge`, { reason });
    return said('accepted', [one.id]);
  };
  return form(t('review.accept'), [how, field(t('review.trust'), trust, t('review.trust.hint')), row], {
    label: t('review.accept'),
    focus: why,
    act,
  });
}

/** Change the text, then let it out. */
export async function mend(one) {
  const { why, row } = reasoned();
  const trust = trusts(one.record.trust);
  const text = h('textarea', { rows: 8, required: true, value: one.text });
  const hidden = (one.text.match(HIDDEN) ?? []).length;
  const strip = () => {
    text.value = text.value.replace(HIDDEN, '');
    text.focus();
  };
  const bare =
    hidden > 0 &&
    h(
      'p',
      { class: 'warn' },
      t('review.mend.hidden', number(hidden)),
      ' ',
      h('button', { type: 'button', on: { click: strip } }, t('review.mend.bare')),
    );
  let held = one.record;
  const act = async () => {
    const reason = why.value.trim();
    // It stays in quarantine until the second step; if that fails, only it is tried again.
    if (text.value !== held.text) held = await patch(`/v1/records/${one.id}`, { text: text.value, reason, expected: held.version });
    Object.assign(one, { record: held, text: held.text, title: held.text });
    await post(`/v1/review/${one.id}/release`, { reason, trust: trust.value || null, expected: held.version });
    return said('mended', [one.id]);
  };
  const fields = [field(t('review.text'), text), bare, field(t('review.trust'), trust, t('review.trust.hint')), row];
  return form(t('review.mend'), fields, { label: t('review.mend.do'), wide: true, act });
}

/** Delete these, or (`whole`) all of a source or a session: they can be brought back, at once by a button. */
export async function reject(many, { whole = null, onBack = null } = {}) {
  const { why, row } = reasoned();
  const done = new Map();
  const act = async () => {
    const reason = why.value.trim();
    if (whole) {
      const { records } = await post('/v1/review/reject', { ...whole, reason });
      return rejected(
        records.map((one) => one.id),
        onBack,
      );
    }
    return rejected(await settle(many, done, 'reject', { reason }).catch((error) => anew(error, onBack)), onBack);
  };
  const text = whole ? t('review.reject.whole', about(whole)) : t('review.reject.text', number(many.length), many.length);
  return form(t('review.reject'), [h('p', {}, text), row], { label: t('review.reject'), danger: true, focus: why, act });
}

/** Say so, and offer the way back. */
function rejected(ids, onBack) {
  const back = async () => {
    try {
      for (let left = ids; left.length; left = left.slice(BATCH)) {
        await post('/v1/review/restore', { ids: left.slice(0, BATCH), reason: t('review.rejected-by-mistake') });
      }
      toast(t('review.done.waits'));
      onBack();
    } catch (error) {
      showError(error);
    }
    showWaiting();
  };
  const action = onBack && ids.length ? { label: t('frame.undo'), act: back } : null;
  toast(t('review.done.rejected', number(ids.length), ids.length), { action });
  showWaiting();
  return ids;
}

/** Remove these for good: a box says that it is meant. */
export async function purge(many) {
  const { why, row } = reasoned();
  const done = new Map();
  const sure = h('label', { class: 'check' }, h('input', { type: 'checkbox', required: true }), ' ', t('review.purge.sure'));
  const act = async () => said('purged', await settle(many, done, 'purge', { reason: why.value.trim() }));
  const text = t('review.purge.text', number(many.length), many.length);
  return form(t('review.purge'), [h('p', {}, text), row, sure], { label: t('review.purge'), danger: true, focus: why, act });
}

const about = (whole) => ({ what: whole.source ?? whole.session });

/** It is told in the form, and the list below shows what there is to look at now. */
function anew(error, onBack) {
  if (isConflict(error)) onBack?.();
  throw error;
}

/** One that was let out can be taken back at once, unless somebody changed it since: the version before was in quarantine. */
function said(what, settled, { released = null, onBack = null } = {}) {
  const back = async () => {
    try {
      await undoRecord(released, t('review.taken-back'));
      toast(t('review.done.waits'));
      showWaiting();
      onBack();
    } catch (error) {
      showError(error);
    }
  };
  const action = onBack && released ? { label: t('frame.undo'), act: back } : null;
  toast(t(`review.done.${what}`, number(settled.length), settled.length), { action });
  showWaiting();
  return settled;
}
