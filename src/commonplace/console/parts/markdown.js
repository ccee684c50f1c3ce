// Markdown as elements.

import { h, plain } from '../dom.js';
import { parseMarkdown } from '../text/markdown.js';

/** The element of a text; `link` and `level` as for `parseMarkdown`. */
export const markdown = (text, options) => build(parseMarkdown(text, options));

const build = (node) => (typeof node === 'string' ? plain(node) : h(node.tag, node.props, node.children.map(build)));
