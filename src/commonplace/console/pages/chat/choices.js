// With whom a new conversation is, and about which workspace.

import { get } from '../../api.js';
import { fill, h } from '../../dom.js';
import { field } from '../../parts/form.js';
import { showError } from '../../problems.js';
import { whoami } from '../../session.js';
import { t } from '../../words.js';

const ASSISTANT = 'assistant';

/** { element, offer({ agents }, { agent, workspace }), value }: `value` is what a session begins with. */
export function choices(signal) {
  const agent = h('select', {}, h('option', { value: ASSISTANT }, ASSISTANT));
  const workspace = h('select', {}, h('option', { value: '' }, t('chat.workspace.none')));
  const folder = h('input', { maxlength: 4096, autocomplete: 'off', spellcheck: 'false', class: 'mono', placeholder: '/srv/web' });
  const element = h(
    'div',
    { class: 'chat-choices' },
    field(t('chat.agent'), agent),
    field(t('chat.workspace'), workspace, t('chat.workspace.hint')),
    field(t('chat.folder'), folder, t(whoami().operator ? 'chat.folder.hint' : 'chat.folder.below')),
  );

  async function offer({ agents }, wanted) {
    const names = new Map([[ASSISTANT, ASSISTANT], ...agents.map(({ id, name }) => [id, name])]);
    fill(
      agent,
      [...names].map(([id, name]) => h('option', { value: id }, name === id ? id : `${name} (${id})`)),
    );
    agent.value = names.has(wanted.agent) ? wanted.agent : ASSISTANT;
    try {
      const { workspaces } = await get('/v1/workspaces', {}, { signal });
      fill(
        workspace,
        h('option', { value: '' }, t('chat.workspace.none')),
        workspaces.map(({ id, name }) => h('option', { value: id }, name === id ? id : `${name} (${id})`)),
      );
      workspace.value = workspaces.some(({ id }) => id === wanted.workspace) ? wanted.workspace : '';
    } catch (error) {
      showError(error);
    }
  }

  return {
    element,
    offer,
    get value() {
      return { agent: agent.value, workspace: workspace.value || null, folder: folder.value.trim() || null };
    },
  };
}
