// The form of an agent. What only an admin may set is shown to others, and said so.

import { Problem } from '../../api.js';
import { h, plain } from '../../dom.js';
import { field, form } from '../../parts/form.js';
import { may } from '../../session.js';
import { NEW, TOOLS, linesOf, mayAllow, modesFor, namesOf, serversOf, serversWritten } from '../../text/agent_profile.js';
import { t } from '../../words.js';

const MOST_PERSONA = 20_000;

/** Ask how an agent is set up, and `send(body)` it. Answers the agent, or null where the person thought better of it. */
export function agentForm(agent, models, send) {
  const profile = agent?.profile ?? NEW;
  const isAdmin = may('admin');
  const name = h('input', { required: true, maxlength: 255, autocomplete: 'off', value: agent?.name ?? '' });
  const id = !agent && h('input', { maxlength: 128, pattern: '[A-Za-z0-9._:\\-]+', autocomplete: 'off', class: 'mono' });
  const persona = h('textarea', { maxlength: MOST_PERSONA, rows: 5, value: profile.persona });
  const model = modelSelect(profile, models);
  const approval = h(
    'select',
    { value: profile.approval },
    modesFor(profile, isAdmin).map((mode) => h('option', { value: mode }, t(`agents.approval.${mode}`))),
  );
  const memory = h('input', { type: 'checkbox', checked: agent?.memory_enabled ?? true });
  const tools = toolBoxes(profile, isAdmin);
  const machine = machineFields(profile, isAdmin);
  const content = [
    field(t('agents.name'), name),
    id && field(t('agents.id'), id, t('agents.id.hint')),
    field(t('agents.persona'), persona, t('agents.persona.hint')),
    field(t('agents.model'), model),
    h('label', { class: 'check' }, memory, ' ', t('agents.memory')),
    field(t('agents.approval'), approval, isAdmin ? t('agents.approval.hint') : t('agents.approval.admin')),
    tools.element,
    machine.element,
  ];
  const body = () => ({
    name: name.value.trim(),
    ...(id && id.value.trim() ? { id: id.value.trim() } : {}),
    memory_enabled: memory.checked,
    profile: {
      ...profile,
      persona: persona.value,
      model: model.value || null,
      approval: approval.value,
      tools: tools.value,
      ...machine.value,
    },
  });
  const title = agent ? t('agents.edit.title', { name: agent.name }) : t('agents.new');
  return form(title, content, { label: t('frame.save'), wide: true, act: async () => send(body()), focus: agent ? persona : name });
}

function modelSelect(profile, models) {
  const names = profile.model && !models.includes(profile.model) ? [profile.model, ...models] : models;
  return h(
    'select',
    { value: profile.model ?? '' },
    h('option', { value: '' }, t('agents.model.usual')),
    names.map((one) => h('option', { value: one }, one)),
  );
}

/** All tools, or those that are ticked and named. */
function toolBoxes(profile, isAdmin) {
  const isAll = h('input', {
    type: 'checkbox',
    checked: profile.tools === null,
    disabled: !isAdmin && profile.tools !== null,
    on: { change: paint },
  });
  const boxes = TOOLS.map((tool) => ({
    tool,
    box: h('input', {
      type: 'checkbox',
      checked: profile.tools === null || profile.tools.includes(tool),
      disabled: !mayAllow(profile, tool, isAdmin),
    }),
  }));
  const others = h('input', {
    value: (profile.tools ?? []).filter((one) => !TOOLS.includes(one)).join(', '),
    autocomplete: 'off',
    spellcheck: 'false',
    class: 'mono',
  });
  const list = h(
    'div',
    { class: 'tool-boxes' },
    boxes.map(({ tool, box }) => h('label', { class: 'check mono' }, box, ' ', tool)),
  );
  const named = h('div', {}, list, field(t('agents.tools.others'), others, t('agents.tools.others.hint')));
  function paint() {
    named.hidden = isAll.checked;
  }
  paint();
  const element = h(
    'fieldset',
    {},
    h('legend', {}, t('agents.tools')),
    h('label', { class: 'check' }, isAll, ' ', t('agents.tools.all')),
    named,
    !isAdmin && h('p', { class: 'small soft' }, t('agents.tools.admin')),
  );
  return {
    element,
    get value() {
      return isAll.checked ? null : [...boxes.filter(({ box }) => box.checked).map(({ tool }) => tool), ...namesOf(others.value)];
    },
  };
}

/** What is read and run on the daemon's machine: for admins. */
function machineFields(profile, isAdmin) {
  const area = (value) => h('textarea', { rows: 2, value, class: 'mono', spellcheck: 'false', readOnly: !isAdmin });
  const skills = area(profile.skills.join('\n'));
  const resources = area(profile.resources.join('\n'));
  const servers = area(serversWritten(profile.mcp_servers));
  const element = h(
    'details',
    { class: 'folded', open: !isAdmin ? false : profile.skills.length + profile.resources.length + profile.mcp_servers.length > 0 },
    h('summary', {}, t('agents.machine'), ' ', h('span', { class: 'badge' }, t('agents.admin-only'))),
    h('p', { class: 'small soft' }, t('agents.machine.text')),
    field(t('agents.skills'), skills, t('agents.skills.hint')),
    field(t('agents.resources'), resources, t('agents.resources.hint')),
    field(t('agents.servers'), servers, plain(t('agents.servers.hint'))),
  );
  return {
    element,
    get value() {
      if (!isAdmin) return {};
      return { skills: linesOf(skills.value), resources: linesOf(resources.value), mcp_servers: serversRead(servers.value) };
    },
  };
}

function serversRead(text) {
  try {
    return serversOf(text);
  } catch {
    throw new Problem(0, 'invalid_servers', t('agents.servers.invalid'));
  }
}
