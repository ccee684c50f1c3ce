// What the person does with the list: one record, or many at once. A change is shown at once, then sent; if it is refused, it is put back.

import { get } from '../../api.js';
import { h } from '../../dom.js';
import { entry } from '../../parts/entry.js';
import { prefetch } from '../../parts/prefetch.js';
import {
  allowedActions,
  askDemotion,
  askImportance,
  askPromotion,
  deleteRecord,
  demoteRecord,
  forEachRecord,
  isCaptured,
  isConflict,
  menu,
  pinRecord,
  promoteRecord,
  setImportance,
  undoRecord,
} from '../../parts/record_actions.js';
import { saveRow } from '../../parts/scroll_restore.js';
import { toast } from '../../parts/toast.js';
import { errorMessage, showError } from '../../problems.js';
import { go } from '../../router.js';
import { may } from '../../session.js';
import { titleOf } from '../../text/title.js';
import { named, t } from '../../words.js';

const captured = (record) => t('memory.captured', { source: named('frame.source', record.source) });

export class ListActions {
  #page;
  #undos = []; // the latest last
  #isWorking = false; // many are being changed

  /** `page` has view, list, chosen, fresh, height, signal, keep(record), recount(), select(), replace() and busy(). */
  constructor(page) {
    this.#page = page;
  }

  // ---- one record

  pin(record) {
    if (!allowedActions(record).pin) return null;
    const pinned = !record.pinned;
    return this.#change(record, { pinned }, (current) => pinRecord(current, pinned));
  }

  async weigh(record) {
    if (!allowedActions(record).weigh) return;
    const importance = await askImportance(record);
    if (importance === null || importance === record.importance) return;
    await this.#change(this.#latest(record), { importance }, (current) => setImportance(current, importance));
  }

  async remove(record) {
    if (!allowedActions(record).delete) return;
    const page = this.#page;
    const index = this.#indexOf(record);
    page.list.drop(record.id);
    page.chosen.delete(record.id);
    try {
      const deleted = await deleteRecord(record);
      page.keep(deleted);
      page.recount();
      this.#offerUndo(t('memory.deleted', 1), () => this.#restore([{ record: deleted, index }]));
    } catch (error) {
      page.list.insert(record, Math.max(0, index));
      await this.#showRefusal(record, error);
    }
  }

  async promote(record) {
    if (!allowedActions(record).promote) return;
    const answer = await askPromotion([record]);
    if (answer) await this.#step(record, (current) => promoteRecord(current, answer), t('memory.promoted', 1));
  }

  async demote(record) {
    if (!allowedActions(record).demote) return;
    const answer = await askDemotion([record]);
    if (answer) await this.#step(record, (current) => demoteRecord(current, answer.reason), t('memory.demoted', 1));
  }

  undo(record) {
    return this.#step(this.#latest(record), (current) => undoRecord(current), t('frame.undone'), { isUndo: true });
  }

  /** Undo the latest of what was done here. */
  back() {
    this.#undos.at(-1)?.();
  }

  select(record, event) {
    this.#page.select(record, event.shiftKey);
    this.#page.list.focus();
  }

