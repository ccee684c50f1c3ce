// An empty memory: three ways to begin. And the way to take the sample away again.

import { get, post } from '../../api.js';
import { fill, fresh, h } from '../../dom.js';
import { field } from '../../parts/form.js';
import { deleteRecord } from '../../parts/record_actions.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { address } from '../../router.js';
import { may, whoami } from '../../session.js';
import { EDITORS, snippetOf } from '../../text/editors.js';
import { learn, t } from '../../words.js';
import { SAMPLE } from './view.js';

const MOST_SAMPLES = 1000;
const MINUTE = 60_000;

/** What is shown instead of an empty list. `onAdded()`: there is something now. */
export async function begin(onAdded) {
  await learn('begin');
  const card = (name, ...children) =>
    h('section', { class: 'card stack' }, h('h3', {}, t(`begin.${name}`)), h('p', {}, t(`begin.${name}.text`)), children);
  return h(
    'section',
    { class: 'begin' },
    h('h2', {}, t('begin.title')),
    h('p', { class: 'soft' }, t('begin.lead')),
    h(
      'div',
      { class: 'columns' },
      card('connect', connect()),
      card('import', h('p', {}, h('a', { class: 'button', href: address('import') }, t('begin.import.go')))),
      card(
        'sample',
        h('p', {}, h('button', { type: 'button', on: { click: (event) => addSample(event.target, onAdded) } }, t('begin.sample.go'))),
      ),
    ),
  );
}

// ---- an editor

function connect() {
  const me = whoami();
  const editor = h(
    'select',
    { on: { change: () => paint() } },
    Object.entries(EDITORS).map(([id, { name }]) => h('option', { value: id }, name)),
  );
  const project = h('input', {
    required: true,
    maxlength: 100,
    autocomplete: 'off',
    spellcheck: 'false',
    class: 'mono',
    value: 'my-project',
  });
  const result = h('div', { class: 'stack', role: 'status' });
  let secret = null;
  const paint = () => fill(result, (secret || me.open) && shownSnippet(editor.value, project.value.trim(), secret));
  const make = async (event) => {
    event.preventDefault();
    try {
      secret ??= me.open ? null : (await makeKey(EDITORS[editor.value].name, me)).secret;
      paint();
      result.querySelector('textarea')?.focus();
    } catch (error) {
      showError(error);
    }
  };
  if (!may('admin') && !me.open) return h('p', { class: 'soft' }, t('begin.connect.ask'));
  project.addEventListener('input', paint);
  return h(
    'form',
    { class: 'stack', on: { submit: make } },
    field(t('begin.connect.editor'), editor),
    field(t('begin.connect.project'), project, t('begin.connect.project.hint')),
    h('p', {}, h('button', { type: 'submit' }, t(me.open ? 'begin.connect.show' : 'begin.connect.go'))),
    result,
  );
}

/** A key for the editor: of the person who makes it, held by a program. */
const makeKey = (name, me) =>
  post('/v1/keys', {
    name,
    role: 'writer',
    agent: true,
    user: me.operator || me.subject.startsWith('key/') ? null : me.subject,
  });

function shownSnippet(editor, project, secret) {
  const text = snippetOf(editor, { origin: location.origin, project, secret });
  const id = fresh('snippet');
  const box = h('textarea', {
    id,
    class: 'mono small',
    rows: text.split('\n').length + 1,
    readOnly: true,
    spellcheck: 'false',
    value: text,
  });
  const copy = async () => {
    box.select();
    await navigator.clipboard.writeText(text).then(
      () => toast(t('frame.copied')),
      // Without a secure context there is no clipboard: at least it is selected.
      () => box.focus(),
    );
  };
  return [
    h('label', { for: id }, t(`begin.connect.where.${editor}`)),
    box,
    h('p', { class: 'row' }, h('button', { type: 'button', class: 'primary', on: { click: copy } }, t('frame.copy'))),
    secret && h('p', { class: 'warn small' }, t('begin.connect.once'), ' ', h('a', { href: address('keys') }, t('frame.keys'))),
  ];
}

// ---- a sample

/** In a place of its own, as far as the key reaches. */
const sampleScope = (patterns) => (patterns?.[0] ?? '*').replace(/^\*$/, 'workspace:*').replace(/\*$/, 'sample');

async function addSample(button, onAdded) {
  button.disabled = true;
  const scope = sampleScope(whoami().scopes);
  const marked = { scope, tags: [SAMPLE] };
  const start = Date.now() - 10 * MINUTE;
  const turns = t('begin.sample.talk').map((text, index) => ({
    text,
    speaker: index % 2 ? 'assistant' : 'user',
    at: new Date(start + index * MINUTE).toISOString(),
  }));
  try {
    await post('/v1/records/bulk', { records: t('begin.sample.records').map((record) => ({ ...record, ...marked })) });
    await post('/v1/turns', { session: 'sample-talk', turns, ...marked });
    toast(t('begin.sample.added'));
    onAdded();
  } catch (error) {
    button.disabled = false;
    showError(error);
  }
}

/** A line above the list for as long as there are samples in it; `onRemoved()` is called after they went. */
export async function sampleNote(onRemoved) {
  await learn('begin');
  const button = h('button', { type: 'button', on: { click: () => removeSample(button, onRemoved) } }, t('begin.sample.remove'));
  return h('p', { class: 'row sample-note' }, t('begin.sample.note'), ' ', button);
}

/** An admin leaves no trace of them; others delete them, and can bring them back. */
async function removeSample(button, onRemoved) {
  button.disabled = true;
  try {
    const { records } = await get('/v1/records', { tag: SAMPLE, limit: MOST_SAMPLES });
    if (may('admin')) await post('/v1/purge', { ids: records.map((record) => record.id) });
    else for (const record of records) await deleteRecord(record);
    toast(t('begin.sample.removed'));
    onRemoved();
  } catch (error) {
    button.disabled = false;
    showError(error);
  }
}
