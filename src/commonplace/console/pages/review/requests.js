// What somebody wants to share, and cannot until somebody else has read it: approve this version of it, or decline.

import { get, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { form, reasoned } from '../../parts/form.js';
import { isConflict } from '../../parts/record_actions.js';
import { toast } from '../../parts/toast.js';
import { showWaiting } from '../../parts/waiting.js';
import { showError } from '../../problems.js';
import { may, whoami } from '../../session.js';
import { number, t } from '../../words.js';
import { desk, toRecord } from './desk.js';

const PAGE = 100;
const MOST = 20_000;
const PATH = '/v1/approvals';

export function requests(panel, { signal }) {
  const reload = () => list.reload();
  const list = desk({
    label: t('review.requests'),
    empty: () => t('review.requests.empty'),
    load,
    lines,
    detail,
    signal,
    actions: [
      { name: 'approve', label: t('review.requests.approve'), key: 'a', kind: 'primary', act: (many) => approve(many, reload) },
      { name: 'decline', label: t('review.requests.decline'), key: 'r', kind: 'danger', act: (many) => decline(many, 'decline') },
      { name: 'withdraw', label: t('review.requests.withdraw'), act: (many) => decline(many, 'withdraw') },
    ],
    fits: ({ name }, request) => (name === 'approve' ? !request.isOwn || may('admin') : request.isOwn === (name === 'withdraw')),
  });
  fill(panel, h('p', { class: 'soft' }, t('review.requests.lead')), list);
}

async function load(cursor, signal) {
  const page = await get(PATH, { state: 'requested', limit: PAGE, cursor }, { signal });
  // One's own that somebody has approved waits for nobody here.
  const open = page.approvals.filter((entry) => !entry.approved_by);
  return { rows: open.map(request), cursor: page.cursor };
}

const request = ({ approval, text }) => ({
  ...approval,
  text,
  title: text ?? approval.target,
  isOwn: approval.subject === whoami().subject,
});

function lines(one) {
  return [
    h(
      'div',
      { class: 'review-line' },
      h('span', { class: 'cut' }, plain(one.title, 200)),
      h('small', { class: 'soft' }, time(one.created_at)),
    ),
    h(
      'div',
      { class: 'cut small soft' },
      one.kind === 'finding' && [h('span', { class: 'badge' }, t('review.finding')), ' '],
      one.isOwn ? t('review.requests.own') : plain(one.actor, 100),
      ' → ',
      h('span', { class: 'mono' }, plain(one.scope ?? '', 255)),
    ),
  ];
}

function detail(one, place) {
  const facts = [
    ['review.requests.by', [plain(one.actor, 255), one.agent && [' ', h('span', { class: 'badge' }, t('review.requests.agent'))]]],
    ['review.requests.scope', h('span', { class: 'mono' }, plain(one.scope ?? '', 255))],
    ['review.since', time(one.created_at)],
    one.kind === 'record' && ['review.requests.version', number(one.version)],
    // Whoever is asked may read this version of another's note, and not its page.
    [`review.${one.kind}`, one.isOwn && one.kind === 'record' ? toRecord(one.target) : h('span', { class: 'mono small' }, one.target)],
  ];
  fill(
    place,
    one.isOwn && h('p', { class: 'warn' }, t(may('admin') ? 'review.requests.own.admin' : 'review.requests.own.text')),
    h('h2', {}, t(one.kind === 'finding' ? 'review.finding' : 'review.text')),
    h('div', { class: 'text review-text' }, one.text === null ? t('review.requests.unread') : plain(one.text, MOST)),
    h('h2', {}, t('review.requests.asked')),
    h(
      'dl',
      { class: 'facts' },
      facts.filter(Boolean).map(([name, value]) => [h('dt', {}, t(name)), h('dd', {}, value)]),
    ),
  );
}

/** Stand for these as they were read. Answers the ids of the requests that are decided, or null. */
function approve(many, reload) {
  const { why, row } = reasoned();
  const done = new Map();
  const act = async () => {
    const reason = why.value.trim();
    for (const one of many.filter(({ id }) => !done.has(id))) {
      const body = { id: one.target, version: one.version, kind: one.kind, reason };
      done.set(one.id, await post(PATH, body).catch((error) => rethrow(error, reload)));
    }
    const [first] = done.values();
    const [{ actor, scope }] = many;
    const result = many.length > 1 ? 'many' : first.self_approved ? 'self' : 'one';
    const action = { label: t('frame.undo'), act: () => takeBack([...done.values()], reload) };
    toast(t(`review.requests.approved.${result}`, { count: number(many.length), who: actor, scope }), { action });
    showWaiting();
    return [...done.keys()];
  };
  const text = t('review.requests.approve.text', number(many.length), many.length);
  return form(t('review.requests.approve'), [h('p', {}, text), row], { label: t('review.requests.approve'), focus: why, act });
}

/** The form tells that it was changed meanwhile; the list below shows what waits now. */
function rethrow(error, reload) {
  if (isConflict(error) || error.status === 404) reload();
  throw error;
}

/** Without the approval the request waits again. */
async function takeBack(approvals, reload) {
  try {
    for (const { id } of approvals) await remove(`${PATH}/${id}`, { reason: t('review.requests.mistake') });
    toast(t('review.done.waits'));
    reload();
  } catch (error) {
    showError(error);
  }
  showWaiting();
}

/** Turn these down or, of one's own, ask no longer (`withdraw`). */
function decline(many, name) {
  const { why, row } = reasoned();
  const done = new Set();
  const act = async () => {
    for (const one of many.filter(({ id }) => !done.has(id))) {
      await remove(`${PATH}/${one.id}`, { reason: why.value.trim() });
      done.add(one.id);
    }
    toast(t(`review.requests.${name}.done`, number(many.length), many.length, many[0].actor));
    showWaiting();
    return [...done];
  };
  const label = t(`review.requests.${name}`);
  const text = t(`review.requests.${name}.text`, number(many.length), many.length);
  return form(label, [h('p', {}, text), row], { label, danger: name === 'decline', focus: why, act });
}
