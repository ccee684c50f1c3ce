// The pages and their addresses. A page is a module with `show(place, visit)`, fetched when it is first opened, or before.

import { fill, h } from './dom.js';
import { closeAll } from './parts/dialog.js';
import { mayBeLost } from './parts/unsaved.js';
import { may, whoami } from './session.js';
import { learn, named, t } from './words.js';

// In the order of the navigation; `key` follows g. A page without one is reached from others. One that is `like` another has its words and style, too.
export const PAGES = {
  memory: { role: 'reader', key: 'm', icon: 'M4 5h16M4 10h16M4 15h10M4 20h10' },
  recall: { role: 'reader', key: 'r', icon: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5' },
  chat: { role: 'reader', key: 'c', icon: 'M4 5h16v11H9l-5 4z' },
  rooms: { role: 'reader', key: 'o', like: 'chat', icon: 'M3 5h12v8H8l-4 3v-3H3zM18 9h3v8h-1v3l-4-3h-5v-2' },
  channels: {
    role: 'reader',
    key: 'w',
    like: 'chat',
    icon: 'M5 4v6a4 4 0 0 0 4 4h6a4 4 0 0 1 4 4v2M3 6l2-2 2 2M17 18l2 2 2-2M12 4h7v5h-7z',
  },
  sessions: { role: 'reader', key: 's', like: 'chat', icon: 'M3 4h13v9H8l-5 3zM8 16v1h8l5 3V9h-2' },
  runs: { role: 'reader', key: 't', like: 'chat', icon: 'M5 4v16M5 6h10M5 12h14M5 18h8' },
  schedules: { role: 'reader', key: 'p', icon: 'M12 4a9 9 0 1 0 0 17 9 9 0 0 0 0-17zM12 8v5l3 2' },
  agents: { role: 'reader', key: 'a', icon: 'M6 9h12v10H6zM12 9V5M9 13v2M15 13v2M3 13v3M21 13v3' },
  import: { role: 'reader', key: 'i', icon: 'M12 3v12M7 10l5 5 5-5M4 20h16' },
  review: { role: 'reviewer', key: 'v', icon: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM9 12l2 2 4-4' },
  knowledge: {
    role: 'reader',
    key: 'f',
    like: 'review',
    icon: 'M9 18h6M10 21h4M12 3a6 6 0 0 0-4 10.5c.8.7 1 1.5 1 2.5h6c0-1 .2-1.8 1-2.5A6 6 0 0 0 12 3z',
  },
  learning: { role: 'reader', key: 'l', icon: 'M4 6l8-3 8 3-8 3zM7 8v6c3 3 7 3 10 0V8M20 6v7' },
  live: { role: 'reader', key: 'e', icon: 'M3 12h4l3-8 4 16 3-8h4' },
  health: { role: 'reader', key: 'h', icon: 'M4 20V10M10 20V4M16 20v-7M22 20H2' },
  keys: { role: 'admin', key: 'k', icon: 'M15 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 12l-8 8M6 17l3 3' },
  record: { role: 'reader' },
  session: { role: 'reader' },
};
const IDLE = 1500; // milliseconds

const base = new URL('.', import.meta.url);
const styles = new Map(); // page -> a promise of its style
let visit = null; // the AbortController of the page that is shown
let prefetchTimer = null;

// ---- addresses

export function address(page, part = '', query = {}) {
  const params = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== ''));
  const text = params.toString();
  return `#/${page}${part ? `/${encodeURIComponent(part)}` : ''}${text ? `?${text}` : ''}`;
}

/** Where the browser is: { page, part, query }. */
export function currentAddress() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = path.split('/');
  return { page: page || 'memory', part: decode(rest.join('/')), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Go to a page: go('record', id), go('memory', scope, { source: 'auto' }). */
export function go(page, part = '', query = {}) {
  location.hash = address(page, part, query);
}

/** Change the address without leaving the page: people keep it and send it. */
export function replaceAddress(page, part = '', query = {}) {
  // A page that was just left must not bring its address back.
  if (currentAddress().page !== page) return;
  history.replaceState(null, '', address(page, part, query));
}

/** Whether to follow the address away from `from`: the person may rather keep what they typed, and then the address is as before. */
export async function mayLeave(from) {
  const to = location.hash;
  history.replaceState(null, '', new URL(from).hash);
  if (!(await mayBeLost())) return false;
  history.replaceState(null, '', to);
  return true;
}

// ---- pages

export function leavePage() {
  visit?.abort();
  visit = null;
  closeAll();
}

/** Show the page that the address names. */
export async function showPage() {
  const { page, part, query } = currentAddress();
  leavePage();
  const leaving = new AbortController();
  visit = leaving;
  markLink(['record', 'session'].includes(page) ? 'memory' : page);
  // A place of its own for each visit: what an earlier one still has to say goes nowhere.
  const place = h('div', { class: 'page' });
  fill(document.getElementById('main'), place);
  const entry = Object.hasOwn(PAGES, page) ? PAGES[page] : null;
  if (!entry || !may(entry.role)) {
    const text = entry ? t('frame.may-not', { role: named('frame.role', entry.role) }) : t('frame.no-page');
    fill(place, h('p', { class: 'notice' }, text));
    return;
  }
  document.title = `${t(`frame.${page}`)} · Commonplace`;
  place.dataset.page = page;
  place.classList.add(`page-${page}`);
  if (entry.like) place.classList.add(`page-${entry.like}`);
  const [module] = await loadPage(page).catch(reloadIfNewer);
  if (leaving.signal.aborted) return;
  await module.show(place, { me: whoami(), part, query, signal: leaving.signal });
  place.dataset.ready = 'true';
  prefetchTimer ??= setTimeout(prefetchPages, IDLE);
}

function markLink(page) {
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.page !== page) link.removeAttribute('aria-current');
    else if (!link.hasAttribute('aria-current')) {
      link.setAttribute('aria-current', 'page');
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  }
}

/** Fetch the page of the address early, whatever becomes of it. */
export function prefetchPage() {
  const { page } = currentAddress();
  if (Object.hasOwn(PAGES, page)) loadPage(page).catch(() => {});
}

/** What a page needs before it can be shown. */
function loadPage(page) {
  const dressed = [PAGES[page].like, page].filter(Boolean);
  return Promise.all([import(`./pages/${page}.js`), ...dressed.flatMap((one) => [learn(one), loadStyle(one)])]);
}

/** When nobody does anything, the other pages are fetched, one after another: the first visit of each is as quick as the next. */
async function prefetchPages() {
  for (const [page, { role }] of Object.entries(PAGES).reverse()) {
    await new Promise((resolve) => (globalThis.requestIdleCallback ?? setTimeout)(resolve));
    if (!may(role)) continue;
    try {
      await loadPage(page);
    } catch {
      // What does not come now is fetched when it is opened: a daemon that is gone is not asked for the others.
      return;
    }
  }
}

/** A daemon that is another version by now has its files at another address: begin anew, at the same page. */
async function reloadIfNewer(error) {
  const page = await fetch('/', { cache: 'no-store' }).then(
    (response) => (response.ok ? response.text() : ''),
    () => '',
  );
  if (page && !page.includes(base.pathname)) location.reload();
  throw error;
}

function loadStyle(page) {
  if (!styles.has(page)) {
    const href = new URL(`styles/${page}.css`, base).href;
    const loaded = new Promise((resolve) => {
      const error = () => resolve(styles.delete(page));
      document.head.append(h('link', { rel: 'stylesheet', href, on: { load: resolve, error } }));
    });
    styles.set(page, loaded);
  }
  return styles.get(page);
}
