// How likely something answers a question, in words and in per cent. Pure.

const BANDS = [
  [0.85, 'very'],
  [0.6, 'likely'],
  [0.3, 'possible'],
];

/** The name of the words for a chance from 0 to 1. */
export const bandOf = (chance) => BANDS.find(([least]) => chance >= least)?.[1] ?? 'unlikely';

/** Nothing is certain, and nothing out of the question. */
export const percentOf = (chance) => Math.min(99, Math.max(1, Math.round(chance * 100)));
