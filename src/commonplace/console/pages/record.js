// The whole life of a record: what it says, what it said before, where it comes from, who touched it, where it was recalled.

import { get, post } from '../api.js';
import { fill, fresh, h, plain } from '../dom.js';
import * as badge from '../parts/badge.js';
import { confirm } from '../parts/dialog.js';
import { entry } from '../parts/entry.js';
import { takePrefetched } from '../parts/prefetch.js';
import {
  allowedActions,
  askCorrection,
  askDemotion,
  askImportance,
  askPromotion,
  correctRecord,
  deleteRecord,
  demoteRecord,
  editRecord,
  isCaptured,
  isConflict,
  pinRecord,
  promoteRecord,
  setImportance,
  undoRecord,
} from '../parts/record_actions.js';
import { listAddress } from '../parts/scroll_restore.js';
import { shortcut } from '../parts/shortcuts.js';
import { toast } from '../parts/toast.js';
import { quarantineNote } from '../parts/waiting.js';
import { errorNotice, showError } from '../problems.js';
import { address, go } from '../router.js';
import { may } from '../session.js';
import { filePath, titleOf } from '../text/title.js';
import { learn, named, t } from '../words.js';
import { facts } from './record/facts.js';
import { origin } from './record/origin.js';
import { text, toggleWritten } from './record/text.js';
import { traces } from './record/traces.js';
import { versions } from './record/versions.js';

export async function show(place, { part, signal }) {
  // The same is done with it as in the list, in the same words.
  await learn('memory');
  const page = { id: part, signal, record: takePrefetched(part), parts: sections() };
  fill(
    place,
    page.parts.head,
    page.parts.note,
    h(
      'div',
      { class: 'life' },
      h('div', {}, page.parts.text, page.parts.versions, page.parts.traces),
      h('aside', { 'aria-label': t('record.facts') }, page.parts.facts, page.parts.origin),
    ),
  );
  page.refresh = () => refresh(page);
  page.goBack = (version) => recordActions(page).goBack(version);
  keys(page);
  // Asked first, painted while the answers are on their way.
  const asked = page.record ? early(page) : refresh(page);
  if (page.record) paint(page);
  await asked;
}

/** What is asked for beside the record; each part is shown when it is there. */
const life = (page) => Promise.all([versions(page), origin(page), traces(page)]);

/**
 * The page before knew the record, so all the rest is asked for at once. The latest version says whether it is still the same; else it is
 * read anew, or told that it is gone.
 */
async function early(page) {
  const stop = new AbortController();
  const known = { ...page, signal: AbortSignal.any([page.signal, stop.signal]) };
  const rest = Promise.all([origin(known), traces(known)]);
  const now = await versions(known);
  if (now?.version === page.record.version && now.state === page.record.state) return void (await rest);
  stop.abort();
  await refresh(page);
}

function sections() {
  const part = (name) => h('section', { class: name });
  return {
    head: h('div', {}, h('div', { class: 'page-head' }, h('h1', {}, t('frame.record'))), h('p', { class: 'soft' }, t('frame.loading'))),
    note: h('div', { role: 'status' }),
    ...Object.fromEntries(['text', 'versions', 'traces', 'facts', 'origin'].map((name) => [name, part(`${name}-part`)])),
  };
}

async function refresh(page) {
  const { signal, parts } = page;
  try {
    page.record = await get(`/v1/records/${encodeURIComponent(page.id)}`, {}, { signal });
  } catch (error) {
    if (error.name === 'AbortError') return;
    for (const part of Object.values(parts)) fill(part);
    fill(
      parts.head,
      h('div', { class: 'page-head' }, h('h1', {}, t('frame.record'))),
      h('p', { class: 'notice', role: 'alert' }, error.status === 404 ? t('record.gone') : errorNotice(error)),
      h('p', {}, h('a', { href: address('memory') }, t('record.back'))),
    );
    return;
  }
  page.id = page.record.id;
  paint(page);
  await life(page);
}

/** What is known of the record itself, at once. */
function paint(page) {
  const { record, parts } = page;
  const called = titleOf(record);
  fill(
    parts.head,
    h(
      'p',
      { class: 'small back' },
      h('a', { href: wayBack(record) }, '← ', listAddress(record.id) ? t('record.back') : plain(record.scope)),
    ),
    h(
      'div',
      { class: 'page-head' },
      h('h1', {}, t(filePath(record) ? 'record.file' : 'frame.record'), called && [' ', h('span', { class: 'mono' }, plain(called))]),
      badge.source(record.source),
      badge.state(record.state),
      badge.trust(record.trust),
      record.pinned && h('span', { class: 'badge pinned' }, t('frame.pinned')),
    ),
    buttons(page),
  );
  const captured = isCaptured(record) && may('writer');
  fill(
    parts.note,
    quarantineNote(record),
    captured && h('p', { class: 'soft small' }, t('memory.captured', { source: named('frame.source', record.source) })),
  );
  text(page);
  facts(page);
}

/** To the list that it was opened from, else to those of its scope. */
const wayBack = (record) => listAddress(record?.id) ?? address('memory', record?.scope);

