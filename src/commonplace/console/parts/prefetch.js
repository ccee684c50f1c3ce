// A record that one page has and the next shows before the server has answered.

let prefetched = null;

export const prefetch = (record) => {
  prefetched = record;
};

/** The record with this id, if the page before had it; once. */
export function takePrefetched(id) {
  const record = prefetched?.id === id ? prefetched : null;
  prefetched = null;
  return record;
}
