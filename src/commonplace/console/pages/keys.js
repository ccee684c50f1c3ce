// Keys: who may what, and until when. And the gateway's users, each with a key of their own.

import { get, post, remove } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { time } from '../parts/badge.js';
import { confirm } from '../parts/dialog.js';
import { field, form } from '../parts/form.js';
import { parsePattern, patterns } from '../parts/patterns.js';
import { secretShown } from '../parts/secret.js';
import { shortcut } from '../parts/shortcuts.js';
import { toast } from '../parts/toast.js';
import { showError } from '../problems.js';
import { named, t } from '../words.js';

const ROLES = ['reader', 'writer', 'reviewer', 'admin'];
const DAYS = [7, 30, 90, 365];
const PAGE = 100;

export async function show(place, { me, signal }) {
  const keys = keyring(me, signal);
  const people = gatewayUsers(signal);
  fill(
    place,
    h(
      'div',
      { class: 'page-head' },
      h('h1', {}, t('frame.keys')),
      h('span', { class: 'grow' }),
      keys.ended,
      h('button', { type: 'button', class: 'primary', on: { click: keys.make } }, t('keys.make')),
    ),
    h('p', { class: 'soft' }, t('keys.lead')),
    keys.element,
    h(
      'div',
      { class: 'page-head keys-users' },
      h('h2', {}, t('keys.users')),
      h('span', { class: 'grow' }),
      h('button', { type: 'button', on: { click: people.add } }, t('keys.users.add')),
    ),
    h('p', { class: 'soft' }, t('keys.users.lead')),
    people.element,
  );
  shortcut('n', t('keys.make'), keys.make, signal);
  await Promise.all([keys.load(), people.load()]);
}

/** Do it, and tell where it fails. */
async function tried(act) {
  try {
    await act();
  } catch (error) {
    showError(error);
  }
}

function keyring(me, signal) {
  const element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  const box = h('input', { type: 'checkbox', on: { change: paint } });
  let held = [];

  const load = () =>
    tried(async () => {
      held = (await get('/v1/keys', {}, { signal })).keys.sort((a, b) => b.created_at.localeCompare(a.created_at));
      paint();
    });

  function paint() {
    const shown = held.filter((one) => box.checked || stateOf(one) === 'good');
    const row = (one) => keyRow(one, me, revoke);
    fill(
      element,
      table(
        shown,
        ['name', 'person', 'role', 'scopes', 'created', 'expires', 'state'],
        row,
        t(held.length ? 'keys.none-good' : 'keys.none'),
      ),
    );
  }

  async function revoke(one) {
    const text = t(one.id === me.key ? 'keys.revoke.own' : 'keys.revoke.text', { name: one.name });
    if (!(await confirm(t('keys.revoke.title', { name: one.name }), text, { label: t('keys.revoke'), danger: true }))) return;
    await tried(async () => {
      await remove(`/v1/keys/${one.id}`, {}, { signal });
      toast(t('keys.revoked', { name: one.name }));
      await load();
    });
  }

  async function make() {
    const made = await create();
    if (!made) return;
    load();
    await secretShown(made.secret, secretWords(t('keys.secret.title', { name: made.key.name })));
  }

  return { element, ended: h('label', { class: 'check' }, box, ' ', t('keys.show-ended')), load, make };
}

