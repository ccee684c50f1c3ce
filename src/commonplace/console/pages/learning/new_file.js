// A new file of memory: its name, what it is about, and where it goes.

import { Problem, put } from '../../api.js';
import { h } from '../../dom.js';
import { field, form } from '../../parts/form.js';
import { named, t } from '../../words.js';

const TYPES = ['user', 'feedback', 'project', 'reference'];
const HOME = { user: 'user', feedback: 'user', project: 'project', reference: 'project' };

/** Ask for a new file. Answers it as the server has it, or null. */
export function createFile(roots) {
  const some = roots.map((one) => one.root);
  const name = h('input', { required: true, maxlength: 120, autocomplete: 'off' });
  const description = h('input', { maxlength: 300, autocomplete: 'off' });
  const type = h(
    'select',
    { value: 'project' },
    TYPES.map((one) => h('option', { value: one }, named('learning.type', one))),
  );
  const root = h(
    'select',
    { value: some.includes('project') ? 'project' : some[0] },
    some.map((one) => h('option', { value: one }, t(`learning.root.${one}`))),
  );
  const path = h('input', { class: 'mono', required: true, maxlength: 255, autocomplete: 'off', spellcheck: 'false', pattern: '.+\\.md' });
  const text = h('textarea', { rows: 6, required: true });
  let own = false;

  // The path follows the name until somebody writes one.
  const follow = () => {
    if (!own) path.value = name.value.trim() ? `${type.value}/${slug(name.value)}.md` : '';
  };
  name.addEventListener('input', follow);
  path.addEventListener('input', () => {
    own = path.value !== '';
  });
  type.addEventListener('change', () => {
    if (some.includes(HOME[type.value])) root.value = HOME[type.value];
    follow();
  });

  const act = async () => {
    const where = path.value.trim().split('/').map(encodeURIComponent).join('/');
    try {
      const { file } = await put(`/v1/managed/${root.value}/${where}`, { text: written() }, { headers: { 'If-None-Match': '*' } });
      return file;
    } catch (error) {
      if (error.code === 'file_precondition_failed') throw new Problem(error.status, error.code, t('learning.new.taken'));
      throw error;
    }
  };

  function written() {
    const body = text.value.trim();
    const fields = {
      name: name.value.trim(),
      description: description.value.trim() || body.split('\n')[0].slice(0, 300),
      type: type.value,
    };
    return ['---', ...Object.entries(fields).map(([key, value]) => `${key}: ${JSON.stringify(value)}`), '---', body, ''].join('\n');
  }

  return form(
    t('learning.new'),
    [
      field(t('learning.new.name'), name),
      h('div', { class: 'columns' }, field(t('learning.new.type'), type), field(t('learning.whose'), root)),
      field(t('learning.new.description'), description),
      field(t('learning.new.text'), text),
      field(t('learning.new.path'), path, t('learning.new.path.hint')),
    ],
    { label: t('learning.new.do'), act, focus: name },
  );
}

const slug = (text) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60) || 'note';
