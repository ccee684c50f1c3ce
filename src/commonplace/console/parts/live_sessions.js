// The sessions in use, whoever opened them, told to the pages that show them. The navigation shows how many questions wait for this person.

import { get, listen } from '../api.js';
import { paced } from '../dom.js';
import { may, whoami } from '../session.js';
import { waitingFor } from '../text/permission.js';
import { number, t } from '../words.js';
import { showNumber } from './waiting.js';

const PACE = 150; // milliseconds
const listeners = new Set();
let latest = null;
let visit = null; // the AbortController of whoever is signed in

/** Listen from now on, as long as somebody looks at this window: a browser has few lines to a daemon, and others may need them. */
export function followLive() {
  endLive();
  const { signal } = (visit = new AbortController());
  let looking = null;
  const look = () => {
    looking?.abort();
    looking = null;
    if (signal.aborted || document.visibilityState !== 'visible') return;
    looking = new AbortController();
    const refresh = paced(() => read(signal), PACE);
    const onState = (state) => state === 'open' && refresh();
    listen({ query: { type: 'session.*' }, onEvent: refresh, onState, signal: looking.signal });
  };
  document.addEventListener('visibilitychange', look, { signal });
  signal.addEventListener('abort', look);
  look();
}

export function endLive() {
  visit?.abort();
  visit = null;
  latest = null;
}

/** Whether somebody has it open, or it does something. */
export const isBusy = ({ state, listeners: count }) => state !== 'idle' || count > 0;

/** Call `listener(sessions)` with the sessions in use, now and whenever something has changed. */
export function onLive(listener, signal) {
  listeners.add(listener);
  signal.addEventListener('abort', () => listeners.delete(listener));
  if (latest) listener(latest);
}

async function read(signal) {
  if (signal.aborted) return;
  try {
    const { sessions } = await get('/v1/sessions/live', {}, { signal });
    if (signal.aborted) return;
    latest = sessions;
  } catch {
    // The next event brings it, or the line says that it is lost.
    return;
  }
  const count = waitingFor(latest, { subject: whoami()?.subject, mayWrite: may('writer') }).length;
  showNumber('sessions', count ? number(count) : '', t('frame.asks', count));
  for (const listener of listeners) listener(latest);
}