function gatewayUsers(signal) {
  const element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));

  const load = () =>
    tried(async () => {
      const { users } = await get('/v1/users', {}, { signal });
      fill(
        element,
        table(users, ['user', 'since'], (one) => userRow(one, { rotate, part }), t('keys.users.none')),
      );
    });

  const shown = (name, secret) => secretShown(secret, secretWords(t('keys.secret.user', { name })));

  async function rotate({ user_id: name }) {
    if (!(await confirm(t('keys.rotate.title', { name }), t('keys.rotate.text'), { label: t('keys.rotate') }))) return;
    await tried(async () => shown(name, (await post(`/v1/users/${encodeURIComponent(name)}/rotate`, {}, { signal })).user_key));
  }

  async function part({ user_id: name }) {
    if (!(await confirm(t('keys.remove.title', { name }), t('keys.remove.text'), { label: t('keys.remove'), danger: true }))) return;
    await tried(async () => {
      await remove(`/v1/users/${encodeURIComponent(name)}`, {}, { signal });
      toast(t('keys.removed', { name }));
      await load();
    });
  }

  async function add() {
    const name = h('input', { required: true, maxlength: 255, autocomplete: 'off', class: 'mono' });
    const act = () => post('/v1/users', { user_id: name.value.trim() });
    const made = await form(t('keys.users.add'), field(t('keys.user'), name, t('keys.users.hint')), { label: t('keys.users.make'), act });
    if (!made) return;
    load();
    await shown(made.user.user_id, made.user_key);
  }

  return { element, load, add };
}

const stateOf = (key) => (key.revoked_at ? 'revoked' : key.expires_at && new Date(key.expires_at) <= new Date() ? 'expired' : 'good');
const secretWords = (title) => ({
  title,
  warning: t('keys.secret.warning'),
  label: t('keys.secret'),
  kept: t('keys.secret.kept'),
  select: t('keys.secret.select'),
});

/** A table that folds into cards where it is narrow: each cell knows its column's name. */
function table(rows, columns, row, empty, most = PAGE) {
  if (!rows.length) return h('p', { class: 'notice' }, empty);
  const whole = h('div', { class: 'keys-table' });
  const names = [...columns.map((name) => t(`keys.${name}`)), t('keys.actions')];
  const last = columns.length;
  const cell = (content, index) =>
    h(index ? 'td' : 'th', { scope: index ? null : 'row', data: { column: index < last ? names[index] : '' } }, h('div', {}, content));
  const more = () => whole.replaceWith(table(rows, columns, row, empty, most * 5));
  fill(
    whole,
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          names.map((name, index) => h('th', { scope: 'col' }, index < last ? name : h('span', { class: 'visually-hidden' }, name))),
        ),
      ),
      h(
        'tbody',
        {},
        rows.slice(0, most).map((one) => h('tr', {}, row(one).map(cell))),
      ),
    ),
    rows.length > most && h('button', { type: 'button', on: { click: more } }, t('frame.more')),
  );
  return whole;
}

function keyRow(one, me, revoke) {
  const state = stateOf(one);
  const chip = (pattern) => h('span', { class: 'chip', title: describeText(pattern) }, h('span', { class: 'mono' }, plain(pattern, 80)));
  return [
    [plain(one.name, 100), one.id === me.key && h('span', { class: 'badge' }, t('keys.own'))],
    [
      one.user ? plain(one.user, 100) : h('span', { class: 'soft' }, t('keys.person.itself')),
      ' ',
      one.agent
        ? h('span', { class: 'badge', title: t('keys.hand.agent') }, t('keys.agent'))
        : h('span', { class: 'visually-hidden' }, t('keys.hand.person')),
    ],
    h('span', { title: t(`keys.role.${one.role}`) }, named('frame.role', one.role)),
    one.scopes ? one.scopes.map(chip) : t(one.role === 'admin' ? 'keys.scopes.every' : 'keys.scopes.shared'),
    [time(one.created_at), ' ', h('span', { class: 'soft' }, t('keys.by', { who: one.created_by }))],
    one.expires_at ? time(one.expires_at) : t('keys.never'),
    h('span', { class: `badge keys-${state}` }, t(`keys.state.${state}`)),
    state === 'good' && deed('revoke', 'danger', one.name, () => revoke(one)),
  ];
}

/** A button whose name says for whom it is, too. */
const deed = (name, kind, whose, act) =>
  h(
    'button',
    { 'type': 'button', 'class': kind, 'aria-label': t(`keys.${name}.title`, { name: whose }), 'on': { click: act } },
    t(`keys.${name}`),
  );

