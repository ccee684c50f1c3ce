// How a channel is set: who answers, where it works, who is heard, what it may spend, and who decides what a tool may do.

import { get } from '../../api.js';
import { fill, h } from '../../dom.js';
import { field } from '../../parts/form.js';
import { unsaved } from '../../parts/unsaved.js';
import { errorNotice } from '../../problems.js';
import { whoami } from '../../session.js';
import { t } from '../../words.js';
import { agentInput } from './add.js';
import { platformFields } from './fields.js';
import { LOCAL, prose } from './paths.js';

const GROUPS = ['disabled', 'allowlist', 'pairing', 'open'];
const SENDERS = ['allowlist', 'pairing', 'open'];
const DISPATCH = ['', 'followup', 'collect', 'steer'];
const ROUTES = ['thread', 'chat_thread', 'user', 'single'];
const POLICIES = ['first-responder', 'designated', 'consensus', 'local-only'];
const LANGUAGES = ['', 'en', 'zh'];
const REACH = ['workspace', 'room'];

export async function showSettings(panel, page, signal) {
  const { agents, models } = await get('/v1/agents', {}, { signal }).catch(() => ({ agents: [], models: [] }));
  if (signal.aborted) return;
  const { settings, kind } = page.status.channel;
  const groups = [
    answering(settings, agents, models),
    heard(settings, kind),
    conduct(settings),
    spending(settings),
    platform(settings, page.guide),
  ].filter(Boolean);
  const note = h('p', { role: 'alert', class: 'problem', hidden: true });
  const save = h('button', { type: 'submit', class: 'primary' }, t('frame.save'));
  let isTouched = false;
  unsaved(() => isTouched, signal);
  const submit = async (event) => {
    event.preventDefault();
    save.disabled = true;
    note.hidden = true;
    try {
      await page.change(Object.assign({}, ...groups.map(({ value }) => value)));
      isTouched = false;
      await showSettings(panel, page, signal);
    } catch (error) {
      fill(note, errorNotice(error));
      note.hidden = false;
    } finally {
      save.disabled = false;
    }
  };
  const input = () => {
    isTouched = true;
  };
  fill(
    panel,
    h(
      'form',
      { class: 'stack channel-form', on: { submit, input } },
      groups.map(({ name, element }) => h('fieldset', { class: 'stack' }, h('legend', {}, t(`channels.set.${name}`)), element)),
      note,
      h('div', { class: 'buttons' }, save),
    ),
  );
}

const orNull = (control) => control.value.trim() || null;
const text = (value, more = {}) => h('input', { value: value ?? '', autocomplete: 'off', maxlength: 128, ...more });
const lines = (control) =>
  control.value
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

function choice(name, values, value) {
  return h(
    'select',
    { value: value ?? '' },
    values.map((one) => h('option', { value: one }, t(`channels.${name}.${one || 'usual'}`))),
  );
}

/** The agent, what it remembers and where it works. */
function answering(settings, agents, models) {
  const agent = agentInput(agents, settings.agent);
  const workspace = text(settings.workspace, { class: 'mono' });
  const folder = text(settings.folder, { class: 'mono', maxlength: 4096 });
  const names = [...new Set([...(settings.model ? [settings.model] : []), ...(models ?? [])])];
  const model = h(
    'select',
    { value: settings.model ?? '' },
    h('option', { value: '' }, t('channels.model.usual')),
    names.map((one) => h('option', { value: one }, one)),
  );
  const instructions = h('textarea', { value: settings.instructions, rows: 4, maxlength: 20_000 });
  return {
    name: 'answering',
    element: [
      field(t('channels.agent'), agent.control, t('channels.agent.hint')),
      agent.list,
      field(t('channels.workspace'), workspace, t('channels.workspace.hint')),
      field(t('channels.folder'), folder, t('channels.folder.hint')),
      field(t('channels.model'), model),
      field(t('channels.instructions'), instructions, t('channels.instructions.hint')),
    ],
    get value() {
      return {
        agent: agent.control.value.trim(),
        workspace: orNull(workspace),
        folder: orNull(folder),
        model: orNull(model),
        instructions: instructions.value,
      };
    },
  };
}

