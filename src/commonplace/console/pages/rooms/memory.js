// What a room remembers, in a dialog: its lines, with who said them.

import { get, post } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { dialog } from '../../parts/dialog.js';
import { field, form } from '../../parts/form.js';
import { showError } from '../../problems.js';
import { may } from '../../session.js';
import { t } from '../../words.js';
import { roomPath } from './paths.js';

const BY = ' — ';

/** What a line says, without who said it. */
const claimOf = (line) => (line.includes(BY) ? line.slice(0, line.lastIndexOf(BY)) : line);

export function showMemory(id, signal) {
  const list = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  const box = h('input', { 'required': true, 'maxlength': 4000, 'autocomplete': 'off', 'aria-label': t('rooms.memory.line') });
  const submit = async (event) => {
    event.preventDefault();
    try {
      const { lines } = await post(roomPath(id, '/memory'), { content: box.value });
      box.value = '';
      paint(lines);
    } catch (error) {
      showError(error);
    }
  };
  const forget = async (line) => {
    try {
      paint((await post(roomPath(id, '/memory/forget'), { line })).lines);
    } catch (error) {
      showError(error);
    }
  };
  const edit = async (line) => {
    const text = h('input', { required: true, maxlength: 4000, autocomplete: 'off', value: claimOf(line) });
    const act = () => post(roomPath(id, '/memory/correct'), { line, text: text.value });
    try {
      const done = await form(t('rooms.memory.edit.title'), [field(t('rooms.memory.edit.text'), text)], {
        label: t('rooms.memory.edit.do'),
        act,
      });
      if (done) paint(done.lines);
    } catch (error) {
      showError(error);
    }
  };
  const paint = (lines) => {
    const row = (line) => {
      const button = (name, click) => h('button', { type: 'button', class: 'quiet small', on: { click } }, t(`rooms.memory.${name}`));
      const change = may('writer') && [button('edit', () => edit(line)), ' ', button('forget', () => forget(line))];
      return h('li', {}, plain(line, 2000), ' ', change);
    };
    fill(list, lines.length ? h('ul', { class: 'room-memory' }, lines.map(row)) : h('p', { class: 'soft' }, t('rooms.memory.none')));
  };
  const add =
    may('writer') &&
    h('form', { class: 'row room-memory-add', on: { submit } }, box, h('button', { type: 'submit' }, t('rooms.memory.add')));
  dialog(t('rooms.memory'), h('div', { class: 'stack' }, h('p', { class: 'soft' }, t('rooms.memory.text')), list, add), { wide: true });
  get(roomPath(id, '/memory'), {}, { signal }).then(({ lines }) => paint(lines), showError);
}
