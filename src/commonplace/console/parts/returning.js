// Where somebody was in the list when they opened a record: they come back to that row, not to the list's beginning.

let left = null; // { address, id, index }
// The first page has an empty one.
const here = () => location.hash || '#/memory';

/** The list is left for this record, which is the row at `index`. */
export const leave = (id, index) => {
  left = { address: here(), id, index };
};

/** The address of the list that this record was opened from; null where it was reached in another way. */
export const leftFrom = (id) => (left?.id === id ? left.address : null);

/** The row to come back to, where this is the list that was left; once. */
export function returned() {
  const was = left?.address === here() ? left : null;
  left = null;
  return was;
}