function buttons(page) {
  const { record } = page;
  const can = allowedActions(record);
  const actions = recordActions(page);
  const button = (name, label, kind = '') =>
    can[name] && h('button', { type: 'button', class: kind, on: { click: () => actions[name]() } }, label);
  return h(
    'div',
    { 'class': 'row actions', 'role': 'group', 'aria-label': t('record.actions') },
    button('edit', t('memory.edit'), 'primary'),
    button('correct', t('memory.correct'), 'primary'),
    button('pin', t(record.pinned ? 'memory.unpin' : 'memory.pin')),
    button('weigh', t('record.importance', { n: record.importance })),
    button('promote', t('memory.promote')),
    button('demote', t('memory.demote')),
    button('undo', t('memory.undo-last')),
    button('delete', t('frame.delete'), 'danger'),
    button('purge', t('record.purge'), 'danger'),
  );
}

function recordActions(page) {
  /** Do it with the record as it is shown, show what became of it, and offer the way back. */
  const step = async (act, told, { isBack = false } = {}) => {
    const before = page.record;
    try {
      const changed = await act(before);
      await page.refresh();
      const back = () =>
        undoRecord(changed)
          .then(() => toast(t('frame.undone')), showError)
          .then(page.refresh);
      // To take back once more would go further back, and where nothing changed it would take back what somebody did before.
      toast(told, { action: isBack || changed.version === before.version ? null : { label: t('frame.undo'), act: back } });
    } catch (error) {
      if (!isConflict(error)) return showError(error);
      toast(t('memory.changed-meanwhile'), { kind: 'problem' });
      await page.refresh();
    }
  };
  return {
    edit: () => edit(page),
    correct: () => correct(page),
    pin: () => step((one) => pinRecord(one, !one.pinned), t(page.record.pinned ? 'record.unpinned' : 'record.pinned')),
    weigh: async () => {
      const importance = await askImportance(page.record);
      if (importance !== null && importance !== page.record.importance)
        await step((one) => setImportance(one, importance), t('record.weighed'));
    },
    promote: async () => {
      const answer = await askPromotion([page.record]);
      if (answer) await step((one) => promoteRecord(one, answer), t('memory.promoted'));
    },
    demote: async () => {
      const answer = await askDemotion([page.record]);
      if (answer) await step((one) => demoteRecord(one, answer.reason), t('memory.demoted'));
    },
    undo: async () => {
      const answer = await confirm(t('memory.undo-last'), t('record.undo.lead'), { reason: true });
      if (answer) await step((one) => undoRecord(one, answer.reason), t('frame.undone'), { isBack: true });
    },
    delete: () => step(deleteRecord, t('memory.deleted', 1)),
    purge: () => purge(page),
    /** Write the content of an earlier version anew; those in between stay in the history. */
    goBack: (version) => step((one) => editRecord(one, contentOf(version)), t('record.went-back', { version: version.version })),
  };
}

function contentOf(version) {
  const optional = ['key', 'at', 'expires_at'];
  const { redactions, ...metadata } = version.metadata;
  const held = Object.fromEntries(optional.filter((name) => version[name] !== null).map((name) => [name, version[name]]));
  const { kind, tags, importance } = version;
  const clear = optional.filter((name) => version[name] === null);
  const reason = t('record.back-to', { version: version.version });
  return { text: version.text, kind, tags, metadata, importance, pinned: version.pinned, ...held, clear, reason };
}

function edit(page) {
  if (!allowedActions(page.record).edit || page.parts.text.querySelector('form')) return;
  const form = entry({
    record: page.record,
    signal: page.signal,
    onCancel: () => {
      fill(page.parts.text);
      text(page);
    },
    onSaved: async () => {
      fill(page.parts.text);
      await page.refresh();
      toast(t('memory.saved'));
    },
  });
  fill(page.parts.text, h('h2', {}, t('memory.edit')), form);
  form.begin();
}

async function correct(page) {
  const answer = await askCorrection(page.record);
  if (!answer) return;
  try {
    const successor = await correctRecord(page.record, answer);
    toast(t('memory.corrected'));
    go('record', successor.id);
  } catch (error) {
    showError(error);
    await page.refresh();
  }
}

/** For good: asked for twice, the second time by typing. */
async function purge(page) {
  const { record } = page;
  const word = record.id.slice(0, 8);
  const id = fresh('word');
  const typed = h('input', { id, class: 'mono', required: true, pattern: word, autocomplete: 'off', spellcheck: 'false', title: word });
  const answer = await confirm(t('record.purge'), t('record.purge.lead'), {
    label: t('record.purge.do'),
    danger: true,
    extra: h('div', { class: 'field' }, h('label', { for: id }, t('record.purge.type'), ' ', h('code', {}, word)), typed),
  });
  if (!answer || typed.value !== word) return;
  try {
    await post('/v1/purge', { ids: [record.id] });
    toast(t('record.purged'));
    go('memory', record.scope);
  } catch (error) {
    showError(error);
  }
}

function keys(page) {
  const on = (key, name, told, offered = name) =>
    shortcut(key, told, () => page.record && allowedActions(page.record)[offered] && recordActions(page)[name](), page.signal);
  const back = () => {
    location.hash = wayBack(page.record);
  };
  shortcut('u', t('record.back'), back, page.signal);
  shortcut('w', t('record.key.written'), () => toggleWritten(page), page.signal);
  if (!may('writer')) return;
  shortcut(
    'e',
    t('memory.key.edit'),
    () => {
      if (page.record && isCaptured(page.record)) toast(t('memory.captured', { source: named('frame.source', page.record.source) }));
      else if (page.record) edit(page);
    },
    page.signal,
  );
  on('p', 'pin', t('memory.key.pin'));
  on('i', 'weigh', t('memory.key.weigh'));
  on('#', 'delete', t('memory.key.remove'));
  on('z', 'undo', t('memory.undo-last'));
}
