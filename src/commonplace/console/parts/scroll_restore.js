// Where somebody was in the list when they opened a record: they come back to that row, not to the list's beginning.

let row = null; // { address, id, index }
// The first page has an empty one.
const currentHash = () => location.hash || '#/memory';

/** The list is left for this record, which is the row at `index`. */
export const saveRow = (id, index) => {
  row = { address: currentHash(), id, index };
};

/** The address of the list that this record was opened from; null if it was reached in another way. */
export const listAddress = (id) => (row?.id === id ? row.address : null);

/** The row to come back to, if this is the list that was left; once. */
export function takeSavedRow() {
  const saved = row?.address === currentHash() ? row : null;
  row = null;
  return saved;
}
