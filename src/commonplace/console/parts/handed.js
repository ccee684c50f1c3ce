// What one page knows of a record already and hands to the next, which shows it before the server has answered.

let held = null;

export const hand = (record) => {
  held = record;
};

/** The record with this id, where the page before handed it over; once. */
export function handed(id) {
  const found = held?.id === id ? held : null;
  held = null;
  return found;
}
