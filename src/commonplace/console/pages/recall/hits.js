// The hits: why each was found, what would come next below the line, and who moved when a weight was turned.

import { fill, h, plain } from '../../dom.js';
import { relevance, source, time, trust } from '../../parts/badge.js';
import { passage, scaleOf, scored, why } from '../../parts/why.js';
import { address } from '../../router.js';
import { titleOf } from '../../text/title.js';
import { number, t } from '../../words.js';

export function makeResults() {
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
    const isGiven = (_, index) => hits[index].relevant && index < asked.limit;
    const given = items.filter(isGiven);
    const unlikely = items.filter((_, index) => !hits[index].relevant);
    const below = items.filter((_, index) => hits[index].relevant && index >= asked.limit);
    fill(
      list,
      h(
        'h2',
        {},
        t('recall.hits'),
        h('small', { class: 'soft' }, ' ', t('recall.hits.count', given.length), ranks ? ` · ${t('recall.moved', moved)}` : ''),
      ),
      given.length ? h('ol', { 'aria-label': t('recall.hits') }, given) : noAnswer(hits.length),
      below.length > 0 && [
        h('h3', { class: 'cut-line' }, h('span', {}, t('recall.cut', { limit: number(asked.limit) }))),
        h('ol', { 'class': 'below', 'start': asked.limit + 1, 'aria-label': t('recall.below') }, below),
      ],
      unlikely.length > 0 && nearest(unlikely, given.length > 0),
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

const noAnswer = (count) => h('p', { class: 'notice' }, t(count ? 'frame.no-answer' : 'recall.nothing'));

/** What is not likely enough: to be seen beside an answer, and on request where there is none. */
const nearest = (items, isOpen) =>
  h(
    'details',
    { class: 'nearest', open: isOpen },
    h('summary', {}, t(isOpen ? 'recall.unlikely' : 'frame.no-answer.nearest', items.length)),
    h('ol', { 'class': 'below', 'aria-label': t('recall.unlikely.list') }, items),
  );

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
            { class: titleOf(record) ? 'mono' : '', href: address('record', record.id) },
            titleOf(record)
              ? plain(titleOf(record), 120)
              : [t('recall.open'), h('span', { class: 'visually-hidden' }, ' ', plain(record.text, 60))],
          ),
          h('span', { class: 'mono small soft' }, record.scope),
          relevance(hit.relevance),
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
      others(hit.contradicted_by, 'recall.contradicted', 'contradicted'),
      others(hit.evidence, 'recall.evidence', 'evidence soft'),
      why(hit, scale, 'recall'),
    ),
  );
}

/** Other memories that a hit names, each to be opened. */
const others = (ids, words, name) =>
  ids?.length > 0 &&
  h(
    'p',
    { class: `small ${name}` },
    t(words, ids.length),
    ids.map((id, index) => [
      ' ',
      h('a', { 'href': address('record', id), 'aria-label': t('recall.other', { n: number(index + 1) }) }, number(index + 1)),
    ]),
  );

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
