// Add a channel: choose a kind, do what its guide says there, and fill in here what it gave.

import { get, post } from '../../api.js';
import { fill, h } from '../../dom.js';
import { field } from '../../parts/form.js';
import { errorNotice } from '../../problems.js';
import { address, go } from '../../router.js';
import { whoami } from '../../session.js';
import { t } from '../../words.js';
import { platformFields } from './fields.js';
import { commandLine, permissions, there } from './guide.js';
import { CHANNELS, LOCAL, governs, prose, said } from './paths.js';

// Who is heard in the rooms of a foreign platform, as people say it.
const HEARD = {
  pairing: { group_policy: 'pairing', senders: 'pairing' },
  open: { group_policy: 'open', senders: 'open' },
  nobody: { group_policy: 'disabled', senders: 'allowlist' },
};

export function showKinds(place, kinds) {
  const card = ({ guide, available }) =>
    h(
      'li',
      { class: 'card' },
      h('h2', {}, h('a', { href: address('channels', '', { add: guide.kind }) }, said(guide.title))),
      h('p', {}, prose(said(guide.summary))),
      !available && h('p', { class: 'warn small' }, t('channels.unavailable')),
    );
  fill(place, head(), h('p', { class: 'soft' }, t('channels.add.lead')), h('ul', { class: 'channel-list' }, kinds.map(card)));
}

export async function showAdding(place, { guide, available }, signal) {
  const content = h('div', { class: 'guide' }, h('p', {}, prose(said(guide.summary))), there(guide), permissions(guide));
  fill(place, head(said(guide.title)), content);
  if (!available) return void content.append(h('p', { class: 'notice warn' }, t('channels.unavailable')));
  if (!governs()) return void content.append(h('p', { class: 'notice' }, t('channels.admin')));
  if (guide.fields.length && !whoami().operator) return void content.append(forOperator(guide));
  const { agents } = await get('/v1/agents', {}, { signal }).catch(() => ({ agents: [] }));
  content.append(h('h3', {}, t('channels.guide.here')), addForm(guide, agents));
}

const head = (title = '') =>
  h(
    'div',
    { class: 'page-head' },
    h('h1', {}, t('frame.channels')),
    h('p', { class: 'chat-title cut' }, title ? t('channels.add.kind', { kind: title }) : t('channels.add')),
    h('span', { class: 'grow' }),
    title && h('a', { class: 'button', href: address('channels', '', { add: 'kind' }) }, t('channels.add.other')),
    h('a', { class: 'button', href: address('channels') }, t('channels.all')),
  );

/** Where a secret is, and which server gets it, is said by whoever runs the daemon. */
const forOperator = (guide) =>
  h(
    'div',
    { class: 'notice' },
    h('p', {}, h('strong', {}, t('channels.operator'))),
    h('p', {}, prose(t('channels.operator.text'))),
    h('pre', { tabindex: '0' }, commandLine(guide)),
  );

function addForm(guide, agents) {
  const isLocal = LOCAL.includes(guide.kind);
  const name = h('input', {
    required: true,
    maxlength: 40,
    pattern: '[a-z0-9][a-z0-9_\\-]*',
    autocomplete: 'off',
    class: 'mono',
    value: isLocal ? '' : guide.kind,
  });
  const agent = agentInput(agents, 'assistant');
  const given = platformFields(guide);
  const heard = heardChoice();
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const add = h('button', { type: 'submit', class: 'primary' }, t('channels.add.do'));
  const submit = async (event) => {
    event.preventDefault();
    if (add.disabled) return;
    add.disabled = true;
    problem.hidden = true;
    try {
      const settings = { agent: agent.control.value.trim() || 'assistant', ...given.value, ...(isLocal ? {} : HEARD[heard.value]) };
      const made = await post(CHANNELS, { name: name.value.trim(), kind: guide.kind, settings });
      go('channels', made.name, { new: 1 });
    } catch (error) {
      fill(problem, errorNotice(error));
      problem.hidden = false;
    } finally {
      add.disabled = false;
    }
  };
  return h(
    'form',
    { class: 'stack card channel-form', on: { submit } },
    field(t('channels.name'), name, t('channels.name.hint')),
    given.element,
    given.element.length > 0 && h('p', { class: 'small soft' }, prose(t('channels.secret.rule'))),
    field(t('channels.agent'), agent.control, t('channels.agent.hint')),
    agent.list,
    !isLocal && heard.element,
    problem,
    h('div', { class: 'buttons' }, add),
  );
}

/** Any name, and those of the agents that somebody set up. */
export function agentInput(agents, value) {
  const list = h(
    'datalist',
    { id: 'channel-agents' },
    agents.map(({ id, name }) => h('option', { value: id }, name)),
  );
  return { list, control: h('input', { value, list: list.id, required: true, maxlength: 128, autocomplete: 'off', class: 'mono' }) };
}

function heardChoice() {
  let value = 'pairing';
  const radio = (one) =>
    h(
      'label',
      { class: 'check' },
      h('input', { type: 'radio', name: 'heard', value: one, checked: one === value, on: { change: () => (value = one) } }),
      ' ',
      t(`channels.heard.${one}`),
    );
  return {
    element: h('fieldset', { class: 'stack' }, h('legend', {}, t('channels.heard')), Object.keys(HEARD).map(radio)),
    get value() {
      return value;
    },
  };
}
