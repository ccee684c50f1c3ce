// Who is signed in, which page is shown, and the way between pages. A page is a module with `show(place, visit)`.

import { Problem, ask, onSignedOut, remove } from './api.js';
import { fill, h } from './dom.js';
import { closeAll } from './parts/dialog.js';
import { shortcut, showShortcuts } from './parts/shortcuts.js';
import { toast } from './parts/toast.js';
import { mayBeLost } from './parts/unsaved.js';
import { LANGUAGES, language, learn, meaning, named, speak, t, trouble } from './words.js';

const ROLES = ['reader', 'writer', 'reviewer', 'admin'];

// In the order of the navigation; `key` follows g. A page without one is reached from others.
const PAGES = {
  memory: { role: 'reader', key: 'm', icon: 'M4 5h16M4 10h16M4 15h10M4 20h10' },
  recall: { role: 'reader', key: 'r', icon: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5' },
  import: { role: 'reader', key: 'i', icon: 'M12 3v12M7 10l5 5 5-5M4 20h16' },
  review: { role: 'reviewer', key: 'v', icon: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM9 12l2 2 4-4' },
  learning: { role: 'reader', key: 'l', icon: 'M4 6l8-3 8 3-8 3zM7 8v6c3 3 7 3 10 0V8M20 6v7' },
  live: { role: 'reader', key: 'e', icon: 'M3 12h4l3-8 4 16 3-8h4' },
  health: { role: 'reader', key: 'h', icon: 'M4 20V10M10 20V4M16 20v-7M22 20H2' },
  keys: { role: 'admin', key: 'k', icon: 'M15 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 12l-8 8M6 17l3 3' },
  record: { role: 'reader' },
};

const base = new URL('.', import.meta.url);
const frame = document.getElementById('frame');
let me = null;
let shown = null; // { page, leaving: AbortController }
const dresses = new Map();
let ahead = null; // when the other pages are fetched
const QUIET = 1500; // milliseconds

export const may = (role) => ROLES.indexOf(me?.role) >= ROLES.indexOf(role);
export const whoami = () => me;
/** Go to a page: go('record', id), go('memory', scope, { source: 'auto' }). */
export function go(page, part = '', query = {}) {
  location.hash = address(page, part, query);
}

export function address(page, part = '', query = {}) {
  const params = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== ''));
  const text = params.toString();
  return `#/${page}${part ? `/${encodeURIComponent(part)}` : ''}${text ? `?${text}` : ''}`;
}

/** Change the address without leaving the page: it can be kept and sent. */
export function settle(page, part = '', query = {}) {
  // What a page says when it was just left must not bring its address back.
  if (asked().page !== page) return;
  history.replaceState(null, '', address(page, part, query));
}

