// What is looked at: the filters as they stand in the address, and as the server is asked.

export const STATES = ['live', 'demoted', 'superseded', 'expired', 'deleted'];
export const ORDERS = ['pinned', 'newest', 'oldest', 'key', 'position'];
export const PAGE = 100;
/** The tag of the sample memories. */
export const SAMPLE = 'sample-data';
/** What a search brings at once, and when somebody looks further. */
export const FIRST_FOUND = 50;
export const MOST_FOUND = 200;

const PLAIN = {
  q: '',
  kind: '',
  source: '',
  pinned: '',
  state: 'live',
  order: 'pinned',
  since: '',
  until: '',
  session: '',
  tag: '',
  everyone: '',
};
const DAY = /^\d{4}-\d\d-\d\d$/;

export function viewOf(part, query) {
  const view = { ...PLAIN, scope: part };
  for (const name of Object.keys(PLAIN)) if (query[name]) view[name] = query[name];
  if (!STATES.includes(view.state)) view.state = 'live';
  if (!ORDERS.includes(view.order)) view.order = 'pinned';
  if (view.session && !query.order) view.order = 'position';
  for (const name of ['since', 'until']) if (!DAY.test(view[name])) view[name] = '';
  return view;
}

/** What of it goes into the address: only what is not as usual. */
export function asAddress(view) {
  return Object.fromEntries(
    Object.keys(PLAIN)
      .filter((name) => view[name] !== PLAIN[name])
      .map((name) => [name, view[name]]),
  );
}

export const isNarrowed = (view) =>
  ['q', 'kind', 'source', 'pinned', 'since', 'until', 'session', 'tag'].some((name) => view[name]) || view.state !== 'live';

export function cleared(view) {
  Object.assign(view, PLAIN, { everyone: view.everyone });
}

/** Other people's memory, too; whoever names a scope asks for that alone. */
const isEveryone = (view) => view.everyone === 'true' && !view.scope;

const begins = (day) => (day ? new Date(`${day}T00:00`) : null);

/** A day in the address is a day where the person is; `until` has that day in it. */
function times(view) {
  const until = begins(view.until);
  until?.setDate(until.getDate() + 1);
  return { since: begins(view.since)?.toISOString() ?? null, until: until?.toISOString() ?? null };
}

export function asListing(view) {
  return {
    scope: view.scope,
    kind: view.kind,
    source: view.source,
    session: view.session,
    tag: view.tag,
    pinned: view.pinned ? 'true' : '',
    state: view.state,
    order: view.order,
    everyone: isEveryone(view) ? 'true' : '',
    ...times(view),
  };
}

export function asSearch(view, limit) {
  const some = (value) => (value ? [value] : []);
  return {
    text: view.q,
    scopes: view.scope ? [view.scope] : null,
    kinds: some(view.kind),
    sources: some(view.source),
    sessions: some(view.session),
    tags: some(view.tag),
    pinned: view.pinned ? true : null,
    limit,
    explain: false,
    ...(isEveryone(view) ? { everyone: true } : {}),
    ...times(view),
  };
}

/** Counted by kind and source, both left open: what each choice would show is in one answer. */
export function asCounting(view) {
  const { order, kind, source, ...rest } = asListing(view);
  return { by: ['source', 'kind'], ...rest };
}