  open(record) {
    const form = this.#touchedForm();
    if (form) return void form.begin();
    prefetch(record);
    saveRow(record.id, Math.max(0, this.#indexOf(record)));
    go('record', record.id);
  }

  more(record) {
    const can = allowedActions(record);
    const latest = () => this.#latest(record);
    const entries = [
      { key: 'o', label: t('memory.open'), act: () => this.open(record) },
      can.edit && { key: 'e', label: t('memory.edit'), act: () => this.edit(record) },
      can.pin && { key: 'p', label: t(record.pinned ? 'memory.unpin' : 'memory.pin'), act: () => this.pin(latest()) },
      can.weigh && { key: 'i', label: t('memory.importance.set'), act: () => this.weigh(latest()) },
      can.promote && { label: t('memory.promote'), act: () => this.promote(latest()) },
      can.demote && { label: t('memory.demote'), act: () => this.demote(latest()) },
      can.undo && { label: t('memory.undo-last'), act: () => this.undo(record) },
      can.delete && { key: '#', label: t('frame.delete'), danger: true, act: () => this.remove(latest()) },
    ].filter(Boolean);
    menu(titleOf(record) ?? record.text.slice(0, 60), entries, may('writer') && isCaptured(record) ? captured(record) : null);
  }

  // ---- many at once

  async many(action) {
    const page = this.#page;
    const records = [...page.chosen.values()].map((record) => this.#latest(record));
    const act = this.#isWorking || !records.length ? null : await this.#prepare(action, records);
    if (!act) return;
    this.#isWorking = true;
    page.busy(0, records.length);
    const before = new Map(records.map((record) => [record.id, { version: record.version, index: this.#indexOf(record) }]));
    const { changed, failed } = await forEachRecord(
      records,
      async (record) => this.#keepOwn(await act(record)),
      (count) => page.busy(count, records.length),
    );
    for (const record of changed) page.chosen.delete(record.id);
    page.replace(
      changed.filter((record) => this.#belongs(record)),
      changed.filter((record) => !this.#belongs(record)),
    );
    page.busy(null);
    this.#isWorking = false;
    page.recount();
    this.#showOutcome(t(`memory.many.${action}`, changed.length), { changed, failed, before });
  }

  /** Ask what has to be asked once for all; then the request for each, or null. */
  async #prepare(action, records) {
    if (action === 'promote') {
      const answer = await askPromotion(records);
      return answer && ((record) => promoteRecord(record, answer));
    }
    if (action === 'demote') {
      const answer = await askDemotion(records);
      return answer && ((record) => demoteRecord(record, answer.reason));
    }
    if (action === 'weigh') {
      const importance = await askImportance(records[0]);
      return importance !== null && ((record) => setImportance(record, importance));
    }
    return { pin: (record) => pinRecord(record, true), unpin: (record) => pinRecord(record, false), delete: deleteRecord }[action];
  }

  #showOutcome(text, { changed, failed, before }) {
    if (failed.length) {
      toast(`${text} ${t('memory.many.failed', failed.length, errorMessage(failed[0].error))}`, { kind: 'problem' });
    }
    // A record that was so already has no change of ours: to undo it would reach for what somebody did before.
    const ours = changed.filter((record) => record.version > before.get(record.id).version);
    const undo = () => this.#restore(ours.map((record) => ({ record, index: Math.max(0, before.get(record.id).index) })));
    if (ours.length) this.#offerUndo(text, undo);
    else if (changed.length && !failed.length) toast(text);
  }

  // ---- forms

  write() {
    if (!may('writer')) return;
    const page = this.#page;
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
      onSaved: (record) => {
        close();
        page.keep(record);
        page.list.drop(record.id);
        if (this.#belongs(record)) page.list.insert(record, 0);
        page.list.focusOn(0);
        page.recount();
        toast(t('memory.kept'));
      },
    });
    page.fresh.append(form);
    form.begin();
  }

  edit(record) {
    if (!may('writer')) return;
    if (isCaptured(record)) return void toast(captured(record));
    if (allowedActions(record).edit) this.#openEditor(record);
  }

  #openEditor(record) {
    const page = this.#page;
    const rows = page.list.querySelector('.endless-rows');
    const before = rows.querySelector('.editing form');
    if (before?.isTouched()) return void before.begin();
    before?.closest('.editing').remove();
    const close = () => {
      row.remove();
      page.list.focus();
    };
    const form = entry({
      record,
      signal: page.signal,
      onCancel: close,
      onSaved: (changed) => {
        close();
        this.#put(changed);
        page.recount();
        toast(t('memory.saved'));
      },
    });
    // Over the list, at the row: the others keep their height and their place.
    const transform = `translateY(${Math.max(0, this.#indexOf(record)) * page.height}px)`;
    const row = h('div', { role: 'row', class: 'editing', style: { transform } }, h('div', { role: 'gridcell' }, form));
    rows.append(row);
    form.begin();
    row.scrollIntoView({ block: 'nearest' });
  }

  /** A form with something in it that is not stored yet: it is not left by a slip. */
  #touchedForm() {
    const forms = [...this.#page.fresh.children, ...this.#page.list.querySelectorAll('.editing form')];
    return forms.find((form) => form.isTouched());
  }

  // ---- the rows

  #indexOf(record) {
    return this.#page.list.rows.findIndex((row) => row.id === record.id);
  }

  #latest(record) {
    return this.#page.list.rows[this.#indexOf(record)] ?? record;
  }

  #belongs(record) {
    const { state, scope } = this.#page.view;
    return record.state === state && (!scope || record.scope === scope);
  }

  #put(record) {
    // An answer that was overtaken by a later one says nothing new.
    if (record.version < this.#latest(record).version) return;
    const page = this.#page;
    page.keep(record);
    page.list.update(record.id, record);
    page.list.querySelector('.editing form')?.follow(record);
    if (page.chosen.has(record.id)) page.chosen.set(record.id, record);
  }

  /** What we did is no news; the event that it left this scope comes without a version. */
  #keepOwn(record) {
    const { scope } = this.#page.view;
    this.#page.keep(scope && record.scope !== scope ? { id: record.id, version: Infinity } : record);
    return record;
  }

  // ---- requests

  /** Show the record with `guess` at once, then as the server answers. */
  async #change(record, guess, act) {
    this.#put({ ...record, ...guess });
    try {
      this.#put(await act(record));
    } catch (error) {
      this.#put(record);
      await this.#showRefusal(record, error);
    }
  }

