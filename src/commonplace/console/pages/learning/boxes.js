// A box for each thing that can be asked for, and what becomes of it while one watches.

import { post } from '../../api.js';
import { fill, fresh, h } from '../../dom.js';
import { confirm } from '../../parts/dialog.js';
import { named, t, trouble } from '../../words.js';
import { failure, outcome } from './task.js';

/** `element`, and `tell(tasks)`, which is told how all tasks stand and shows how those asked for here do. */
export function boxes({ signal, refresh }) {
  const made = {
    remember: box('remember', h('textarea', { rows: 3, required: true, maxlength: 65536 }), 'content'),
    forget: box('forget', h('input', { required: true, maxlength: 2000, autocomplete: 'off' }), 'query'),
    dream: box('dream', null, null),
  };

  function box(kind, text, name) {
    const told = h('div', { class: 'learning-told', role: 'status' });
    const whose =
      text &&
      h(
        'select',
        {},
        ['', 'user', 'project'].map((one) => h('option', { value: one }, t(`learning.whose.${one}`))),
      );
    const go = h('button', { type: 'submit', class: kind === 'remember' ? 'primary' : '' }, t(`learning.${kind}.do`));
    const state = { kind, id: null, told, shown: '' };
    const submit = async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      if (kind === 'forget' && !(await isSure(text.value))) return;
      go.disabled = true;
      fill(told, h('span', { class: 'soft' }, t('learning.now.queued')));
      try {
        const body = text ? { [name]: text.value, ...(whose.value ? { scope: whose.value } : {}) } : undefined;
        const task = await post(`/v1/${kind}`, body, { signal });
        Object.assign(state, { id: task.id, shown: '' });
        if (text) text.value = '';
        refresh();
      } catch (error) {
        // What was typed stays.
        if (error.name !== 'AbortError') fill(told, h('p', { class: 'problem', role: 'alert' }, message(error)));
      } finally {
        go.disabled = false;
      }
    };
    const labelled = (control, words) => {
      control.id = fresh('box');
      return [h('label', { for: control.id }, words), control];
    };
    state.element = h(
      'form',
      { 'class': 'card stack', 'aria-label': t(`learning.${kind}`), 'on': { submit } },
      h('h2', {}, t(`learning.${kind}`)),
      h('p', { class: 'soft small' }, t(`learning.${kind}.hint`)),
      text && labelled(text, t(`learning.${kind}.label`)),
      whose && labelled(whose, t('learning.whose')),
      h('div', { class: 'row learning-go' }, go),
      told,
    );
    return state;
  }

  function tell(tasks) {
    for (const one of Object.values(made)) {
      if (!one.id) continue;
      const task = tasks.find((other) => other.id === one.id);
      const state = task?.state ?? 'gone';
      // A screen reader says it when it changes, not at each look.
      const written = `${state} ${task?.updated_at}`;
      if (written === one.shown) continue;
      one.shown = written;
      fill(
        one.told,
        h('strong', { class: state === 'failed' ? 'problem' : state === 'done' ? 'good' : 'soft' }, t(`learning.now.${state}`)),
        ' ',
        state === 'done' ? outcome(task) : task?.error && failure(task.error),
      );
      if (state === 'done' || state === 'gone') one.id = null;
    }
  }

  return {
    element: h(
      'div',
      { class: 'columns learning-boxes' },
      Object.values(made).map((one) => one.element),
    ),
    tell,
  };
}

const isSure = (what) =>
  confirm(t('learning.forget'), t('learning.forget.ask', { what }), { label: t('learning.forget.do'), danger: true });

const message = (error) =>
  named('learning.error', error.code) === error.code
    ? trouble(error)
    : t('frame.problem', { message: named('learning.error', error.code) });
