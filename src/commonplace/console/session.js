// Who is signed in: the session at the server, and the form that begins one.

import { ask, remove } from './api.js';
import { fill, h } from './dom.js';
import { languageMenu } from './parts/language_menu.js';
import { errorMessage } from './problems.js';
import { t } from './words.js';

const ROLES = ['reader', 'writer', 'reviewer', 'admin'];
const PATH = '/v1/sign-in';

let me = null;

export const whoami = () => me;
export const may = (role) => ROLES.indexOf(me?.role) >= ROLES.indexOf(role);

/** Ask the server who is signed in; null: nobody. */
export async function loadSession() {
  me = (await ask('GET', PATH, { quiet: true })).me;
  return me;
}

/** `credentials` is { key, stay } or { code }. */
export async function signIn(credentials) {
  me = await ask('POST', PATH, { body: credentials, quiet: true });
}

/** Throws if the server did not end the session: then the cookie is still there. */
export const signOut = () => remove(PATH);

export function forgetSession() {
  me = null;
}

/** The form, with `message` above its fields. `onKey({ key, stay })` signs in; what it throws is shown in the form. */
export function signInForm(message, onKey) {
  const problem = h('p', { class: 'problem', role: 'alert', hidden: !message }, message);
  const key = h('input', {
    id: 'key',
    name: 'key',
    type: 'password',
    autocomplete: 'current-password',
    required: true,
    spellcheck: 'false',
    class: 'mono',
  });
  const stay = h('input', { id: 'stay', type: 'checkbox', checked: true });
  const hint = t('frame.sign-in.hint')
    .split('`')
    .map((part, index) => (index % 2 ? h('code', {}, part) : part));
  const submit = async (event) => {
    event.preventDefault();
    try {
      await onKey({ key: key.value.trim(), stay: stay.checked });
    } catch (error) {
      fill(problem, error.status === 401 ? t('frame.sign-in.wrong') : errorMessage(error));
      problem.hidden = false;
      key.select();
      key.focus();
    }
  };
  const icon = h('img', { src: new URL('icon.svg', import.meta.url), alt: '', width: 36, height: 36 });
  return h(
    'form',
    { class: 'card', on: { submit } },
    h('h1', {}, icon, ' Commonplace'),
    h('p', { class: 'soft' }, t('frame.sign-in.lead')),
    problem,
    h('label', { for: 'key' }, t('frame.sign-in.key')),
    key,
    h('label', { class: 'check', for: 'stay' }, stay, ' ', t('frame.sign-in.stay')),
    h('button', { class: 'primary', type: 'submit' }, t('frame.sign-in')),
    h('p', { class: 'soft small' }, hint),
    h('p', { class: 'small' }, languageMenu()),
  );
}
