// Who is let in: those who wait with a code, those who were let in, and who they are here.

import { get, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { confirm } from '../../parts/dialog.js';
import { field } from '../../parts/form.js';
import { toast } from '../../parts/toast.js';
import { errorNotice, showError } from '../../problems.js';
import { t } from '../../words.js';
import { linkSender, linksOf } from './links.js';
import { LOCAL, channelPath } from './paths.js';

const GROUP = 'group:';

export async function showSenders(panel, page, signal) {
  const { kind, settings } = page.status.channel;
  const reload = () => showSenders(panel, page, signal);
  try {
    const { senders } = await get(channelPath(page.name, '/senders'), {}, { signal });
    const waiting = senders.filter((one) => !one.approved_at && one.code);
    const approved = senders.filter((one) => one.approved_at);
    const row = (one) => senderRow(one, page, reload);
    const some = (list, none) => (list.length ? h('ul', { class: 'sender-list' }, list.map(row)) : h('p', { class: 'soft' }, t(none)));
    fill(
      panel,
      h('p', { class: 'soft' }, whoIsHeard(kind, settings)),
      h('section', {}, h('h2', {}, t('channels.waiting')), some(waiting, 'channels.waiting.none'), codeForm(page, reload)),
      h('section', {}, h('h2', {}, t('channels.approved')), some(approved, 'channels.approved.none')),
      h(
        'section',
        {},
        h('h2', {}, t('channels.links')),
        h('p', { class: 'soft small' }, t('channels.links.text')),
        linksOf(page.kinds, signal, kind),
      ),
    );
  } catch (error) {
    if (error.name !== 'AbortError') fill(panel, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
  }
}

function whoIsHeard(kind, { group_policy: groups, senders }) {
  const people = t(`channels.heard.senders.${senders}`);
  if (LOCAL.includes(kind)) return senders === 'open' ? t('channels.heard.members') : people;
  return [t(`channels.heard.groups.${groups}`), ' ', people];
}

function senderRow(one, page, reload) {
  const { sender, name, code, code_at: asked, approved_at: since } = one;
  const isGroup = sender.startsWith(GROUP);
  const shown = name || sender;
  const button = (label, act, kind = '') =>
    h('button', { 'type': 'button', 'class': `small ${kind}`, 'aria-label': `${t(label)}: ${shown}`, 'on': { click: act } }, t(label));
  return h(
    'li',
    {},
    h('strong', {}, plain(shown, 120)),
    isGroup && [' ', h('span', { class: 'badge' }, t('channels.group'))],
    name && name !== sender && [' ', h('span', { class: 'mono small soft' }, plain(sender, 180))],
    ' ',
    h('small', { class: 'soft' }, !since && [t('channels.code'), ' ', h('code', {}, plain(code, 40)), ' · '], time(since ?? asked)),
    ' ',
    h(
      'span',
      { class: 'row' },
      !since && button('channels.pair', () => pair(page, code, reload), 'primary'),
      since && !isGroup && button('channels.link', () => linkSender(page.kinds, { kind: page.status.channel.kind, sender }, reload)),
      button(since ? 'channels.dismiss' : 'channels.ignore', () => dismiss(page, one, reload), 'quiet'),
    ),
  );
}

async function pair(page, code, reload) {
  try {
    const { name, sender } = await post(channelPath(page.name, '/pair'), { code });
    toast(t('channels.paired', { name: name || sender }));
  } catch (error) {
    showError(error);
  }
  await reload();
}

async function dismiss(page, { sender, name, approved_at: since }, reload) {
  const label = t(since ? 'channels.dismiss' : 'channels.ignore');
  const text = t(since ? 'channels.dismiss.text' : 'channels.ignore.text');
  if (!(await confirm(t('channels.dismiss.title', { name: name || sender }), text, { label, danger: true }))) return;
  try {
    await remove(channelPath(page.name, `/senders/${encodeURIComponent(sender)}`));
  } catch (error) {
    showError(error);
  }
  await reload();
}

/** The code as its sender passes it on. */
function codeForm(page, reload) {
  const code = h('input', { required: true, maxlength: 64, autocomplete: 'off', spellcheck: 'false', class: 'mono' });
  const submit = (event) => {
    event.preventDefault();
    return pair(page, code.value.trim(), reload);
  };
  return h(
    'form',
    { class: 'stack channel-form', on: { submit } },
    field(t('channels.code'), code, t('channels.code.hint')),
    h('div', { class: 'row' }, h('button', { type: 'submit' }, t('channels.pair'))),
  );
}
