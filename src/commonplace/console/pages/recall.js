// The recall lab: what an agent would get for a question, and why. It asks the same routes as an agent does, and writes nothing.

import { get, post } from '../api.js';
import { address, complain, settle } from '../app.js';
import { fill, fresh, h, later, plain } from '../dom.js';
import { source, time, trust } from '../parts/badge.js';
import { scopes, scopesRead, scopesWritten } from '../parts/scopes.js';
import { shortcut } from '../parts/shortcuts.js';
import { toast } from '../parts/toast.js';
import { passage, scaleOf, scored, why } from '../parts/why.js';
import { named, number, t } from '../words.js';

const BELOW = 8;
const LIMIT = 10;
const BUDGET = 2000;
const MODES = ['hybrid', 'words', 'meaning'];
// Those that people turn, with how far; the rest is for the curious.
const FIRST = ['words', 'meaning', 'session', 'before', 'after', 'recency', 'pin', 'importance', 'copies'];
const RANGES = {
  half_life: [1, 365, 1],
  shortest: [1, 200, 1],
  terse: [1, 240, 1],
  coverage: [0, 1, 0.05],
  second: [0, 1, 0.05],
  further: [0, 1, 0.05],
  k1: [0, 3, 0.1],
};

export async function show(place, { query, signal }) {
  const lab = makeLab(query, signal);
  const results = makeResults();
  const block = makeBlock(lab);
  const weights = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  lab.onHits = (...given) => {
    results.paint(...given);
    block.remark();
  };
  lab.onBlock = (...given) => block.paint(...given);
  lab.onBusy = (busy) => results.element.setAttribute('aria-busy', String(busy));
  const question = makeQuestion(lab, signal);
  results.teach((text) => {
    question.say(text);
    lab.ask();
  });
  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.recall')), h('p', { class: 'soft lead' }, t('recall.lead'))),
    question.element,
    h(
      'div',
      { class: 'lab' },
      // Where there is no room beside the hits, the weights fold away above them.
      h(
        'details',
        { class: 'card weights', open: matchMedia('(min-width: 1021px)').matches },
        h('summary', {}, h('h2', {}, t('recall.weights'))),
        weights,
      ),
      results.element,
      block.element,
    ),
  );
  shortcut('/', t('frame.shortcuts.search'), () => question.box.focus(), signal);
  if (lab.asked.text) lab.ask();
  else question.box.focus();
  await dressWeights(weights, lab, signal);
}

