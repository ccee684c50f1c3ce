// What runs found out: the spaces, their findings, how fresh each is; and whether a run would build on it.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { replaceAddress } from '../router.js';
import { may } from '../session.js';
import { named, number, t } from '../words.js';
import { preflight } from './knowledge/preflight.js';
import { desk } from './review/desk.js';
import { approve, deprecate, detail, isStale, lines, loadFindings, promote, refresh, removeFindings, spaceName } from './review/finding.js';

const MOST = 1_000;
const STATUSES = ['working', 'promoted', 'approved_default', 'deprecated'];
const FRESHNESS = ['fresh', 'stale'];
const LIVE = ['working', 'promoted', 'approved_default'];
/** From which statuses each can be done, and who may. Whoever may not promote by themselves asks for an approval. */
const ACTIONS = {
  promote: { role: 'writer', from: ['working'], key: 'a', kind: 'primary', act: promote },
  approve: { role: 'reviewer', from: ['promoted'], kind: 'primary', act: approve },
  refresh: { role: 'reviewer', from: LIVE, key: 'f', act: refresh },
  deprecate: { role: 'reviewer', from: LIVE, key: 'r', kind: 'danger', act: deprecate },
  remove: { role: 'admin', from: STATUSES, kind: 'danger', act: removeFindings },
};

export async function show(place, { query, signal }) {
  const view = {
    space: query.space ?? '',
    status: STATUSES.includes(query.status) ? query.status : '',
    fresh: FRESHNESS.includes(query.fresh) ? query.fresh : '',
  };
  const list = findings(view, signal);
  const bar = filters(view, () => {
    replaceAddress('knowledge', '', view);
    list.reload();
  });
  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.knowledge'))),
    h('p', { class: 'soft' }, t('knowledge.lead')),
    preflight(signal),
    bar.element,
    list,
  );
  await bar.load(signal);
}

function findings(view, signal) {
  const actions = Object.entries(ACTIONS)
    .filter(([, { role }]) => may(role))
    .map(([name, action]) => ({
      ...action,
      name,
      label: t(`review.${name}`),
      // It stays in the list, with another status.
      act: async (many) => {
        if (await action.act(many)) list.reload();
        return null;
      },
    }));
  const list = desk({
    label: t('knowledge.findings'),
    empty: () => t(view.space || view.status || view.fresh ? 'knowledge.nothing' : 'knowledge.none'),
    load: async (_, until) => ({ rows: await load(view, until), cursor: null }),
    lines,
    detail,
    signal,
    actions,
    fits: ({ from }, one) => from.includes(one.status),
    note: (rows) => rows.length >= MOST && h('span', { class: 'soft small' }, t('review.knowledge.newest', { count: number(MOST) })),
  });
  return list;
}

async function load({ space, status, fresh }, signal) {
  const found = await loadFindings({ space, status: status || STATUSES, limit: MOST }, signal);
  return fresh ? found.filter((one) => isStale(one) === (fresh === 'stale')) : found;
}

function filters(view, onChange) {
  const about = h('p', { class: 'soft small', hidden: true });
  let spaces = [];
  const choice = (name, options) => {
    const change = (event) => {
      view[name] = event.target.value;
      paint();
      onChange();
    };
    const all = h('option', { value: '' }, t(`knowledge.${name}.all`));
    return h('select', { 'aria-label': t(`knowledge.${name}`), 'value': view[name], 'on': { change } }, all, options);
  };
  const option = (value, text) => h('option', { value }, text);
  const space = choice('space', []);
  const status = choice(
    'status',
    STATUSES.map((one) => option(one, named('review.status.short', one))),
  );
  const fresh = choice(
    'fresh',
    FRESHNESS.map((one) => option(one, t(`knowledge.fresh.${one}`))),
  );

  /** Whose the chosen space is. */
  function paint() {
    const chosen = spaces.find(({ id }) => id === view.space);
    about.hidden = !chosen;
    fill(about, chosen && t(`knowledge.space.${chosen.scope}`, { name: chosen.project ?? chosen.run, namespace: chosen.namespace }));
  }

  async function fetchSpaces(signal) {
    spaces = (await get('/v1/knowledge/spaces', {}, { signal })).spaces;
    space.append(...spaces.map((one) => option(one.id, spaceName(one).slice(0, 80))));
    space.value = view.space;
    paint();
  }

  return { element: h('div', {}, h('div', { class: 'filters' }, space, status, fresh), about), load: fetchSpaces };
}
