// The filters above the list. Each change is told at once; the counts arrive when they do.

import { eager, fill, fresh, h } from '../../dom.js';
import { tinted } from '../../parts/badge.js';
import { compact, named, t } from '../../words.js';
import { ORDERS, STATES, cleared, isNarrowed } from './view.js';

const SPANS = { day: 0, week: 6, month: 29 };
const MOST_SOURCES = 12;

/** `onChange()` is called when `view` was changed, and answers when what was asked for is there. Answers the elements, and ways to set them. */
export function filters(view, onChange) {
  const bar = new FilterBar(view, onChange);
  bar.paint();
  return {
    element: bar.element,
    order: bar.order.element,
    search: bar.search.box,
    paint: () => bar.paint(),
    count: (counts) => bar.count(counts),
  };
}

class FilterBar {
  #view;
  #onChange;
  #counts = []; // { by: { kind, source }, records }
  #sources = h('div', { 'class': 'row sources', 'role': 'group', 'aria-label': t('memory.source') });
  #others = h('div', { class: 'row' }); // filters that are only reached from elsewhere

  constructor(view, onChange) {
    this.#view = view;
    this.#onChange = onChange;
    const states = STATES.map((state) => [state, t(`memory.state.${state}`)]);
    this.search = searchBox(view, onChange);
    this.kind = chooser('kind', view, [['', t('memory.kind.all')]], onChange);
    this.state = chooser('state', view, states, onChange);
    this.order = chooser('order', view, orders(view), onChange);
    this.time = timeChooser(view, onChange);
    this.pinned = h('button', { type: 'button', on: { click: () => this.#set({ pinned: view.pinned ? '' : 'true' }) } }, t('frame.pinned'));
    this.clear = h('button', { type: 'button', class: 'quiet', on: { click: () => this.#clear() } }, t('memory.clear'));
    this.element = h(
      'div',
      { class: 'stack narrowing' },
      h(
        'div',
        { class: 'filters', role: 'search' },
        this.search.element,
        this.kind.element,
        this.state.element,
        this.time.element,
        this.pinned,
      ),
      h('div', { class: 'row source-row' }, this.#sources, this.#others, this.clear),
    );
  }

  paint() {
    const view = this.#view;
    const isSearch = Boolean(view.q);
    this.search.set();
    this.kind.set();
    this.state.set(isSearch ? 'live' : view.state);
    // A search is over what is live, best first.
    this.state.box.disabled = isSearch;
    this.order.box.disabled = isSearch;
    this.order.fill(isSearch ? [[view.order, t('memory.order.best')]] : orders(view));
    this.pinned.setAttribute('aria-pressed', String(Boolean(view.pinned)));
    this.time.set();
    this.clear.hidden = !isNarrowed(view);
    const others = ['session', 'tag'].filter((name) => view[name]);
    fill(
      this.#others,
      others.map((name) => this.#liftButton(name)),
    );
    this.count(this.#counts);
  }

  /** Show how many records each kind and each source would show. */
  count(counts) {
    this.#counts = counts;
    const kinds = this.#sums('kind', 'source').map(([kind, records]) => [kind, `${named('memory.kind', kind)} (${compact(records)})`]);
    this.kind.fill([['', t('memory.kind.all')], ...kinds]);
    const sources = this.#sums('source', 'kind').slice(0, MOST_SOURCES);
    fill(
      this.#sources,
      sources.map(([source, records]) => this.#sourceButton(source, records)),
    );
  }

  /** The records of each value of `name`, most first, as the filter `other` allows them. */
  #sums(name, other) {
    const view = this.#view;
    const sums = new Map(view[name] ? [[view[name], 0]] : []);
    for (const { by, records } of this.#counts) {
      if (!view[other] || by[other] === view[other]) sums.set(by[name], (sums.get(by[name]) ?? 0) + records);
    }
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  #sourceButton(source, records) {
    const isOn = this.#view.source === source;
    const click = () => {
      this.#set({ source: isOn ? '' : source });
      // The buttons were made anew.
      this.#sources.querySelector(`[data-source="${CSS.escape(source)}"]`)?.focus();
    };
    return h(
      'button',
      { 'type': 'button', 'class': `source-toggle ${tinted(source)}`, 'data': { source }, 'aria-pressed': String(isOn), 'on': { click } },
      h('span', { class: 'dot' }),
      named('frame.source', source),
      h('span', { class: 'soft' }, compact(records)),
    );
  }

  #liftButton(name) {
    const click = () => {
      const { order } = this.#view;
      this.#set({ [name]: '', order: order === 'position' ? 'pinned' : order });
    };
    return h(
      'button',
      { 'type': 'button', 'class': 'small', 'aria-pressed': 'true', 'title': t('memory.narrowed.lift'), 'on': { click } },
      t(`memory.narrowed.${name}`, { value: this.#view[name].slice(0, 60) }),
      ' ×',
    );
  }

  #set(changes) {
    Object.assign(this.#view, changes);
    this.#onChange();
  }

  #clear() {
    cleared(this.#view);
    this.#onChange();
  }
}

const orders = (view) => ORDERS.filter((one) => one !== 'position' || view.session).map((one) => [one, t(`memory.order.${one}`)]);

function searchBox(view, onChange) {
  const tell = eager(() => {
    if (view.q === box.value.trim()) return null;
    view.q = box.value.trim();
    return onChange();
  });
  const box = h('input', {
    'type': 'search',
    'class': 'search',
    'aria-label': t('memory.search'),
    'placeholder': t('memory.search.hint'),
    'value': view.q,
    'autocomplete': 'off',
    'maxlength': 2000,
    'on': {
      input: tell,
      keydown: (event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        if (!box.value) box.blur();
        box.value = '';
        tell();
      },
    },
  });
  return {
    element: box,
    box,
    set: () => {
      if (document.activeElement !== box) box.value = view.q;
    },
  };
}

function chooser(name, view, options, onChange) {
  const id = fresh(name);
  const box = h('select', {
    id,
    value: view[name],
    on: {
      change: () => {
        view[name] = box.value;
        onChange();
      },
    },
  });
  const put = (given) => {
    fill(
      box,
      given.map(([value, text]) => h('option', { value }, text)),
    );
    box.value = view[name];
  };
  put(options);
  const element = h('div', { class: 'choice' }, h('label', { for: id, class: 'visually-hidden' }, t(`memory.${name}`)), box);
  return {
    element,
    box,
    fill: put,
    set: (value = view[name]) => {
      box.value = value;
    },
  };
}

const written = (moment) =>
  `${moment.getFullYear()}-${String(moment.getMonth() + 1).padStart(2, '0')}-${String(moment.getDate()).padStart(2, '0')}`;

function timeChooser(view, onChange) {
  const id = fresh('time');
  const span = h(
    'select',
    { id, on: { change: () => choose(span.value) } },
    ['any', ...Object.keys(SPANS), 'between'].map((one) => h('option', { value: one }, t(`memory.time.${one}`))),
  );
  const days = ['since', 'until'].map((name) =>
    h('input', {
      'type': 'date',
      'aria-label': t(`memory.time.${name}`),
      'value': view[name],
      'data': { name },
      'on': {
        change: (event) => {
          view[name] = event.target.value;
          onChange();
        },
      },
    }),
  );
  const between = h('div', { class: 'row between' }, days[0], h('span', { 'aria-hidden': 'true' }, '–'), days[1]);

  function choose(value) {
    const open = value === 'between';
    if (!open) {
      const from = new Date();
      from.setDate(from.getDate() - (SPANS[value] ?? 0));
      Object.assign(view, { since: value === 'any' ? '' : written(from), until: '' });
      onChange();
    }
    between.hidden = !open;
    if (open) days[0].focus();
  }

  function set() {
    for (const one of days) if (document.activeElement !== one) one.value = view[one.dataset.name];
    if (!view.since && !view.until) {
      if (span.value !== 'between' || document.activeElement?.type !== 'date') span.value = 'any';
    } else if (span.value === 'any') span.value = 'between';
    between.hidden = span.value !== 'between';
  }

  return {
    element: h('div', { class: 'choice row' }, h('label', { for: id, class: 'visually-hidden' }, t('memory.time')), span, between),
    set,
  };
}
