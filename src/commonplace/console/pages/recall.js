// The recall lab: what an agent would get for a question, and why. It asks the same routes as an agent does, and writes nothing.

import { fill, h } from '../dom.js';
import { shortcut } from '../parts/shortcuts.js';
import { t } from '../words.js';
import { makeBlock } from './recall/block.js';
import { makeResults } from './recall/hits.js';
import { makeLab } from './recall/lab.js';
import { makeQuestion } from './recall/question.js';
import { dressWeights } from './recall/weights.js';

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
