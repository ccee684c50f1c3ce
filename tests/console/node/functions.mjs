// Every function of the scripts named on the command line, as JSON: [{ file, line, name, lines }, …]. `lines` counts those inside it, too.

import { readFile } from 'node:fs/promises';

import { parsers } from '../../clients/node_modules/prettier/plugins/acorn.mjs';

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** The functions below `node`. `name` is what a function without one is called by: the variable, property or method it is the value of. */
function* functionsOf(node, name = null) {
  if (Array.isArray(node)) {
    for (const child of node) yield* functionsOf(child);
    return;
  }
  if (typeof node?.type !== 'string') return;
  if (FUNCTIONS.has(node.type)) yield { node, name: node.id?.name ?? name ?? 'anonymous' };
  const label = node.id?.name ?? node.key?.name ?? node.left?.name ?? null;
  for (const [key, child] of Object.entries(node)) {
    if (child && typeof child === 'object') yield* functionsOf(child, ['init', 'value', 'right'].includes(key) ? label : null);
  }
}

async function measure(file) {
  const text = await readFile(file, 'utf8');
  const lineOf = (offset) => text.slice(0, offset).split('\n').length;
  const tree = await parsers.acorn.parse(text, { filepath: file });
  return [...functionsOf(tree)].map(({ node, name }) => {
    const [line, last] = node.range.map(lineOf);
    return { file, line, name, lines: last - line + 1 };
  });
}

const functions = await Promise.all(process.argv.slice(2).map(measure));
console.log(JSON.stringify(functions.flat()));
