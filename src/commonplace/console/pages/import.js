// Memories in and out: files of this computer or of the server, what became of earlier imports, exports.

import { fill, h } from '../dom.js';
import { may } from '../session.js';
import { t } from '../words.js';
import { makeImport } from './import/bringing.js';
import { makeExport, makeLoad } from './import/export.js';
import { makePast } from './import/past.js';

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