function asked() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = path.split('/');
  return { page: page || 'memory', part: decoded(rest.join('/')), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Tell of a problem, unless it is only that the page was left. */
export function complain(error) {
  if (error.name === 'AbortError') return;
  if (!(error instanceof Problem)) console.error(error);
  toast(trouble(error), { kind: 'problem' });
}

async function start() {
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  await Promise.all([learn('frame'), language === 'en' || learn('problems')]);
  onSignedOut(() => {
    if (me) signIn(t('frame.sign-in.ended'));
  });
  addEventListener('hashchange', (event) => move(event.oldURL).catch(complain));
  shortcut('?', t('frame.shortcuts.open'), showShortcuts);
  if (await enteredByCode()) return;
  // The page is fetched while the server is asked who is there.
  const { page } = asked();
  if (Object.hasOwn(PAGES, page)) fetched(page).catch(() => {});
  me = (await ask('GET', '/v1/sign-in', { quiet: true })).me;
  if (me) await welcome();
  else signIn();
}

/** Whether the address had a one-time code in it, which then signed somebody in, or did not. */
async function enteredByCode() {
  const at = asked();
  if (at.page !== 'enter') return false;
  // The code leaves the address before anything else happens.
  history.replaceState(null, '', '#/memory');
  await enter({ code: at.part }).catch(() => signIn(t('frame.sign-in.code-used')));
  return true;
}

async function enter(given) {
  me = await ask('POST', '/v1/sign-in', { body: given, quiet: true });
  // Whoever is in stays in, whatever becomes of the first page.
  await welcome().catch(complain);
}

async function welcome() {
  fill(frame, ...furniture());
  frame.classList.remove('waiting', 'outside');
  for (const [page, { key, role }] of Object.entries(PAGES)) {
    if (key && may(role)) shortcut(`g ${key}`, t('frame.shortcuts.go', { page: t(`frame.${page}`) }), () => go(page));
  }
  await route();
}

function furniture() {
  const role = me.operator ? 'operator' : me.role;
  return [
    h(
      'a',
      {
        class: 'skip',
        href: '#main',
        on: {
          click: (event) => {
            event.preventDefault();
            document.getElementById('main').focus();
          },
        },
      },
      t('frame.skip'),
    ),
    h(
      'header',
      { class: 'side' },
      h(
        'a',
        { class: 'brand', href: '#/memory' },
        h('img', { src: new URL('icon.svg', base), alt: '', width: 24, height: 24 }),
        ' Commonplace',
      ),
      h(
        'nav',
        { 'aria-label': t('frame.pages') },
        Object.entries(PAGES)
          .filter(([, one]) => one.key && may(one.role))
          .map(([page, one]) =>
            h(
              'a',
              { href: `#/${page}`, data: { page }, title: `${t(`frame.${page}`)} (g ${one.key})` },
              icon(one.icon),
              h('span', {}, t(`frame.${page}`)),
            ),
          ),
      ),
      h(
        'div',
        { class: 'person' },
        h(
          'p',
          { title: t('frame.tenant', { tenant: me.tenant }) },
          t('frame.who', { subject: me.subject, role: named('frame.role', role) }),
        ),
        h(
          'div',
          { class: 'row' },
          h(
            'select',
            { 'aria-label': t('frame.language'), 'value': language, 'on': { change: (event) => speak(event.target.value) } },
            Object.entries(LANGUAGES).map(([code, name]) => h('option', { value: code }, name)),
          ),
          h(
            'button',
            { type: 'button', class: 'quiet', on: { click: signOut } },
            t(me.key || me.operator ? 'frame.sign-out' : 'frame.sign-in'),
          ),
        ),
      ),
    ),
    h('main', { id: 'main', tabindex: '-1' }),
  ];
}

export function icon(path) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  made.setAttribute('viewBox', '0 0 24 24');
  made.setAttribute('class', 'icon');
  made.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  line.setAttribute('d', path);
  made.append(line);
  return made;
}

async function signOut() {
  // What the page still asks would come too late, and be told that the session has ended.
  shown?.leaving.abort();
  try {
    await remove('/v1/sign-in');
  } catch (error) {
    // The cookie is still there: to say otherwise would leave the door open behind somebody's back.
    complain(error);
    await route();
    return;
  }
  signIn();
}

function signIn(told = '') {
  shown?.leaving.abort();
  shown = null;
  me = null;
  closeAll();
  document.title = `${t('frame.sign-in')} · Commonplace`;
  const problem = h('p', { class: 'problem', role: 'alert', hidden: !told }, told);
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
      await enter({ key: key.value.trim(), stay: stay.checked });
    } catch (error) {
      fill(problem, error.status === 401 ? t('frame.sign-in.wrong') : meaning(error));
      problem.hidden = false;
      key.select();
      key.focus();
    }
  };
  frame.classList.remove('waiting');
  frame.classList.add('outside');
  fill(
    frame,
    h(
      'main',
      { id: 'main', tabindex: '-1', class: 'sign-in' },
      h(
        'form',
        { class: 'card', on: { submit } },
        h('h1', {}, h('img', { src: new URL('icon.svg', base), alt: '', width: 36, height: 36 }), ' Commonplace'),
        h('p', { class: 'soft' }, t('frame.sign-in.lead')),
        problem,
        h('label', { for: 'key' }, t('frame.sign-in.key')),
        key,
        h('label', { class: 'check', for: 'stay' }, stay, ' ', t('frame.sign-in.stay')),
        h('button', { class: 'primary', type: 'submit' }, t('frame.sign-in')),
        h('p', { class: 'soft small' }, hint),
        h(
          'p',
          { class: 'small' },
          h(
            'select',
            { 'aria-label': t('frame.language'), 'value': language, 'on': { change: (event) => speak(event.target.value) } },
            Object.entries(LANGUAGES).map(([code, name]) => h('option', { value: code }, name)),
          ),
        ),
      ),
    ),
  );
  key.focus();
}

