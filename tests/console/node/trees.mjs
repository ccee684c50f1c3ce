// What the scripts named on the command line say, whatever they look like: a line of JSON for each, with the hash of its syntax tree.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { parsers } from '../../clients/node_modules/prettier/plugins/acorn.mjs';

const PLACES = new Set(['range', 'start', 'end', 'loc', 'comments', 'tokens', '__contentEnd']);
const meaning = (key, value) => (PLACES.has(key) ? undefined : typeof value === 'bigint' ? String(value) : value);

for (const file of process.argv.slice(2)) {
  const text = await readFile(file, 'utf8');
  const tree = JSON.stringify(await parsers.acorn.parse(text, { filepath: file }), meaning);
  console.log(JSON.stringify({ tree: createHash('sha256').update(tree).digest('hex'), lines: text.split('\n').length }));
}