/** Who is heard. In rooms of our own that is whoever is a member. */
function heard(settings, kind) {
  const allowed = h('textarea', { value: settings.allowed.join('\n'), rows: 3, class: 'mono', spellcheck: 'false' });
  const list = field(t('channels.allowed'), allowed, t(LOCAL.includes(kind) ? 'channels.allowed.hint.local' : 'channels.allowed.hint'));
  const guests = choice('guests', REACH, settings.guests);
  const reach = field(t('channels.guests'), guests, t('channels.guests.hint'));
  if (LOCAL.includes(kind))
    return {
      name: 'heard',
      element: [h('p', { class: 'soft small' }, t('channels.heard.members')), list, reach],
      get value() {
        return { allowed: lines(allowed), guests: guests.value };
      },
    };
  const groups = choice('group_policy', GROUPS, settings.group_policy);
  const senders = choice('senders', SENDERS, settings.senders);
  const listed = h('textarea', {
    value: Object.keys(settings.groups)
      .filter((chat) => chat !== '*')
      .join('\n'),
    rows: 3,
    class: 'mono',
    spellcheck: 'false',
  });
  const mention = h('input', { type: 'checkbox', checked: (settings.groups['*'] ?? { require_mention: true }).require_mention });
  return {
    name: 'heard',
    element: [
      field(t('channels.group_policy'), groups),
      field(t('channels.groups'), listed, t('channels.groups.hint')),
      h('label', { class: 'check' }, mention, ' ', t('channels.mention')),
      field(t('channels.senders'), senders),
      list,
      reach,
    ],
    get value() {
      return {
        group_policy: groups.value,
        senders: senders.value,
        allowed: lines(allowed),
        guests: guests.value,
        groups: groupsOf(settings, lines(listed), mention.checked),
      };
    },
  };
}

/** What groups had of their own stays; those that are not listed any more go. */
function groupsOf({ groups }, chats, isMention) {
  const others = { ...asSent(groups['*']), require_mention: isMention };
  const listed = chats.map((chat) => [chat, groups[chat] ? asSent(groups[chat]) : { require_mention: isMention }]);
  return Object.fromEntries([...listed, ...(isMention && !groups['*'] ? [] : [['*', others]])]);
}

/** As the door takes it: money is in dollars there. */
function asSent(group) {
  return group?.budget ? { ...group, budget: budgetOf(group.budget) } : { ...group };
}

const budgetOf = ({ micro_usd: micro, hours, tokens }) => ({ usd: micro ? micro / 1_000_000 : null, hours, tokens });

/** How it speaks, and in what order it answers. */
function conduct(settings) {
  const dispatch = choice('dispatch', DISPATCH, settings.dispatch);
  const route = choice('route', ROUTES, settings.route);
  const language = choice('language', LANGUAGES, settings.language);
  const blocks = h('input', { type: 'checkbox', checked: settings.blocks });
  return {
    name: 'conduct',
    element: [
      field(t('channels.dispatch'), dispatch, t('channels.dispatch.hint')),
      field(t('channels.route'), route),
      field(t('channels.language'), language, t('channels.language.hint')),
      h('label', { class: 'check' }, blocks, ' ', t('channels.blocks')),
    ],
    get value() {
      return { dispatch: dispatch.value || null, route: route.value, language: language.value || null, blocks: blocks.checked };
    },
  };
}

/** What a room may spend, and who decides what a tool may do. */
function spending(settings) {
  const { budget } = settings;
  const dollars = h('input', {
    type: 'number',
    min: '0.01',
    max: '1000000',
    step: '0.01',
    value: budget?.micro_usd ? String(budget.micro_usd / 1_000_000) : '',
  });
  const tokens = h('input', { type: 'number', min: '1', step: '1', value: budget?.tokens ? String(budget.tokens) : '' });
  const hours = h('input', { type: 'number', min: '1', max: '8784', step: '1', value: String(budget?.hours ?? 24) });
  const policy = choice('permissions', POLICIES, settings.permissions);
  const quorum = h('input', { type: 'number', min: '1', max: '1000', step: '1', value: settings.quorum ? String(settings.quorum) : '' });
  const votes = field(t('channels.quorum'), quorum, t('channels.quorum.hint'));
  const paint = () => {
    votes.hidden = policy.value !== 'consensus';
  };
  policy.addEventListener('change', paint);
  paint();
  return {
    name: 'limits',
    element: [
      field(t('channels.budget'), dollars, t('channels.budget.hint')),
      field(t('channels.budget.tokens'), tokens, t('channels.budget.tokens.hint')),
      field(t('channels.budget.hours'), hours),
      field(t('channels.permissions'), policy, t('channels.permissions.hint')),
      votes,
    ],
    get value() {
      return {
        budget:
          dollars.value || tokens.value
            ? { usd: Number(dollars.value) || null, hours: Number(hours.value || 24), tokens: Number(tokens.value) || null }
            : null,
        permissions: policy.value,
        quorum: quorum.value ? Number(quorum.value) : null,
      };
    },
  };
}

/** What the platform is given. Only the operator says where secrets are, and which server gets them. */
function platform(settings, guide) {
  if (!guide.fields.length) return null;
  if (!whoami().operator) return { name: 'platform', element: h('p', { class: 'soft' }, prose(t('channels.operator.text'))), value: {} };
  const given = platformFields(guide, settings);
  return {
    name: 'platform',
    element: [given.element, h('p', { class: 'small soft' }, prose(t('channels.secret.rule')))],
    get value() {
      return given.value;
    },
  };
}
