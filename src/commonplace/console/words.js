// Texts in two languages. A page has a module of words in each; both have the same keys, and a test says so.

import frame from './words/en/frame.js';

export const LANGUAGES = { en: 'English', zh: '简体中文' };
const held = { en: { frame }, zh: {} };

export const language = chosen();

function chosen() {
  const kept = localStorage.getItem('language');
  if (kept in LANGUAGES) return kept;
  return navigator.languages.some((one) => one.toLowerCase().startsWith('zh')) && !navigator.languages[0].toLowerCase().startsWith('en')
    ? 'zh'
    : 'en';
}

export function speak(wanted) {
  localStorage.setItem('language', wanted);
  location.reload();
}

/** Make the words of a page ready. */
export async function learn(page) {
  held[language][page] ??= (await import(`./words/${language}/${page}.js`)).default;
}

/**
 * The text `page.key`. One that is a function is called with what is given; in others `{name}` is replaced.
 */
export function t(name, ...values) {
  const text = lookup(name);
  if (text === undefined) throw new Error(`There are no words for ${name} in ${language}.`);
  return typeof text === 'function' ? text(...values) : replaceNames(text, values[0]);
}

/** The text `page.key` as it stands in its module, or undefined. */
export function lookup(name) {
  const at = name.indexOf('.');
  return held[language][name.slice(0, at)]?.[name.slice(at + 1)];
}

/** Put the values in the place of their names: `{name}`. */
export const replaceNames = (text, values = {}) => text.replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ''));

/** The words for one of a fixed set (a state, a trust, a kind); where we have none, the thing itself. */
export const named = (name, value) => lookup(`${name}.${value}`) ?? value;

const locale = language === 'zh' ? 'zh-CN' : 'en-GB';
const numbers = new Intl.NumberFormat(locale);
const short = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
const moments = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const days = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const ago = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const clocks = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });

export const number = (value) => numbers.format(value);
export const compact = (value) => short.format(value);
export const moment = (written) => moments.format(new Date(written));
export const clock = (written) => clocks.format(new Date(written));
export const day = (written) => days.format(new Date(written));

const STEPS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

export function since(written) {
  const seconds = (new Date(written) - Date.now()) / 1000;
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return ago.format(Math.round(seconds / length), unit);
  }
  return ago.format(Math.min(0, Math.round(seconds)), 'second');
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export function size(bytes) {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: value < 10 && unit ? 1 : 0 }).format(value)} ${UNITS[unit]}`;
}