const userRow = (one, { rotate, part }) => [
  h('span', { class: 'mono' }, plain(one.user_id, 255)),
  time(one.created_at),
  h(
    'span',
    { class: 'row' },
    deed('rotate', '', one.user_id, () => rotate(one)),
    deed('remove', 'danger', one.user_id, () => part(one)),
  ),
];

const describe = ({ name, kind, id }) => t(`keys.pattern.${name}`, { kind: named('keys.kind', kind), id });

function describeText(text) {
  const pattern = parsePattern(text);
  return pattern ? describe(pattern) : text;
}

/** Ask for a new key. Answers { key, secret }, or null. */
function create() {
  const name = h('input', { required: true, maxlength: 100, autocomplete: 'off' });
  const role = roles();
  const reach = reaching();
  const end = ending();
  const user = h('input', { maxlength: 100, autocomplete: 'off' });
  const agent = h('input', { type: 'checkbox' });
  const act = () =>
    post('/v1/keys', {
      name: name.value.trim(),
      role: role.value,
      scopes: reach.scopes(),
      expires_at: end.moment(),
      user: user.value.trim() || null,
      agent: agent.checked,
    });
  const person = field(t('keys.person'), user, t('keys.person.hint'));
  const hand = field(t('keys.agent.is'), agent, t('keys.agent.hint'));
  return form(t('keys.make'), [field(t('keys.name'), name, t('keys.name.hint')), person, hand, role.row, reach.row, end.row], {
    label: t('keys.make.do'),
    focus: name,
    act,
  });
}

function roles() {
  const choice = h(
    'select',
    { value: 'writer', on: { change: () => fill(meaning, t(`keys.role.${choice.value}`)) } },
    ROLES.map((one) => h('option', { value: one }, named('frame.role', one))),
  );
  const row = field(t('keys.role'), choice, t('keys.role.writer'));
  const meaning = row.querySelector('small');
  choice.row = row;
  return choice;
}

/** Every scope, or some: `scopes()` answers null, or the patterns, and throws where there is none. */
function reaching() {
  const some = patterns({
    label: t('keys.scopes.only'),
    hint: t('keys.scopes.hint'),
    add: t('keys.scopes.add'),
    wrong: t('keys.scopes.wrong'),
    describe,
    remove: (text) => t('keys.scopes.remove', { pattern: text }),
  });
  some.hidden = true;
  const radio = (value, on) =>
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'radio',
        name: 'reach',
        value,
        checked: on,
        on: {
          change: () => {
            some.hidden = value === 'every';
          },
        },
      }),
      ' ',
      t(`keys.reach.${value}`),
    );
  const scopes = () => {
    if (some.hidden) return null;
    if (!some.takeAll()) throw new Error(t('keys.scopes.missing'));
    return some.patterns;
  };
  return {
    row: h('fieldset', { class: 'stack' }, h('legend', {}, t('keys.scopes')), radio('every', true), radio('some', false), some),
    scopes,
  };
}

function ending() {
  const day = h('input', {
    'type': 'date',
    'aria-label': t('keys.expires.day'),
    'hidden': true,
    'min': new Date().toISOString().slice(0, 10),
  });
  const choose = () => {
    day.hidden = choice.value !== 'day';
    day.required = !day.hidden;
  };
  const choice = h(
    'select',
    { on: { change: choose } },
    h('option', { value: '' }, t('keys.never')),
    DAYS.map((days) => h('option', { value: String(days) }, t('keys.expires.days', { days }))),
    h('option', { value: 'day' }, t('keys.expires.day')),
  );
  return { row: [field(t('keys.expires'), choice), day], moment: () => endOf(choice.value, day.value) };
}

/** The moment a key ends: so many days from now, or with the end of a day. */
function endOf(choice, date) {
  if (!choice) return null;
  return (choice === 'day' ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(choice) * 86_400_000)).toISOString();
}