/** To where the address points now; back to where it did, where somebody would rather keep what they typed. */
async function move(from) {
  const to = location.hash;
  history.replaceState(null, '', new URL(from).hash);
  if (!(await mayBeLost())) return;
  history.replaceState(null, '', to);
  await route();
}

async function route() {
  if ((await enteredByCode()) || !me) return;
  const at = asked();
  shown?.leaving.abort();
  closeAll();
  const leaving = new AbortController();
  shown = { page: at.page, leaving };
  const page = Object.hasOwn(PAGES, at.page) ? PAGES[at.page] : null;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.page !== (at.page === 'record' ? 'memory' : at.page)) link.removeAttribute('aria-current');
    else if (!link.hasAttribute('aria-current')) {
      link.setAttribute('aria-current', 'page');
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  }
  // A place of its own for each visit: what an earlier one still had to say goes nowhere.
  const place = h('div', { class: 'page' });
  fill(document.getElementById('main'), place);
  if (!page || !may(page.role)) {
    fill(place, h('p', { class: 'notice' }, page ? t('frame.may-not', { role: named('frame.role', page.role) }) : t('frame.no-page')));
    return;
  }
  document.title = `${t(`frame.${at.page}`)} · Commonplace`;
  place.dataset.page = at.page;
  place.classList.add(`page-${at.page}`);
  const [module] = await fetched(at.page).catch(renewed);
  if (leaving.signal.aborted) return;
  await module.show(place, { me, part: at.part, query: at.query, signal: leaving.signal });
  place.dataset.ready = 'true';
  ahead ??= setTimeout(lookAhead, QUIET);
}

/** What a page needs before it can be shown. */
const fetched = (page) => Promise.all([import(`./pages/${page}.js`), learn(page), dressed(page)]);

/** When nobody does anything, the other pages are fetched, one after another: the first visit of each is as quick as the next. */
async function lookAhead() {
  for (const [page, { role }] of Object.entries(PAGES).reverse()) {
    await new Promise((resolve) => (globalThis.requestIdleCallback ?? setTimeout)(resolve));
    if (!may(role)) continue;
    try {
      await fetched(page);
    } catch {
      // What does not come now is asked for when it is opened: a daemon that is gone is not asked for the others.
      return;
    }
  }
}

/** A daemon that is another version by now has its files at another address: begin anew, at the same page. */
async function renewed(error) {
  const page = await fetch('/', { cache: 'no-store' }).then(
    (response) => (response.ok ? response.text() : ''),
    () => '',
  );
  if (page && !page.includes(base.pathname)) location.reload();
  throw error;
}

/** The style of a page, once. */
function dressed(page) {
  if (!dresses.has(page)) {
    const href = new URL(`styles/${page}.css`, base).href;
    const worn = new Promise((resolve) => {
      const error = () => resolve(dresses.delete(page));
      document.head.append(h('link', { rel: 'stylesheet', href, on: { load: resolve, error } }));
    });
    dresses.set(page, worn);
  }
  return dresses.get(page);
}

start().catch((error) => {
  fill(document.getElementById('main') ?? document.body, h('p', { class: 'notice', role: 'alert' }, error.message));
  console.error(error);
});
