// Which senders of platforms are which persons here.

import { get, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { confirm } from '../../parts/dialog.js';
import { field, form } from '../../parts/form.js';
import { toast } from '../../parts/toast.js';
import { showError } from '../../problems.js';
import { t } from '../../words.js';
import { LINKS, titleOf } from './paths.js';

/** All links, or those of one kind of channel. */
export function linksOf(kinds, signal, kind = null) {
  const element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  const load = async () => {
    try {
      const { links } = await get(LINKS, {}, { signal });
      const shown = links.filter(({ identity }) => !kind || identity.startsWith(`${kind}:`));
      const add = h('button', { type: 'button', on: { click: () => linkSender(kinds, { kind }, load) } }, t('channels.link.new'));
      fill(
        element,
        shown.length
          ? h(
              'ul',
              { class: 'sender-list' },
              shown.map((one) => row(one, load)),
            )
          : h('p', { class: 'soft' }, t('channels.links.none')),
        add,
      );
    } catch (error) {
      showError(error);
    }
  };
  load();
  return element;
}

function row({ identity, subject, created_at: at }, reload) {
  const click = async () => {
    if (
      !(await confirm(t('channels.unlink.title', { identity }), t('channels.unlink.text', { subject }), {
        label: t('channels.unlink'),
        danger: true,
      }))
    )
      return;
    try {
      await remove(`${LINKS}/${encodeURIComponent(identity)}`);
      toast(t('channels.unlinked'));
    } catch (error) {
      showError(error);
    }
    await reload();
  };
  return h(
    'li',
    {},
    h('span', { class: 'mono' }, plain(identity, 255)),
    ' ',
    t('channels.is'),
    ' ',
    h('strong', {}, plain(subject, 255)),
    ' ',
    h('small', { class: 'soft' }, time(at)),
    ' ',
    h(
      'button',
      { 'type': 'button', 'class': 'quiet small', 'aria-label': `${t('channels.unlink')}: ${identity}`, 'on': { click } },
      t('channels.unlink'),
    ),
  );
}

/** Ask who a sender is. `kind` and `sender` are known if somebody was chosen. */
export async function linkSender(kinds, { kind = null, sender = '' }, reload) {
  const option = ({ guide }) => h('option', { value: guide.kind }, titleOf(kinds, guide.kind));
  const choice = h('select', { value: kind ?? 'matrix' }, kinds.filter(({ guide }) => guide.kind !== 'web').map(option));
  const id = h('input', { required: true, maxlength: 240, autocomplete: 'off', class: 'mono', value: sender });
  const person = h('input', { required: true, maxlength: 255, autocomplete: 'off', class: 'mono' });
  const content = [
    h('p', {}, t('channels.link.text')),
    !kind && field(t('channels.kind'), choice),
    field(t('channels.sender'), id, t('channels.sender.hint')),
    field(t('channels.person'), person, t('channels.person.hint')),
  ];
  const act = () => post(LINKS, { identity: `${kind ?? choice.value}:${id.value.trim()}`, subject: person.value.trim() });
  const link = await form(t('channels.link'), content, { label: t('channels.link.do'), act, focus: sender ? person : null });
  if (!link) return;
  toast(t('channels.linked', { subject: link.subject }));
  await reload();
}
