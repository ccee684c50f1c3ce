// The scope picker: a box that searches the scopes there are, by pointer or keyboard (an ARIA combobox).

import { get } from '../api.js';
import { eager, fill, fresh, h } from '../dom.js';
import { compact, t } from '../words.js';

const KINDS = ['session', 'agent', 'workspace', 'channel', 'user'];
const isScope = (text) => text === 'global' || KINDS.some((kind) => text.startsWith(`${kind}:`) && text.length > kind.length + 1);

/**
 * `onPick(scope)` is told what was chosen: a scope, or '' for all of them where `all` allows it, which is called `none`. With `anew` a scope that is
 * not there yet may be named. Answers the element; `element.pick(scope)` sets it without telling.
 */
export function picker({
  value = '',
  onPick,
  all = true,
  anew = false,
  label = t('frame.scope'),
  none = t('frame.scope.all'),
  signal = null,
}) {
  const listId = fresh('scopes');
  let options = [];
  let active = -1;
  let chosen = value;
  let asking = null;
  let closing;
  let coming = null; // the options that were asked for last
  let typed = false; // since the options were asked for

  const box = h('input', {
    'type': 'text',
    'role': 'combobox',
    'aria-label': label,
    'aria-expanded': 'false',
    'aria-controls': listId,
    'aria-autocomplete': 'list',
    'autocomplete': 'off',
    'spellcheck': 'false',
    'placeholder': all ? none : t('frame.scope.choose'),
    'class': 'mono',
    value,
    'on': {
      focus: () => {
        // Whoever is back at once finds it open.
        clearTimeout(closing);
        box.select();
        open('');
      },
      input: () => {
        typed = true;
        search();
      },
      keydown: onKey,
      blur: () => {
        closing = setTimeout(close, 120);
      },
    },
  });
  const list = h('ul', { 'id': listId, 'role': 'listbox', 'aria-label': label, 'hidden': true, 'class': 'options' });
  const element = h('div', { class: 'picker' }, box, list);

  const search = eager(() => typed && open(box.value.trim()));

  function open(text) {
    coming = look(text);
    return coming;
  }

  async function look(text) {
    typed = false;
    asking?.abort();
    asking = new AbortController();
    try {
      const { scopes } = await get('/v1/scopes', { q: text, limit: 50 }, { signal: asking.signal });
      options = scopes.map((one) => ({ scope: one.scope, records: one.records }));
    } catch (error) {
      if (error.name === 'AbortError') return;
      options = [];
    }
    if (document.activeElement !== box || signal?.aborted) return;
    if (all && !text) options.unshift({ scope: '', records: null });
    if (anew && isScope(text) && !options.some((one) => one.scope === text)) options.unshift({ scope: text, records: null, fresh: true });
    active = options.findIndex((one) => one.scope === (text || chosen));
    paint();
  }

  function paint() {
    const nothing = h(
      'li',
      { 'class': 'soft', 'role': 'option', 'aria-disabled': 'true', 'aria-selected': 'false' },
      t('frame.scope.none'),
    );
    fill(
      list,
      options.length
        ? options.map((one, index) =>
            h(
              'li',
              {
                'role': 'option',
                'id': `${listId}-${index}`,
                'aria-selected': String(index === active),
                'class': index === active ? 'active' : '',
                'on': {
                  pointerdown: (event) => {
                    event.preventDefault();
                    choose(one.scope);
                  },
                },
              },
              h('span', { class: one.scope ? 'mono' : '' }, one.fresh ? t('frame.scope.new', { scope: one.scope }) : one.scope || none),
              one.records !== null && h('span', { class: 'soft small' }, compact(one.records)),
            ),
          )
        : nothing,
    );
    list.hidden = false;
    box.setAttribute('aria-expanded', 'true');
    if (active >= 0) {
      box.setAttribute('aria-activedescendant', `${listId}-${active}`);
      list.children[active]?.scrollIntoView({ block: 'nearest' });
    } else box.removeAttribute('aria-activedescendant');
  }

  function close() {
    list.hidden = true;
    box.setAttribute('aria-expanded', 'false');
    box.removeAttribute('aria-activedescendant');
    box.value = chosen;
  }

  function choose(scope) {
    chosen = scope;
    close();
    box.blur();
    onPick?.(scope);
  }

  function onKey(event) {
    if (event.isComposing) return;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (list.hidden) return open(box.value.trim());
      active = (active + (event.key === 'ArrowDown' ? 1 : -1) + options.length) % Math.max(1, options.length);
      paint();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      take();
    } else if (event.key === 'Escape' && !list.hidden) {
      // It closes the list, not the dialog around it.
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  }

  async function take() {
    // Somebody was quicker than the search: what is listed answers an older question.
    await (typed ? open(box.value.trim()) : coming);
    if (document.activeElement !== box) return;
    const text = box.value.trim();
    if (active >= 0 && options[active]) choose(options[active].scope);
    else if (options.length && text && !options[0].fresh) choose(options[0].scope);
    else if (anew && isScope(text)) choose(text);
    else if (all && !text) choose('');
  }

  element.pick = (scope) => {
    chosen = scope;
    box.value = scope;
  };
  Object.defineProperty(element, 'scope', { get: () => chosen });
  return element;
}
