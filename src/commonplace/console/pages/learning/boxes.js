// A box for each thing that can be asked for, and what becomes of it while one watches.

import { post } from '../../api.js';
import { fill, fresh, h } from '../../dom.js';
import { confirm } from '../../parts/dialog.js';
import { errorNotice } from '../../problems.js';
import { named, t } from '../../words.js';
import { failure, outcome } from './task.js';

/** `element`, and `update(tasks)`, which takes how all tasks stand and shows how those asked for here do. */
export function boxes({ signal, refresh }) {
  const all = [
    new TaskBox('remember', h('textarea', { rows: 3, required: true, maxlength: 65536 }), 'content'),
    new TaskBox('forget', h('input', { required: true, maxlength: 2000, autocomplete: 'off' }), 'query'),
    new TaskBox('dream'),
  ];
  const element = h(
    'div',
    { class: 'columns learning-boxes' },
    all.map((box) => box.build({ signal, refresh })),
  );
  return { element, update: (tasks) => all.forEach((box) => box.update(tasks)) };
}

class TaskBox {
  #kind;
  #text; // the input, or null
  #name; // of its value in the request
  #whose;
  #submit;
  #status = h('div', { class: 'learning-told', role: 'status' });
  #id = null; // of the task that was asked for last
  #state = ''; // what the status says

  constructor(kind, text = null, name = null) {
    this.#kind = kind;
    this.#text = text;
    this.#name = name;
    const options = ['', 'user', 'project'].map((value) => h('option', { value }, t(`learning.whose.${value}`)));
    this.#whose = text && h('select', {}, options);
    this.#submit = h('button', { type: 'submit', class: kind === 'remember' ? 'primary' : '' }, t(`learning.${kind}.do`));
  }

  build({ signal, refresh }) {
    const kind = this.#kind;
    const submit = async (event) => {
      event.preventDefault();
      if (kind === 'forget' && !(await isSure(this.#text.value))) return;
      this.#send(signal).then((isSent) => isSent && refresh());
    };
    return h(
      'form',
      { 'class': 'card stack', 'aria-label': t(`learning.${kind}`), 'on': { submit } },
      h('h2', {}, t(`learning.${kind}`)),
      h('p', { class: 'soft small' }, t(`learning.${kind}.hint`)),
      this.#text && labelled(this.#text, t(`learning.${kind}.label`)),
      this.#whose && labelled(this.#whose, t('learning.whose')),
      h('div', { class: 'row learning-go' }, this.#submit),
      this.#status,
    );
  }

  /** Whether the server took it. What was typed stays if not. */
  async #send(signal) {
    if (this.#submit.disabled) return false;
    this.#submit.disabled = true;
    fill(this.#status, h('span', { class: 'soft' }, t('learning.now.queued')));
    try {
      const task = await post(`/v1/${this.#kind}`, this.#body(), { signal });
      this.#id = task.id;
      this.#state = '';
      if (this.#text) this.#text.value = '';
      return true;
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.#status, h('p', { class: 'problem', role: 'alert' }, message(error)));
      return false;
    } finally {
      this.#submit.disabled = false;
    }
  }

  #body() {
    if (!this.#text) return undefined;
    return { [this.#name]: this.#text.value, ...(this.#whose.value ? { scope: this.#whose.value } : {}) };
  }

  update(tasks) {
    if (!this.#id) return;
    const task = tasks.find(({ id }) => id === this.#id);
    const state = task?.state ?? 'gone';
    // A screen reader says it when it changes, not at each look.
    const current = `${state} ${task?.updated_at}`;
    if (current === this.#state) return;
    this.#state = current;
    fill(
      this.#status,
      h('strong', { class: state === 'failed' ? 'problem' : state === 'done' ? 'good' : 'soft' }, t(`learning.now.${state}`)),
      ' ',
      state === 'done' ? outcome(task) : task?.error && failure(task.error),
    );
    if (state === 'done' || state === 'gone') this.#id = null;
  }
}

function labelled(control, label) {
  control.id = fresh('box');
  return [h('label', { for: control.id }, label), control];
}

const isSure = (what) =>
  confirm(t('learning.forget'), t('learning.forget.ask', { what }), { label: t('learning.forget.do'), danger: true });

const message = (error) =>
  named('learning.error', error.code) === error.code
    ? errorNotice(error)
    : t('frame.problem', { message: named('learning.error', error.code) });
