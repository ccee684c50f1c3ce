// Memories in and out: files of this computer or of the server, what became of earlier imports, exports.

import { fill, fresh, h } from '../dom.js';
import { picker } from '../parts/picker.js';
import { may } from '../session.js';
import { t } from '../words.js';
import { makeExport, makeLoad } from './import/export.js';
import { makePast } from './import/past.js';
import { makePath } from './import/path.js';
import { makeUpload } from './import/upload.js';

const FORMATS = ['directory', 'openclaw'];

export async function show(place, { signal, query }) {
  const past = makePast(signal);
  fill(
    place,
    h('div', { class: 'page-head' }, h('h1', {}, t('frame.import'))),
    may('writer') ? makeImport(signal, past, query.scope ?? '') : h('p', { class: 'notice' }, t('import.may-not')),
    past.element,
    h('div', { class: 'columns' }, makeExport(signal), may('admin') && makeLoad(signal)),
  );
  await past.reload();
}

/** Where they go and what they are, then files of this computer or a path of the server. */
function makeImport(signal, past, scope) {
  const task = { scope, format: 'directory' };
  const format = fresh('format');
  const listeners = new Set();
  const pick = (picked) => {
    task.scope = picked;
    for (const listener of listeners) listener();
  };
  const where = picker({ value: scope, all: false, anew: true, label: t('import.scope'), signal, onPick: pick });
  const outcome = h('div', { class: 'outcome' });
  const work = { task, signal, past, outcome, onTask: (listener) => listeners.add(listener) };
  return h(
    'section',
    { 'class': 'card', 'aria-label': t('import.bring') },
    h('h2', {}, t('import.bring')),
    h('p', { class: 'soft' }, t('import.lead')),
    h(
      'div',
      { class: 'where' },
      h(
        'div',
        { class: 'field' },
        h('span', { 'class': 'label', 'aria-hidden': 'true' }, t('import.scope')),
        where,
        h('small', { class: 'soft' }, t('import.scope.hint')),
      ),
      h(
        'div',
        { class: 'field' },
        h('label', { for: format }, t('import.format')),
        h(
          'select',
          {
            id: format,
            on: {
              change: (event) => {
                task.format = event.target.value;
              },
            },
          },
          FORMATS.map((one) => h('option', { value: one }, t(`import.format.${one}`))),
        ),
      ),
    ),
    makeUpload(work),
    outcome,
    makePath(work),
  );
}
