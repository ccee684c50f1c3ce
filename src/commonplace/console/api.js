// The one way to the server. The session is a cookie that scripts cannot read; the header below shows that a page of ours asks.

export class Problem extends Error {
  constructor(status, code, message, details = {}) {
    super(message);
    Object.assign(this, { status, code, details });
  }
}

const gone = new Set();
/** `listener` is called when the session has ended. */
export const onSignedOut = (listener) => gone.add(listener);

/**
 * Ask for `path`. `query`: lists repeat the name, empty values are left out. `body` is sent as JSON, a file as it is. Answers what the server
 * answers, parsed; with `whole` the response itself is added: `{ data, response }`.
 * Throws a Problem, or the signal's AbortError.
 */
export async function ask(method, path, { query, body, headers = {}, signal, whole = false, quiet = false } = {}) {
  let response;
  try {
    response = await fetch(path + written(query), {
      method,
      signal,
      headers: {
        'Accept': 'application/json',
        'X-Commonplace': 'console',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || body instanceof Blob ? body : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem(0, 'out_of_reach', error.message);
  }
  const data = await read(response).catch((error) => {
    if (error.name === 'AbortError') throw error;
    throw new Problem(0, 'out_of_reach', error.message);
  });
  if (!response.ok) {
    const told = data?.error ?? {};
    if (response.status === 401 && !quiet) for (const listener of gone) listener();
    throw new Problem(response.status, told.code ?? `http_${response.status}`, told.message ?? response.statusText, told.details ?? {});
  }
  return whole ? { data, response } : data;
}

async function read(response) {
  const text = await response.text();
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function written(query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== '') params.append(name, String(one));
    }
  }
  const text = params.toString();
  return text ? `?${text}` : '';
}

export const get = (path, query, more) => ask('GET', path, { query, ...more });
export const post = (path, body = {}, more) => ask('POST', path, { body, ...more });
export const put = (path, body, more) => ask('PUT', path, { body, ...more });
export const patch = (path, body, more) => ask('PATCH', path, { body, ...more });
export const remove = (path, query, more) => ask('DELETE', path, { query, ...more });

/**
 * Listen to a stream until `signal` aborts, from behind the event `last` on. `onEvent({ id, type, data })`; `onState('open' | 'waiting' | 'gone',
 * seconds)` when the line is open, when it is lost and will be tried again, and when there is nothing to listen to. After a pause it goes on
 * where it was.
 */
export async function listen({ path = '/v1/events', query = {}, last = null, onEvent, onState = () => {}, signal }) {
  let epoch = null;
  let pause = 1;
  while (!signal.aborted) {
    try {
      const headers = { Accept: 'text/event-stream', ...(last === null ? {} : { 'Last-Event-ID': last }) };
      const response = await fetch(path + written({ ...query, epoch }), { headers, signal, credentials: 'same-origin', cache: 'no-store' });
      if (response.status === 401) {
        for (const listener of gone) listener();
        return;
      }
      if (response.status === 404) return void onState('gone', 0);
      if (response.ok) {
        epoch = response.headers.get('X-Commonplace-Epoch');
        onState('open', 0);
        pause = 1;
        for await (const frame of frames(response.body)) {
          if (frame.id !== undefined) last = frame.id;
          if (frame.type) onEvent(frame);
        }
      }
    } catch (error) {
      if (error.name === 'AbortError') return;
    }
    if (signal.aborted) return;
    onState('waiting', pause);
    await slept(pause * 1000, signal);
    pause = Math.min(pause * 2, 15);
  }
}

async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      held += value;
      const parts = held.split(/\r?\n\r?\n/);
      held = parts.pop();
      for (const part of parts) yield frame(part);
    }
  } finally {
    // Where nobody reads on, the line is given back: the next one would else stand beside it.
    reader.cancel().catch(() => {});
  }
}

function frame(part) {
  const made = { type: null, data: null };
  const data = [];
  for (const line of part.split(/\r?\n/)) {
    const at = line.indexOf(':');
    if (at === 0) continue;
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (name === 'id') made.id = value;
    if (name === 'event') made.type = value;
    if (name === 'data') data.push(value);
  }
  if (data.length) {
    try {
      made.data = JSON.parse(data.join('\n'));
    } catch {
      made.data = null;
    }
  }
  return made;
}

/** So many milliseconds, or until `signal` aborts. */
export const slept = (ms, signal) =>
  new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake);
  });
