// The filters above the list. Each change is told at once; the counts arrive when they do.

import { eager, fill, fresh, h } from '../../dom.js';
import { tinted } from '../../parts/badge.js';
import { compact, named, t } from '../../words.js';
import { ORDERS, STATES, cleared, isNarrowed } from './view.js';

const SPANS = { day: 0, week: 6, month: 29 };

/** `onChange()` is called when `view` was changed, and answers when what was asked for is there. Answers the elements, and ways to set them. */
export function filters(view, onChange) {
  const search = searchBox(view, onChange);
  const kind = chooser('kind', view, [['', t('memory.kind.all')]], onChange);
  const state = chooser(
    'state',
    view,
    STATES.map((one) => [one, t(`memory.state.${one}`)]),
    onChange,
  );
  const order = chooser('order', view, orders(view), onChange);
  const pinned = h(
    'button',
    {
      type: 'button',
      on: {
        click: () => {
          view.pinned = view.pinned ? '' : 'true';
          onChange();
        },
      },
    },
    t('frame.pinned'),
  );
  const time = timeChooser(view, onChange);
  const sources = h('div', { 'class': 'row sources', 'role': 'group', 'aria-label': t('memory.source') });
  const also = h('div', { class: 'row' });
  const clear = h(
    'button',
    {
      type: 'button',
      class: 'quiet',
      on: {
        click: () => {
          cleared(view);
          onChange();
        },
      },
    },
    t('memory.clear'),
  );
  let counts = [];

  function paint() {
    const searching = Boolean(view.q);
    search.set();
    kind.set();
    state.set(searching ? 'live' : view.state);
    // A search is over what is live, best first.
    state.box.disabled = searching;
    order.box.disabled = searching;
    order.fill(searching ? [[view.order, t('memory.order.best')]] : orders(view));
    pinned.setAttribute('aria-pressed', String(Boolean(view.pinned)));
    time.set();
    clear.hidden = !isNarrowed(view);
    fill(
      also,
      ['session', 'tag']
        .filter((name) => view[name])
        .map((name) =>
          h(
            'button',
            {
              'type': 'button',
              'class': 'small',
              'aria-pressed': 'true',
              'title': t('memory.narrowed.lift'),
              'on': { click: () => lift(name) },
            },
            t(`memory.narrowed.${name}`, { value: view[name].slice(0, 60) }),
            ' ×',
          ),
        ),
    );
    count(counts);
  }

  function choose(source) {
    view.source = view.source === source ? '' : source;
    onChange();
    // The buttons were made anew.
    sources.querySelector(`[data-source="${CSS.escape(source)}"]`)?.focus();
  }

  function lift(name) {
    view[name] = '';
    if (view.order === 'position') view.order = 'pinned';
    onChange();
  }

  function count(found) {
    counts = found;
    const held = (by, other) => {
      const sums = new Map(view[by] ? [[view[by], 0]] : []);
      for (const one of counts)
        if (!view[other] || one.by[other] === view[other]) sums.set(one.by[by], (sums.get(one.by[by]) ?? 0) + one.records);
      return [...sums].sort((a, b) => b[1] - a[1]);
    };
    kind.fill([
      ['', t('memory.kind.all')],
      ...held('kind', 'source').map(([one, n]) => [one, `${named('memory.kind', one)} (${compact(n)})`]),
    ]);
    fill(
      sources,
      held('source', 'kind')
        .slice(0, 12)
        .map(([one, n]) =>
          h(
            'button',
            {
              'type': 'button',
              'class': `source-toggle ${tinted(one)}`,
              'data': { source: one },
              'aria-pressed': String(view.source === one),
              'on': { click: () => choose(one) },
            },
            h('span', { class: 'dot' }),
            named('frame.source', one),
            h('span', { class: 'soft' }, compact(n)),
          ),
        ),
    );
  }

  const element = h(
    'div',
    { class: 'stack narrowing' },
    h('div', { class: 'filters', role: 'search' }, search.element, kind.element, state.element, time.element, pinned),
    h('div', { class: 'row source-row' }, sources, also, clear),
  );
  paint();
  return { element, order: order.element, search: search.box, paint, count };
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
