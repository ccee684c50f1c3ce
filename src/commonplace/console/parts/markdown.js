// Markdown as elements.

import { h, plain } from '../dom.js';
import { isPlain, parseMarkdown } from '../text/markdown.js';

/** The element of a text; `link` and `level` as for `parseMarkdown`. */
export const markdown = (text, options) => build(parseMarkdown(text, options));

/** The element of a text, or null if it has nothing of Markdown in it. */
export function markdownOf(text, options) {
  const tree = parseMarkdown(text, options);
  return isPlain(tree) ? null : build(tree);
}

const build = (node) => (typeof node === 'string' ? plain(node) : h(node.tag, node.props, node.children.map(build)));
