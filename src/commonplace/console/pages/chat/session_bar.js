// How a session is set and who is in it: whose it is, with what it was opened, who listens, in which mode its agent works.

import { fill, h, plain } from '../../dom.js';
import { whoami } from '../../session.js';
import { lookup, named, t } from '../../words.js';

/** `onMode(mode)` sets it; whoever may not sees it only. */
export function sessionBar({ onMode }) {
  const facts = h('span', { class: 'row' });
  const mode = h('select', { 'class': 'chat-mode', 'aria-label': t('chat.mode'), 'on': { change: () => onMode(mode.value) } });
  const fixed = h('span', {});
  const label = h('span', { class: 'row' }, h('span', { 'aria-hidden': 'true' }, t('chat.mode')), mode);
  const element = h('div', { class: 'session-bar row small soft', hidden: true }, facts, h('span', { class: 'grow' }), label, fixed);
  const nameOf = ({ id, name }) => lookup(`chat.mode.${id}`) ?? name;

  return {
    element,
    /** `maySet`: this person changes how the session works. */
    show(session, state, maySet) {
      element.hidden = false;
      fill(
        facts,
        h('span', { class: 'badge' }, named('chat.source', session.source)),
        session.shared && h('span', { class: 'badge' }, t('chat.shared', { workspace: session.workspace })),
        session.owner !== whoami().subject && h('span', {}, t('chat.of', { owner: session.owner })),
        h('span', {}, t('chat.listeners', state.listeners)),
      );
      const { modes } = state.options;
      label.hidden = !maySet;
      fixed.hidden = maySet;
      const now = modes.find(({ id }) => id === state.options.mode);
      fill(fixed, t('chat.mode'), ': ', plain(now ? nameOf(now) : state.options.mode, 60));
      fill(
        mode,
        modes.map((one) => h('option', { value: one.id, title: one.description || null }, nameOf(one))),
      );
      mode.value = state.options.mode;
    },
  };
}
