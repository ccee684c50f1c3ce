// Begins the console: the frame around the pages, or the form to sign in.

import { onSignedOut } from './api.js';
import { fill, h, icon } from './dom.js';
import { confirm } from './parts/dialog.js';
import { languageMenu } from './parts/language_menu.js';
import { shortcut, showShortcuts } from './parts/shortcuts.js';
import { endLive, followLive } from './parts/live_sessions.js';
import { showWaiting } from './parts/waiting.js';
import { showError } from './problems.js';
import { PAGES, currentAddress, go, leavePage, mayLeave, prefetchPage, showPage } from './router.js';
import { forgetSession, loadSession, may, signIn, signInForm, signOut, whoami } from './session.js';
import { language, learn, named, t } from './words.js';

const frame = document.getElementById('frame');

async function start() {
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  await Promise.all([learn('frame'), language === 'en' || learn('problems')]);
  onSignedOut(() => {
    if (whoami()) showSignIn(t('frame.sign-in.ended'));
  });
  addEventListener('hashchange', (event) => followAddress(event.oldURL).catch(showError));
  shortcut('?', t('frame.shortcuts.open'), showShortcuts);
  if (await signInByCode()) return;
  // The page is fetched while the server is asked who is there.
  prefetchPage();
  if (await loadSession()) await showFrame();
  else showSignIn();
}

async function followAddress(from) {
  if (!(await mayLeave(from))) return;
  if ((await signInByCode()) || !whoami()) return;
  await showPage().finally(showWaiting);
}

/** Whether the address had a one-time code in it, which then signed somebody in, or did not. */
async function signInByCode() {
  const { page, part } = currentAddress();
  if (page !== 'enter') return false;
  // The code leaves the address before anything else happens.
  history.replaceState(null, '', '#/memory');
  // A link must not put somebody else in the place of whoever is signed in.
  if ((whoami() ?? (await loadSession())) && !(await wantsToChange())) {
    await showFrame();
    return true;
  }
  await enter({ code: part }).catch(() => showSignIn(t('frame.sign-in.code-used')));
  return true;
}

/** Whether to give up the session that is there. On a daemon that is open to all, whoever shows no key has none. */
async function wantsToChange() {
  const { subject, name, key, operator } = whoami();
  if (!key && !operator) return true;
  const { change, text } = { change: t('frame.sign-in.change'), text: t('frame.sign-in.change.text', { subject: name ?? subject }) };
  return (await confirm(change, text, { label: change })) !== null;
}

async function enter(credentials) {
  await signIn(credentials);
  // Whoever is in stays in, whatever becomes of the first page.
  await showFrame().catch(showError);
}

async function leave() {
  // What the page still asks would come too late, and be answered that the session has ended.
  leavePage();
  try {
    await signOut();
  } catch (error) {
    // The cookie is still there: to say otherwise would leave the door open behind somebody's back.
    showError(error);
    await showPage();
    return;
  }
  showSignIn();
}

function showSignIn(message = '') {
  leavePage();
  endLive();
  forgetSession();
  document.title = `${t('frame.sign-in')} · Commonplace`;
  frame.classList.remove('waiting');
  frame.classList.add('outside');
  fill(frame, h('main', { id: 'main', tabindex: '-1', class: 'sign-in' }, signInForm(message, enter)));
  document.getElementById('key').focus();
}

async function showFrame() {
  fill(frame, skipLink(), header(), h('main', { id: 'main', tabindex: '-1' }));
  frame.classList.remove('waiting', 'outside');
  for (const [page, { key, role }] of Object.entries(PAGES)) {
    if (key && may(role)) shortcut(`g ${key}`, t('frame.shortcuts.go', { page: t(`frame.${page}`) }), () => go(page));
  }
  // The page's own questions first: a number in the navigation can wait.
  await showPage().finally(() => {
    showWaiting();
    followLive();
  });
}

function skipLink() {
  const click = (event) => {
    event.preventDefault();
    document.getElementById('main').focus();
  };
  return h('a', { class: 'skip', href: '#main', on: { click } }, t('frame.skip'));
}

function header() {
  const image = h('img', { src: new URL('icon.svg', import.meta.url), alt: '', width: 24, height: 24 });
  return h('header', { class: 'side' }, h('a', { class: 'brand', href: '#/memory' }, image, ' Commonplace'), navigation(), person());
}

function navigation() {
  const pages = Object.entries(PAGES).filter(([, page]) => page.key && may(page.role));
  const link = ([name, page]) =>
    h(
      'a',
      { href: `#/${name}`, data: { page: name }, title: `${t(`frame.${name}`)} (g ${page.key})` },
      icon(page.icon),
      h('span', {}, t(`frame.${name}`)),
    );
  return h('nav', { 'aria-label': t('frame.pages') }, pages.map(link));
}

function person() {
  const { subject, name, tenant, role, operator, key } = whoami();
  const roleName = named('frame.role', operator ? 'operator' : role);
  return h(
    'div',
    { class: 'person' },
    h('p', { title: t('frame.tenant', { tenant }) }, t('frame.who', { subject: name || subject, role: roleName })),
    h(
      'div',
      { class: 'row' },
      languageMenu(),
      h('button', { type: 'button', class: 'quiet', on: { click: leave } }, t(key || operator ? 'frame.sign-out' : 'frame.sign-in')),
    ),
  );
}

start().catch((error) => {
  fill(document.getElementById('main') ?? document.body, h('p', { class: 'notice', role: 'alert' }, error.message));
  console.error(error);
});