/** What is asked, and the way to the answers. A newer question overtakes an older one. */
function makeLab(query, signal) {
  const asked = {
    text: query.q ?? '',
    scopes: scopesRead(query.scope),
    mode: MODES.includes(query.mode) ? query.mode : 'hybrid',
    limit: within(query.limit, 1, 50, LIMIT),
    at: query.at ?? '',
    budget: within(query.budget, 50, 8000, BUDGET),
    weights: readWeights(query.w),
  };
  const lab = { asked, onHits: () => {}, onBlock: () => {}, onBusy: () => {} };
  let plainly = null; // the hits by default weights, and for which question
  let running = null;
  let fitting = null;

  function body(weights) {
    const moment = asked.at ? new Date(asked.at) : null;
    return {
      text: asked.text,
      limit: asked.limit + BELOW,
      mode: asked.mode,
      weights,
      ...(asked.scopes.length ? { scopes: asked.scopes } : {}),
      ...(moment && !Number.isNaN(moment.valueOf()) ? { as_of: moment.toISOString() } : {}),
    };
  }

  async function byDefault(more) {
    const key = JSON.stringify(body({}));
    if (plainly?.key !== key) plainly = { key, hits: (await post('/v1/search', body({}), more)).hits };
    return plainly.hits;
  }

  async function hits() {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    const more = { signal: AbortSignal.any([signal, mine.signal]) };
    lab.onBusy(true);
    try {
      const turned = Object.keys(asked.weights).length > 0;
      const [before, now] = await Promise.all([byDefault(more), turned ? post('/v1/search', body(asked.weights), more) : null]);
      if (running === mine) lab.onHits(now?.hits ?? before, turned ? before : null, asked);
    } catch (error) {
      complain(error);
    } finally {
      if (running === mine) lab.onBusy(false);
    }
  }

  async function block() {
    fitting?.abort();
    const mine = new AbortController();
    fitting = mine;
    const wanted = { query: asked.text, budget: asked.budget, ...(asked.scopes.length ? { scopes: asked.scopes } : {}) };
    try {
      const answer = await post('/v1/context', wanted, { signal: AbortSignal.any([signal, mine.signal]) });
      if (fitting === mine) lab.onBlock(answer);
    } catch (error) {
      complain(error);
    }
  }

  const kept = () =>
    settle('recall', '', {
      q: asked.text,
      scope: scopesWritten(asked.scopes),
      mode: asked.mode === 'hybrid' ? '' : asked.mode,
      limit: asked.limit === LIMIT ? '' : asked.limit,
      at: asked.at,
      budget: asked.budget === BUDGET ? '' : asked.budget,
      w: Object.entries(asked.weights)
        .map((pair) => pair.join('~'))
        .join(','),
    });
  const when = (act) => () => {
    // A slider's last word may come when the page was just left: it must not bring its address back.
    if (signal.aborted || !location.hash.startsWith('#/recall')) return null;
    kept();
    if (asked.text.trim()) return act();
    for (const one of [running, fitting]) one?.abort();
    return lab.onHits(null, null, asked);
  };
  lab.ask = when(() => Promise.all([hits(), block()]));
  lab.turn = later(when(hits), 80);
  lab.fit = later(when(block), 80);
  return lab;
}

function within(text, low, high, otherwise) {
  const value = Number.parseInt(text, 10);
  return Number.isNaN(value) ? otherwise : Math.min(high, Math.max(low, value));
}

function readWeights(text = '') {
  const pairs = text
    .split(',')
    .map((one) => one.split('~'))
    .map(([name, value]) => [name, Number(value)]);
  return Object.fromEntries(pairs.filter(([name, value]) => name && Number.isFinite(value)));
}

// ---- the question

function makeQuestion(lab, signal) {
  const { asked } = lab;
  const [ask, mode, limit, at] = ['question', 'mode', 'limit', 'at'].map(fresh);
  const box = h('input', {
    id: ask,
    type: 'search',
    maxlength: 10000,
    value: asked.text,
    placeholder: t('recall.question.hint'),
    autocomplete: 'off',
    on: {
      input: () => {
        asked.text = box.value;
      },
    },
  });
  const changed = (name, read = (input) => input.value) => ({
    change: (event) => {
      asked[name] = read(event.target);
      lab.ask();
    },
  });
  const counted = (input) => {
    input.value = within(input.value, 1, 50, LIMIT);
    return Number(input.value);
  };
  const where = scopes({
    value: asked.scopes,
    signal,
    onChange: (list) => {
      asked.scopes = list;
      lab.ask();
    },
    words: { label: t('recall.scopes'), add: t('recall.scopes.add'), remove: (scope) => t('recall.scopes.remove', { scope }) },
  });
  const element = h(
    'form',
    {
      class: 'question card',
      role: 'search',
      on: {
        submit: (event) => {
          event.preventDefault();
          lab.ask();
        },
      },
    },
    h('label', { class: 'visually-hidden', for: ask }, t('recall.question')),
    h('div', { class: 'asking' }, box, h('button', { type: 'submit', class: 'primary' }, t('recall.ask'))),
    h(
      'div',
      { class: 'options-row' },
      h('div', { class: 'field places' }, h('span', { 'class': 'label', 'aria-hidden': 'true' }, t('recall.scopes')), where),
      h(
        'div',
        { class: 'field' },
        h('label', { for: mode }, t('recall.mode')),
        h(
          'select',
          { id: mode, value: asked.mode, on: changed('mode') },
          MODES.map((one) => h('option', { value: one }, t(`recall.mode.${one}`))),
        ),
      ),
      h(
        'div',
        { class: 'field narrow' },
        h('label', { for: limit }, t('recall.limit')),
        h('input', { id: limit, type: 'number', min: 1, max: 50, value: asked.limit, on: changed('limit', counted) }),
      ),
      h(
        'div',
        { class: 'field' },
        h('label', { for: at }, t('recall.at')),
        h('input', { id: at, type: 'datetime-local', value: asked.at, on: changed('at') }),
      ),
    ),
  );
  const say = (text) => {
    box.value = text;
    asked.text = text;
  };
  return { element, box, say };
}

