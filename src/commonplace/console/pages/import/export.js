// All memories as one file, and such a file read again.

import { post, written } from '../../api.js';
import { fill, h } from '../../dom.js';
import { everyoneSwitch } from '../../parts/everyone.js';
import { chooser } from '../../parts/files.js';
import { scopes } from '../../parts/scopes.js';
import { size, t } from '../../words.js';
import { fact, failed } from './outcome.js';

export function makeExport(signal) {
  const link = h('a', { class: 'button', download: 'commonplace.jsonl', href: '/v1/export' }, t('import.export.go'));
  const asked = { scope: [], everyone: false };
  const change = (changes) => {
    const { scope, everyone } = Object.assign(asked, changes);
    link.setAttribute('href', `/v1/export${written({ scope, everyone: everyone && !scope.length ? 'true' : '' })}`);
    all.paint({ isOn: everyone, hasScope: scope.length > 0 });
  };
  const all = everyoneSwitch((everyone) => change({ everyone }));
  all.paint({ isOn: false, hasScope: false });
  const where = scopes({
    signal,
    onChange: (scope) => change({ scope }),
    words: { label: t('import.export.scopes'), add: t('import.export.add'), remove: (scope) => t('import.export.remove', { scope }) },
  });
  return h(
    'section',
    { 'class': 'card stack', 'aria-label': t('import.export') },
    h('h2', {}, t('import.export')),
    h('p', { class: 'soft' }, t('import.export.lead')),
    where,
    all.element,
    all.note,
    h('div', { class: 'row' }, link),
  );
}

export function makeLoad(signal) {
  let file = null;
  const outcome = h('div', { 'class': 'outcome', 'aria-live': 'polite' });
  const name = h('span', { 'class': 'mono small', 'aria-live': 'polite' });
  const choose = chooser(t('import.load.file'), { accept: '.jsonl,.ndjson' }, ([picked]) => {
    file = picked ?? null;
    go.disabled = !file;
    fill(name, file ? `${file.name} · ${size(file.size)}` : '');
    fill(outcome);
  });
  const go = h('button', { type: 'submit', disabled: true }, t('import.load.go'));
  async function start(event) {
    event.preventDefault();
    go.disabled = true;
    fill(outcome, h('p', {}, t('import.load.doing')), h('progress', { 'aria-label': t('import.progress') }));
    try {
      const loaded = await post('/v1/load', file, { signal, headers: { 'Content-Type': 'application/x-ndjson' } });
      fill(
        outcome,
        h('h3', {}, t('import.load.done')),
        h(
          'dl',
          { class: 'facts' },
          ['records', 'created', 'updated', 'unchanged'].map((one) => fact(`import.load.${one}`, loaded[one])),
        ),
      );
    } catch (error) {
      failed(outcome, error);
    }
    go.disabled = false;
  }
  return h(
    'section',
    { 'class': 'card', 'aria-label': t('import.load') },
    h(
      'form',
      { class: 'stack', on: { submit: start } },
      h('h2', {}, t('import.load')),
      h('p', { class: 'soft' }, t('import.load.lead')),
      h('div', { class: 'row' }, choose, name),
      h('div', { class: 'row' }, go),
      outcome,
    ),
  );
}
