// What a record says: Markdown as it is meant to look, and as it was written if somebody asks.

import { fill, h } from '../../dom.js';
import { lengthy } from '../../parts/lengthy.js';
import { markdownOf } from '../../parts/markdown.js';
import { mayBeMarkdown } from '../../text/title.js';
import { t } from '../../words.js';

const MOST_RENDERED = 100_000; // characters

export function text(page) {
  const { record, parts } = page;
  // What somebody is typing stays; that the record is another by now is told when it is stored.
  const form = parts.text.querySelector('form');
  form?.follow(record);
  if (form?.isTouched()) return;
  // The same text is left as it is: somebody may have scrolled in it, or asked for all of it.
  const sentence = record.quarantine?.sentence ?? null;
  if (!form && parts.text.childElementCount && page.told === record.text && page.sentence === sentence) return;
  Object.assign(page, { told: record.text, sentence });
  paint(page);
}

/** Between the two ways to see it, if there are two. */
export function toggleWritten(page) {
  if (!page.parts.text.querySelector('.as-written')) return;
  page.isWritten = !page.isWritten;
  paint(page);
  page.parts.text.querySelector('.as-written').focus();
}

function paint(page) {
  const { record, sentence, parts } = page;
  // The sentence that keeps it in quarantine is shown in its place, letter by letter.
  const rendered = sentence || record.text.length > MOST_RENDERED || !mayBeMarkdown(record) ? null : markdownOf(record.text);
  const box = { 'class': 'card whole', 'tabindex': '0', 'role': 'region', 'aria-label': t('record.text') };
  const press = { click: () => toggleWritten(page) };
  const button = { 'type': 'button', 'class': 'small as-written', 'aria-pressed': String(Boolean(page.isWritten)), 'on': press };
  fill(
    parts.text,
    h('div', { class: 'row' }, h('h2', { class: 'grow' }, t('record.text')), rendered && h('button', button, t('record.as-written'))),
    rendered && !page.isWritten ? h('div', box, rendered) : lengthy({ ...box, class: 'card text whole' }, record.text, { sentence }),
  );
}
