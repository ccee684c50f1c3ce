// Sessions: the conversations with agents. A list to find one in, and one to read.

import { listOf } from './sessions/list.js';
import { readingOf } from './sessions/reading.js';

export async function show(place, { part, query, signal }) {
  await (part ? readingOf(place, part, signal) : listOf(place, query, signal));
}