  async #step(record, act, text, { isUndo = false } = {}) {
    const before = this.#latest(record);
    try {
      const changed = this.#keepOwn(await act(before));
      if (this.#belongs(changed)) this.#put(changed);
      else this.#page.list.drop(record.id);
      this.#page.recount();
      // A second undo would go further back, and one without a change would undo what somebody did before.
      if (isUndo || changed.version === before.version) toast(text);
      else this.#offerUndo(text, () => this.#restore([{ record: changed, index: Math.max(0, this.#indexOf(changed)) }]));
    } catch (error) {
      await this.#showRefusal(record, error);
    }
  }

  /** Somebody changed it meanwhile: show it as it is now. */
  async #showRefusal(record, error) {
    if (!isConflict(error)) return showError(error);
    toast(t('memory.changed-meanwhile'), { kind: 'problem' });
    this.#put(await get(`/v1/records/${record.id}`).catch(() => record));
  }

  /** A toast with a button for `undo`; the key z undoes the latest. */
  #offerUndo(text, undo) {
    const act = () => {
      this.#undos = this.#undos.filter((other) => other !== act);
      close();
      return undo();
    };
    const close = toast(text, { action: { label: t('frame.undo'), act } });
    this.#undos.push(act);
  }

  /** Undo the change of each record of `rows`, and put it back at its index. */
  async #restore(rows) {
    const { list, keep, recount } = this.#page;
    const { changed, failed } = await forEachRecord(
      rows.map((row) => row.record),
      (record) => undoRecord(record),
    );
    const places = new Map(rows.map((row) => [row.record.id, row.index]));
    for (const record of changed.sort((a, b) => places.get(a.id) - places.get(b.id))) {
      keep(record);
      if (this.#indexOf(record) >= 0) this.#put(record);
      else if (this.#belongs(record)) list.insert(record, Math.min(places.get(record.id), list.rows.length));
    }
    recount();
    if (failed.length) showError(failed[0].error);
    else toast(t('frame.undone'));
  }
}
