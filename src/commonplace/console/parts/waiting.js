// How much waits for a reviewer, in quarantine or to be approved: a number beside the review page, and a word to whoever has just written one.

import { get } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { address } from '../router.js';
import { may, whoami } from '../session.js';
import { number, t } from '../words.js';
import { toast } from './toast.js';

const MOST_REQUESTS = 100;

/** Count what waits and show the number at the link of the review page; nothing, if there is nothing or nobody who may look. */
export async function showWaiting() {
  const link = document.querySelector('nav a[data-page=review]');
  if (!link || !may('reviewer')) return;
  const counts = await Promise.all([countQuarantined(), countRequests()]).catch(() => null);
  // A number is a convenience: without it everything works.
  if (!counts || !link.isConnected) return;
  const [quarantined, { requests, isAll }] = counts;
  const sum = number(quarantined + requests) + (isAll ? '' : '+');
  const label = t('frame.waiting', number(quarantined), number(requests) + (isAll ? '' : '+'));
  showNumber('review', quarantined || requests ? sum : '', label);
}

/** A number at the link of a page in the navigation; none if there is nothing to count. */
export function showNumber(page, text, label) {
  const link = document.querySelector(`nav a[data-page=${page}]`);
  link?.querySelector('.waiting-count')?.remove();
  if (text) link?.append(h('span', { 'class': 'badge waiting-count', 'role': 'img', 'title': label, 'aria-label': label }, text));
}

const countQuarantined = async () => (await get('/v1/review', { limit: 1 })).total;

/** Requests that this person may decide: an admin's own, too. */
async function countRequests() {
  const { approvals, cursor } = await get('/v1/approvals', { state: 'requested', limit: MOST_REQUESTS });
  const isMine = ({ approval }) => approval.subject === whoami()?.subject && !may('admin');
  return { requests: approvals.filter((entry) => !entry.approved_by && !isMine(entry)).length, isAll: !cursor };
}

/** What was just written is in quarantine: say so, and why. Answers whether it was. */
export function sayQuarantined(record) {
  if (!record?.quarantine) return false;
  const { sentence } = record.quarantine;
  const open = () => {
    location.hash = address('record', record.id);
  };
  const said = h('span', {}, t('frame.quarantined'), sentence && [' ', h('q', {}, plain(sentence, 200))]);
  toast(said, { kind: 'problem', action: { label: t('frame.quarantined.open'), act: open }, seconds: 12 });
  showWaiting();
  return true;
}

/** The same on a record's own page. */
export function quarantineNote(record) {
  if (!record.quarantine || record.state === 'deleted') return null;
  const { sentence } = record.quarantine;
  const note = h('p', { class: 'warn' });
  fill(note, t('frame.quarantined'), sentence && [' ', h('q', {}, plain(sentence, 400))]);
  if (may('reviewer')) note.append(' ', h('a', { href: address('review', 'quarantine', { scope: record.scope }) }, t('frame.review')));
  return note;
}