// ---- the hits

function makeResults() {
  const said = h('p', { class: 'visually-hidden', role: 'status' });
  const list = h('div', { class: 'hits' });
  const element = h('section', { 'class': 'results', 'aria-label': t('recall.hits') }, said, list);
  let teaching = null;

  function paint(hits, before, asked) {
    if (hits === null) {
      fill(list, teaching);
      fill(said, '');
      return;
    }
    const stood = placesOf(list);
    const looked = document.activeElement?.closest('.hit')?.dataset.id;
    const scale = scaleOf(hits);
    const ranks = before && new Map(before.map((hit, index) => [hit.record.id, index]));
    const items = hits.map((hit, index) => hitItem(hit, index, scale, ranks));
    const moved = ranks ? hits.filter((hit, index) => ranks.get(hit.record.id) !== index).length : 0;
    const given = items.slice(0, asked.limit);
    const below = items.slice(asked.limit);
    fill(
      list,
      h(
        'h2',
        {},
        t('recall.hits'),
        h('small', { class: 'soft' }, ' ', t('recall.hits.count', given.length), ranks ? ` · ${t('recall.moved', moved)}` : ''),
      ),
      given.length ? h('ol', { 'aria-label': t('recall.hits') }, given) : h('p', { class: 'notice' }, t('recall.nothing')),
      below.length > 0 && [
        h('h3', { class: 'cut-line' }, h('span', {}, t('recall.cut', { limit: number(asked.limit) }))),
        h('ol', { 'class': 'below', 'start': asked.limit + 1, 'aria-label': t('recall.below') }, below),
      ],
    );
    fill(said, t('recall.hits.count', given.length), ranks ? ` ${t('recall.moved', moved)}` : '');
    glide(list, stood);
    // Whoever was at a hit stays with it, wherever it went.
    if (looked) list.querySelector(`.hit[data-id="${CSS.escape(looked)}"] a`)?.focus({ preventScroll: true });
  }

  const teach = (onPick) => {
    teaching = h(
      'div',
      { class: 'notice teaching' },
      h('h2', {}, t('recall.empty')),
      h('p', {}, t('recall.empty.how')),
      h('p', {}, t('recall.empty.turn')),
      h(
        'ul',
        { class: 'examples' },
        t('recall.examples').map((text) => h('li', {}, h('button', { type: 'button', on: { click: () => onPick(text) } }, text))),
      ),
      h('p', { class: 'soft small' }, t('recall.empty.safe')),
    );
    fill(list, teaching);
  };
  return { element, paint, teach };
}

function hitItem(hit, index, scale, ranks) {
  const { record } = hit;
  return h(
    'li',
    { class: 'hit card', data: { id: record.id } },
    h('div', { class: 'rank' }, h('b', {}, number(index + 1)), ranks && movement(ranks.get(record.id), index)),
    h(
      'div',
      { class: 'found' },
      h(
        'div',
        { class: 'top' },
        h(
          'div',
          { class: 'row' },
          h(
            'a',
            { class: record.key ? 'mono' : '', href: address('record', record.id) },
            record.key ? plain(record.key, 120) : [t('recall.open'), h('span', { class: 'visually-hidden' }, ' ', plain(record.text, 60))],
          ),
          h('span', { class: 'mono small soft' }, record.scope),
          source(record.source),
          trust(record.trust),
          record.pinned && h('span', { class: 'badge' }, t('frame.pinned')),
          h('span', { class: 'small soft' }, time(record.updated_at)),
        ),
        h(
          'span',
          { class: 'mono score', title: t('recall.score') },
          h('span', { class: 'visually-hidden' }, `${t('recall.score')} `),
          scored(hit),
        ),
      ),
      passage(hit),
      why(hit, scale, 'recall'),
    ),
  );
}

