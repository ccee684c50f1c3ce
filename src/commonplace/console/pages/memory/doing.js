// What the person does with the list: one record, or many at once. Seen at once, then sent; what is refused is put back.

import { get } from '../../api.js';
import { h } from '../../dom.js';
import { entry } from '../../parts/entry.js';
import { hand } from '../../parts/handed.js';
import { leave } from '../../parts/returning.js';
import {
  askDemotion,
  askImportance,
  askPromotion,
  deleted,
  demoted,
  each,
  isCaptured,
  isConflict,
  menu,
  offers,
  pinned,
  promoted,
  takenBack,
  weighed,
} from '../../parts/tending.js';
import { toast } from '../../parts/toast.js';
import { errorMessage, showError } from '../../problems.js';
import { go } from '../../router.js';
import { may } from '../../session.js';
import { named, t } from '../../words.js';

const captured = (record) => t('memory.captured', { source: named('frame.source', record.source) });

/** `page` has view, list, chosen, keep(record), recount(), refresh(), bar and signal. */
export function doings(page) {
  let ways = []; // what can be taken back, the latest last
  const shown = (record) => page.list.rows.findIndex((one) => one.id === record.id);
  const latest = (record) => page.list.rows[shown(record)] ?? record;

  function put(record) {
    // An answer that was overtaken by a later one says nothing new.
    if (record.version < latest(record).version) return;
    page.keep(record);
    page.list.update(record.id, record);
    page.list.querySelector('.editing form')?.follow(record);
    if (page.chosen.has(record.id)) page.chosen.set(record.id, record);
  }

  /** Tell what was done, with a way back: each message takes back what it tells of, the key z the latest. */
  function tell(text, undo) {
    const way = () => {
      ways = ways.filter((one) => one !== way);
      gone();
      return undo();
    };
    const gone = toast(text, { action: { label: t('frame.undo'), act: way } });
    ways.push(way);
  }

  const back = () => ways.at(-1)?.();

  /** Somebody changed it meanwhile: show it as it is now. */
  async function refused(record, error) {
    if (!isConflict(error)) return showError(error);
    toast(t('memory.changed-meanwhile'), { kind: 'problem' });
    put(await get(`/v1/records/${record.id}`).catch(() => record));
  }

  /** A form with something in it that is not stored yet: it is not left by a slip. */
  const typed = () => [...page.fresh.children, ...page.list.querySelectorAll('.editing form')].find((form) => form.isTouched());

  async function change(record, guess, act) {
    put({ ...record, ...guess });
    try {
      put(await act(record));
    } catch (error) {
      put(record);
      await refused(record, error);
    }
  }

  const doing = {
    pin: (record) => offers(record).pin && change(record, { pinned: !record.pinned }, (one) => pinned(one, !record.pinned)),

    async weigh(record) {
      if (!offers(record).weigh) return;
      const importance = await askImportance(record);
      if (importance !== null && importance !== record.importance)
        await change(latest(record), { importance }, (one) => weighed(one, importance));
    },

    async remove(record) {
      if (!offers(record).delete) return;
      const index = shown(record);
      page.list.drop(record.id);
      page.chosen.delete(record.id);
      try {
        const gone = await deleted(record);
        page.keep(gone);
        page.recount();
        tell(t('memory.deleted', 1), () => restore([{ record: gone, index }]));
      } catch (error) {
        page.list.insert(record, Math.max(0, index));
        await refused(record, error);
      }
    },

    async promote(record) {
      if (!offers(record).promote) return;
      const answer = await askPromotion([record]);
      if (answer) await step(record, (one) => promoted(one, answer), t('memory.promoted', 1));
    },

    async demote(record) {
      if (!offers(record).demote) return;
      const answer = await askDemotion([record]);
      if (answer) await step(record, (one) => demoted(one, answer.reason), t('memory.demoted', 1));
    },

    select(record, event) {
      page.select(record, event.shiftKey);
      page.list.focus();
    },

    open(record) {
      const form = typed();
      if (form) return void form.begin();
      hand(record);
      leave(record.id, Math.max(0, shown(record)));
      go('record', record.id);
    },
    back,

    edit(record) {
      if (!may('writer')) return;
      if (isCaptured(record)) return void toast(captured(record));
      if (offers(record).edit) openEditor(record);
    },

    more(record) {
      const can = offers(record);
      const entries = [
        { key: 'o', label: t('memory.open'), act: () => doing.open(record) },
        can.edit && { key: 'e', label: t('memory.edit'), act: () => doing.edit(record) },
        can.pin && { key: 'p', label: t(record.pinned ? 'memory.unpin' : 'memory.pin'), act: () => doing.pin(latest(record)) },
        can.weigh && { key: 'i', label: t('memory.importance.set'), act: () => doing.weigh(latest(record)) },
        can.promote && { label: t('memory.promote'), act: () => doing.promote(latest(record)) },
        can.demote && { label: t('memory.demote'), act: () => doing.demote(latest(record)) },
        can.undo && {
          label: t('memory.undo-last'),
          act: () => step(latest(record), (one) => takenBack(one), t('frame.undone'), { isBack: true }),
        },
        can.delete && { key: '#', label: t('frame.delete'), danger: true, act: () => doing.remove(latest(record)) },
      ].filter(Boolean);
      menu(record.key ?? record.text.slice(0, 60), entries, may('writer') && isCaptured(record) ? captured(record) : null);
    },

    write: () => openNew(),
    many,
  };

  async function step(record, act, told, { isBack = false } = {}) {
    const before = latest(record);
    try {
      const changed = await act(before);
      seen(changed);
      fits(changed) ? put(changed) : page.list.drop(record.id);
      page.recount();
      // To take back once more would go further back, and where nothing changed it would take back what somebody did before.
      if (isBack || changed.version === before.version) toast(told);
      else tell(told, () => restore([{ record: changed, index: Math.max(0, shown(changed)) }]));
    } catch (error) {
      await refused(record, error);
    }
  }

  /** What we did is no news; that it left this scope is told without a version. */
  function seen(record) {
    page.keep(page.view.scope && record.scope !== page.view.scope ? { id: record.id, version: Infinity } : record);
    return record;
  }

  const fits = (record) => record.state === page.view.state && (!page.view.scope || record.scope === page.view.scope);

  async function restore(gone) {
    const { done, failed } = await each(
      gone.map((one) => one.record),
      (one) => takenBack(one),
    );
    const places = new Map(gone.map((one) => [one.record.id, one.index]));
    for (const record of done.sort((a, b) => places.get(a.id) - places.get(b.id))) {
      page.keep(record);
      if (shown(record) >= 0) put(record);
      else if (fits(record)) page.list.insert(record, Math.min(places.get(record.id), page.list.rows.length));
    }
    page.recount();
    if (failed.length) showError(failed[0].error);
    else toast(t('frame.undone'));
  }

  // ---- many at once

  let working = false;

  async function many(what) {
    const records = [...page.chosen.values()].map(latest);
    const act = working || !records.length ? null : await chosenAct(what, records);
    if (!act) return;
    working = true;
    page.busy(0, records.length);
    const places = new Map(records.map((one) => [one.id, shown(one)]));
    const { done, failed } = await each(
      records,
      async (one) => seen(await act(one)),
      (count) => page.busy(count, records.length),
    );
    for (const record of done) page.chosen.delete(record.id);
    page.replace(
      done.filter(fits),
      done.filter((one) => !fits(one)),
    );
    page.busy(null);
    working = false;
    page.recount();
    const told = t(`memory.many.${what}`, done.length);
    if (failed.length) toast(`${told} ${t('memory.many.failed', failed.length, errorMessage(failed[0].error))}`, { kind: 'problem' });
    // One that was so already has no change of ours to take back: an undo would reach for what somebody did before.
    const versions = new Map(records.map((one) => [one.id, one.version]));
    const ours = done.filter((one) => one.version > versions.get(one.id));
    const undo = () => restore(ours.map((record) => ({ record, index: Math.max(0, places.get(record.id)) })));
    if (ours.length) tell(told, undo);
    else if (done.length && !failed.length) toast(told);
  }

  async function chosenAct(what, records) {
    if (what === 'promote') {
      const answer = await askPromotion(records);
      return answer && ((one) => promoted(one, answer));
    }
    if (what === 'demote') {
      const answer = await askDemotion(records);
      return answer && ((one) => demoted(one, answer.reason));
    }
    if (what === 'weigh') {
      const importance = await askImportance(records[0]);
      return importance !== null && ((one) => weighed(one, importance));
    }
    return { pin: (one) => pinned(one, true), unpin: (one) => pinned(one, false), delete: deleted }[what];
  }

  // ---- forms

  function openNew() {
    if (!may('writer')) return;
    const before = page.fresh.querySelector('form');
    if (before) return void before.begin();
    const close = () => {
      page.fresh.replaceChildren();
      page.list.focus();
    };
    const form = entry({
      scope: page.view.scope,
      signal: page.signal,
      onCancel: close,
      onSaved(record) {
        close();
        page.keep(record);
        page.list.drop(record.id);
        if (fits(record)) page.list.insert(record, 0);
        page.list.focusOn(0);
        page.recount();
        toast(t('memory.kept'));
      },
    });
    page.fresh.append(form);
    form.begin();
  }

  function openEditor(record) {
    const rows = page.list.querySelector('.endless-rows');
    const before = rows.querySelector('.editing form');
    if (before?.isTouched()) return void before.begin();
    before?.closest('.editing').remove();
    const close = () => {
      over.remove();
      page.list.focus();
    };
    const form = entry({
      record,
      signal: page.signal,
      onCancel: close,
      onSaved(changed) {
        close();
        put(changed);
        page.recount();
        toast(t('memory.saved'));
      },
    });
    // Over the list, at the row: the others keep their height and their place.
    const down = `translateY(${Math.max(0, shown(record)) * page.height}px)`;
    const over = h('div', { role: 'row', class: 'editing', style: { transform: down } }, h('div', { role: 'gridcell' }, form));
    rows.append(over);
    form.begin();
    over.scrollIntoView({ block: 'nearest' });
  }

  return doing;
}
