// What others change while the list is looked at: counted quietly, shown when the person asks.

import { listen } from '../../api.js';

const PAUSE = 500;

/** `isKnown(id, version)`: the list has it so already. `onNews(count)` tells how many changes wait; `forget()` begins anew. */
export function news({ view, isKnown, onNews, signal }) {
  const heard = new Map();
  let timer = null;

  // Our own changes are heard, too, at times before their answer is there: look a moment later.
  function look() {
    timer = null;
    for (const [id, version] of heard) if (isKnown(id, version)) heard.delete(id);
    onNews(heard.size);
  }

  function onEvent({ type, data }) {
    if (!type.startsWith('record.')) return;
    if (view.scope && data?.scope !== view.scope) return;
    const { id, version = Infinity } = data?.data ?? {};
    if (id) heard.set(id, Math.max(version, heard.get(id) ?? 0));
    timer ??= setTimeout(look, PAUSE);
  }

  listen({ query: { type: 'record.*' }, onEvent, signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
  return {
    forget() {
      heard.clear();
      onNews(0);
    },
  };
}
