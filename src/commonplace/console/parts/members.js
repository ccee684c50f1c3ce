// Whose a session or a room is, and with whom it is shared.

import { get, post } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { showError } from '../problems.js';
import { go } from '../router.js';
import { may, whoami } from '../session.js';
import { t } from '../words.js';
import { time } from './badge.js';
import { confirm, dialog } from './dialog.js';
import { field, form } from './form.js';
import { toast } from './toast.js';

const PATH = '/v1/members';

/** The members of `scope`, its owner first, and what this person may change. The words are those of the memory page. */
export function membersOf(scope, signal) {
  const element = h('div', { class: 'members' }, h('p', { class: 'soft' }, t('frame.loading')));
  const load = async () => {
    try {
      const { members } = await get(PATH, { scope }, { signal });
      fill(element, list(scope, members, load));
    } catch (error) {
      if (error.status === 404) fill(element, h('p', { class: 'soft' }, t('memory.members.none')));
      else showError(error);
    }
  };
  load();
  return element;
}

/** The same in a dialog. */
export const showMembers = (scope, signal) =>
  dialog(
    t('memory.members'),
    h('div', { class: 'stack' }, h('p', { class: 'soft small mono' }, plain(scope, 255)), membersOf(scope, signal)),
  );

function list(scope, members, reload) {
  const { subject: own } = whoami();
  const isOwner = may('admin') || members.some((one) => one.owner && one.subject === own);
  const row = (one) =>
    h(
      'li',
      {},
      h('span', { class: 'mono' }, plain(one.subject, 255)),
      one.owner && [' ', h('span', { class: 'badge' }, t('memory.members.owner'))],
      one.subject === own && [' ', h('span', { class: 'badge' }, t('memory.members.own'))],
      ' ',
      h('small', { class: 'soft' }, time(one.since)),
      may('writer') && !one.owner && (isOwner || one.subject === own) && [' ', partButton(scope, one, one.subject === own, reload)],
    );
  return [
    h('ul', { class: 'member-list' }, members.map(row)),
    may('writer') &&
      isOwner &&
      h('button', { type: 'button', class: 'small', on: { click: () => share(scope, reload) } }, t('memory.members.share')),
  ];
}

function partButton(scope, { subject }, isOwn, reload) {
  const name = isOwn ? 'leave' : 'remove';
  const title = t(`memory.members.${name}.title`, { subject });
  const click = async () => {
    if (!(await confirm(title, t(`memory.members.${name}.text`), { label: t(`memory.members.${name}`), danger: true }))) return;
    try {
      await post(`${PATH}/remove`, { scope, subject });
      toast(t('memory.members.removed', { subject }));
    } catch (error) {
      return void showError(error);
    }
    // Whoever has left sees nothing of it any more.
    if (isOwn && !may('admin')) go('memory');
    else await reload();
  };
  return h('button', { 'type': 'button', 'class': 'quiet small', 'aria-label': title, 'on': { click } }, t(`memory.members.${name}`));
}

async function share(scope, reload) {
  const who = h('input', { required: true, maxlength: 255, autocomplete: 'off', class: 'mono' });
  const act = () => post(PATH, { scope, subject: who.value.trim() });
  const content = [h('p', {}, t('memory.members.share.text')), field(t('memory.members.who'), who, t('memory.members.who.hint'))];
  const member = await form(t('memory.members.share'), content, { label: t('memory.members.share.do'), act });
  if (!member) return;
  toast(t('memory.members.shared', { subject: member.subject }));
  await reload();
}