function movement(was, now) {
  if (was === undefined) return h('span', { class: 'move up' }, t('recall.move.new'));
  if (was === now) return h('span', { class: 'move soft' }, '=', h('span', { class: 'visually-hidden' }, t('recall.move.same')));
  const [sign, way] = was > now ? ['▲', 'up'] : ['▼', 'down'];
  const steps = Math.abs(was - now);
  return h(
    'span',
    { class: `move ${way}` },
    h('span', { 'aria-hidden': 'true' }, `${sign}${steps}`),
    h('span', { class: 'visually-hidden' }, t(`recall.move.${way}`, steps)),
  );
}

const placesOf = (list) => new Map([...list.querySelectorAll('.hit')].map((one) => [one.dataset.id, one.getBoundingClientRect().top]));

/** Let what changed its place be seen to go there. */
function glide(list, stood) {
  if (!stood.size || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  for (const one of list.querySelectorAll('.hit')) {
    const by = (stood.get(one.dataset.id) ?? one.getBoundingClientRect().top) - one.getBoundingClientRect().top;
    if (by) one.animate([{ transform: `translateY(${by}px)` }, { transform: 'none' }], { duration: 160, easing: 'ease-out' });
  }
}

// ---- the weights

async function dressWeights(element, lab, signal) {
  let known;
  try {
    ({ weights: known } = await get('/v1/weights', {}, { signal }));
  } catch (error) {
    if (error.name === 'AbortError') return;
    fill(element, h('p', { class: 'problem' }, t('frame.problem', { message: error.message })));
    return;
  }
  const first = FIRST.map((name) => known.find((one) => one.name === name)).filter(Boolean);
  const rest = known.filter((one) => !FIRST.includes(one.name));
  const sliders = known.map((one) => [
    one.name,
    slider(one, lab, () => {
      reset.disabled = !Object.keys(lab.asked.weights).length;
    }),
  ]);
  const found = Object.fromEntries(sliders);
  // What a weight means is told once, below, for the one that is looked at: the sliders stay close together.
  const means = h('p', { 'class': 'soft small means', 'aria-hidden': 'true' }, first[0] ? meaningOf(first[0]) : '');
  for (const one of known)
    for (const event of ['pointerenter', 'focusin']) found[one.name].element.addEventListener(event, () => fill(means, meaningOf(one)));
  const reset = h(
    'button',
    {
      type: 'button',
      class: 'quiet',
      disabled: !Object.keys(lab.asked.weights).length,
      on: {
        click: () => {
          lab.asked.weights = {};
          for (const [, one] of sliders) one.reset();
          reset.disabled = true;
          lab.turn();
        },
      },
    },
    t('recall.reset'),
  );
  fill(
    element,
    h('div', { class: 'row' }, h('p', { class: 'soft small grow' }, t('recall.weights.lead')), reset),
    first.map((one) => found[one.name].element),
    rest.length > 0 &&
      h(
        'details',
        { open: rest.some((one) => one.name in lab.asked.weights) },
        h('summary', {}, t('recall.weights.more')),
        rest.map((one) => found[one.name].element),
      ),
    means,
  );
}

/** In our own words; for a weight that we do not know yet, in the server's. */
function meaningOf({ name, meaning }) {
  const ours = named('recall.weight.means', name);
  return ours === name ? meaning : ours;
}

function slider({ name, default: usual, meaning }, lab, onTurn) {
  const id = fresh('weight');
  const [low, high, step] = RANGES[name] ?? [0, Math.max(2, usual * 4), 0.05];
  const value = lab.asked.weights[name] ?? usual;
  const told = h('output', { 'for': id, 'class': 'mono', 'aria-live': 'off' });
  const input = h('input', {
    id,
    'type': 'range',
    'min': low,
    'max': Math.max(high, value),
    step,
    'aria-describedby': `${id}-means`,
    'on': { input: turned },
  });
  // A range is cut to its limits as they stand when it is set.
  input.value = String(value);
  const element = h(
    'div',
    { class: 'weight' },
    h('label', { for: id }, named('recall.weight', name)),
    input,
    told,
    h('span', { id: `${id}-means`, class: 'visually-hidden' }, meaningOf({ name, meaning })),
  );

  function tell() {
    const now = Number(input.value);
    const turnedAway = Math.abs(now - usual) > 1e-9;
    element.classList.toggle('turned', turnedAway);
    fill(told, turnedAway ? now.toFixed(2) : String(usual));
    told.title = t('recall.weight.default', { usual: String(usual) });
    return turnedAway ? now : null;
  }

  function turned() {
    const now = tell();
    if (now === null) delete lab.asked.weights[name];
    else lab.asked.weights[name] = now;
    onTurn();
    lab.turn();
  }

  tell();
  return {
    element,
    reset: () => {
      input.value = String(usual);
      tell();
    },
  };
}

// ---- the block

function makeBlock(lab) {
  const { asked } = lab;
  const id = fresh('budget');
  const count = h('p', { class: 'small', role: 'status' });
  const meter = h('progress', { 'max': asked.budget, 'value': 0, 'aria-label': t('recall.block.used') });
  const text = h(
    'pre',
    { 'tabindex': '0', 'role': 'region', 'aria-label': t('recall.block.text'), 'class': 'block soft' },
    t('recall.block.none'),
  );
  const note = h('p', { class: 'small warn', hidden: true }, t('recall.block.plain'));
  const told = h('output', { 'for': id, 'class': 'mono', 'aria-live': 'off' }, number(asked.budget));
  let shown = '';
  const budget = h('input', {
    id,
    type: 'range',
    min: 50,
    max: 8000,
    step: 50,
    on: {
      input: () => {
        asked.budget = Number(budget.value);
        fill(told, number(asked.budget));
        lab.fit();
      },
    },
  });
  budget.value = String(asked.budget);
  const copy = h('button', { type: 'button', disabled: true, on: { click: () => copied(shown, text) } }, t('frame.copy'));
  const element = h(
    'section',
    { 'class': 'card beside', 'aria-label': t('recall.block') },
    h('div', { class: 'row' }, h('h2', { class: 'grow' }, t('recall.block')), copy),
    h('p', { class: 'soft small' }, t('recall.block.lead')),
    h('div', { class: 'weight' }, h('label', { for: id }, t('recall.budget')), budget, told),
    meter,
    count,
    note,
    text,
  );

  const remark = () => {
    note.hidden = asked.mode === 'hybrid' && !asked.at && !Object.keys(asked.weights).length;
  };

  function paint(answer) {
    shown = answer.text;
    meter.max = asked.budget;
    meter.value = answer.tokens;
    fill(
      count,
      t('recall.block.count', { tokens: number(answer.tokens), budget: number(asked.budget), records: number(answer.records.length) }),
      answer.left_out ? ` ${t('recall.block.left', answer.left_out)}` : '',
    );
    remark();
    text.classList.toggle('soft', !shown);
    fill(text, shown ? plain(shown) : t('recall.block.empty'));
    copy.disabled = !shown;
  }
  return { element, paint, remark };
}

async function copied(written, element) {
  try {
    await navigator.clipboard.writeText(written);
    toast(t('frame.copied'));
  } catch {
    // Without a secure context there is no clipboard: at least it is selected.
    getSelection().selectAllChildren(element);
  }
}
