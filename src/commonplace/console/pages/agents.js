// Agents: who they are, which model speaks for them, and what they may do.

import { get, patch, post, remove } from '../api.js';
import { fill, h, plain } from '../dom.js';
import { time } from '../parts/badge.js';
import { confirm } from '../parts/dialog.js';
import { shortcut } from '../parts/shortcuts.js';
import { toast } from '../parts/toast.js';
import { errorNotice, showError } from '../problems.js';
import { address } from '../router.js';
import { may } from '../session.js';
import { NEW } from '../text/agent_profile.js';
import { t } from '../words.js';
import { agentForm } from './agents/form.js';

const pathOf = (id) => `/v1/agents/${encodeURIComponent(id)}`;

export async function show(place, { signal }) {
  const list = new AgentList(signal);
  const add = may('writer') && h('button', { type: 'button', class: 'primary', on: { click: () => list.create() } }, t('agents.new'));
  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.agents')), h('span', { class: 'grow' }), add),
    h('p', { class: 'soft' }, t('agents.lead')),
    list.element,
  );
  if (may('writer')) shortcut('n', t('agents.new'), () => list.create(), signal);
  await list.load();
}

class AgentList {
  element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  #signal;
  #models = [];

  constructor(signal) {
    this.#signal = signal;
  }

  async load() {
    try {
      const { agents, models } = await get('/v1/agents', {}, { signal: this.#signal });
      this.#models = models;
      fill(
        this.element,
        agents.length
          ? h(
              'ul',
              { 'class': 'agent-list', 'aria-label': t('frame.agents') },
              agents.map((agent) => this.#row(agent)),
            )
          : h('p', { class: 'notice' }, t('agents.none')),
      );
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.element, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
    }
  }

  async create() {
    const made = await agentForm(null, this.#models, (body) => post('/v1/agents', body));
    if (!made) return;
    toast(t('agents.made', { name: made.name }));
    await this.load();
  }

  async #edit(agent) {
    const changed = await agentForm(agent, this.#models, (body) => patch(pathOf(agent.id), body));
    if (!changed) return;
    toast(t('agents.changed', { name: changed.name }));
    await this.load();
  }

  async #remove(agent) {
    const title = t('agents.remove.title', { name: agent.name });
    if (!(await confirm(title, t('agents.remove.text'), { label: t('agents.remove'), danger: true }))) return;
    try {
      const { records } = await remove(pathOf(agent.id), {}, { signal: this.#signal });
      toast(t('agents.removed', records));
      await this.load();
    } catch (error) {
      showError(error);
    }
  }

  #row(agent) {
    const profile = agent.profile ?? NEW;
    const tools = profile.tools === null ? t('agents.tools.all') : t('agents.tools.count', profile.tools.length);
    return h(
      'li',
      { class: 'card' },
      h('div', { class: 'row' }, h('h2', {}, plain(agent.name, 120)), h('code', { class: 'soft' }, plain(agent.id, 128))),
      h(
        'p',
        { class: 'text clamp' },
        profile.persona ? plain(profile.persona, 400) : h('span', { class: 'soft' }, t('agents.persona.none')),
      ),
      h(
        'div',
        { class: 'row small soft' },
        h('span', {}, plain(profile.model ?? t('agents.model.usual'), 120)),
        h('span', { class: 'badge' }, t(`agents.approval.${profile.approval}`)),
        h('span', {}, tools),
        h('span', { class: agent.memory_enabled ? 'good' : '' }, t(agent.memory_enabled ? 'agents.memory.on' : 'agents.memory.off')),
        time(agent.updated_at),
      ),
      h(
        'div',
        { class: 'row agent-buttons' },
        may('writer') && h('a', { class: 'button', href: address('chat', '', { agent: agent.id }) }, t('agents.talk')),
        h('a', { class: 'button', href: address('memory', `agent:${agent.id}`) }, t('agents.remembers')),
        may('writer') && h('button', { type: 'button', on: { click: () => this.#edit(agent) } }, t('agents.edit')),
        may('writer') && h('button', { type: 'button', class: 'quiet', on: { click: () => this.#remove(agent) } }, t('agents.remove')),
      ),
    );
  }
}
