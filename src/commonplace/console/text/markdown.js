// Markdown as a tree of elements, never as markup: headings, lists, quotes, tables, code, emphasis, links. Whatever else a text holds stays as
// written. Every step looks at a character a bounded number of times, and no more than MOST elements are made, so that no text takes long. Pure.

const MOST = 8_000;
const DEEPEST = 8;
const LONGEST_LINK = 2_000;
const LONGEST_FIELD = 200;
const MOST_COLUMNS = 60;

const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/;
const FIELD = /^([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$/;
const DELIMITER = /^[ \t]*[|:-][|: \t-]*$/;
const TASK = /^\[([ xX])\][ \t]+/;

/**
 * The tree of a text: each node is { tag, props, children }, or a string that somebody stored. `link(path)` answers the address of another file
 * that the text links to, or null; links to elsewhere are those of http, https and mailto. Headings begin at `level`.
 */
export function parseMarkdown(text, { link = () => null, level = 3 } = {}) {
  const context = { room: MOST, isInLink: false, link, level };
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const front = frontmatter(lines);
  return element('div', { class: 'markdown' }, front.facts, blocks(front.facts ? lines.slice(front.end) : lines, context, 0));
}

/** Whether a tree is nothing but paragraphs of text. */
export const isPlain = ({ children }) =>
  children.every((child) => child.tag === 'p' && child.children.every((one) => typeof one === 'string'));

const element = (tag, props = {}, ...children) => ({
  tag,
  props,
  children: children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ''),
});

/** `facts` is null where the text does not begin with fields between dashes; `end` is the first line behind them. */
function frontmatter(lines) {
  const none = { facts: null, end: 0 };
  if (!/^---[ \t]*$/.test(lines[0])) return none;
  const end = lines.slice(1, LONGEST_FIELD).findIndex((line) => /^(?:---|\.\.\.)[ \t]*$/.test(line)) + 1;
  if (!end) return none;
  const fields = [];
  for (const line of lines.slice(1, end)) {
    const field = FIELD.exec(line);
    if (field) fields.push([field[1], unquote(field[2] ?? '')]);
    else if (fields.length) fields.at(-1)[1] += line.trim() && ` ${line.trim()}`;
    else if (line.trim()) return none;
  }
  const facts = fields.map(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]);
  return { facts: facts.length ? element('dl', { class: 'facts' }, facts) : element('span'), end: end + 1 };
}

function unquote(value) {
  const text = value.trim();
  if (text.startsWith('"') && text.endsWith('"')) {
    try {
      return String(JSON.parse(text));
    } catch {
      return text;
    }
  }
  return text.length > 1 && text.startsWith("'") && text.endsWith("'") ? text.slice(1, -1).replaceAll("''", "'") : text;
}

// ---- blocks

function blocks(lines, context, depth) {
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (!line.trim()) at += 1;
    else if (context.room < 1 || depth >= DEEPEST) {
      nodes.push(element('p', {}, lines.slice(at).join('\n')));
      break;
    } else {
      const [node, next] = block(lines, at, context, depth);
      context.room -= 1;
      nodes.push(node);
      at = next;
    }
  }
  return nodes;
}

function block(lines, at, context, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return code(lines, at, fence[1]);
  const heading = HEADING.exec(line);
  if (heading) {
    const title = heading[2].length < 1000 ? heading[2].replace(/[ \t]+#+[ \t]*$/, '') : heading[2];
    return [element(`h${Math.min(6, heading[1].length + context.level - 1)}`, {}, inline(title, context)), at + 1];
  }
  if (isRule(line)) return [element('hr'), at + 1];
  if (QUOTE.test(line)) return quote(lines, at, context, depth);
  if (ITEM.test(line)) return list(lines, at, context, depth);
  const sides = columns(lines, at);
  return sides ? table(lines, at, sides, context) : paragraph(lines, at, context);
}

function code(lines, at, mark) {
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && !lines[end].trim().slice(mark.length).replaceAll(mark[0], '')))
    end += 1;
  // One can be scrolled sideways, so it can be reached by keyboard.
  return [element('pre', { tabindex: '0' }, element('code', {}, lines.slice(at + 1, end).join('\n'))), end + 1];
}

function quote(lines, at, context, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  return [
    element(
      'blockquote',
      {},
      blocks(
        lines.slice(at, end).map((line) => line.replace(QUOTE, '')),
        context,
        depth + 1,
      ),
    ),
    end,
  ];
}

const isRule = (line) => line.length < LONGEST_FIELD && RULE.test(line);
const begins = (line) => FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || ITEM.test(line);
const opens = (lines, at) => begins(lines[at]) || columns(lines, at) !== null;
const indent = (line) => line.length - line.trimStart().length;

function list(lines, at, context, depth) {
  const first = ITEM.exec(lines[at]);
  const base = first[1].length;
  const ordered = /\d/.test(first[2]);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const next = ITEM.exec(lines[end]);
    const inside = items.length && lines[end].trim() && indent(lines[end]) > base;
    if (next && next[1].length <= base && /\d/.test(next[2]) === ordered) items.push([lines[end].slice(next[0].length)]);
    else if (inside) items.at(-1).push(lines[end]);
    else if (!lines[end].trim() && goesOn(lines, end, base)) items.at(-1).push('');
    else break;
    end += 1;
  }
  const start = ordered ? parseInt(first[2], 10) : 1;
  return [element(ordered ? 'ol' : 'ul', { start: start === 1 ? null : start }, itemNodes(items, context, depth)), end];
}

function itemNodes(items, context, depth) {
  const nodes = [];
  for (let index = 0; index < items.length; index += 1) {
    if (context.room < 1) {
      nodes.push(element('li', {}, items.slice(index).flat().join('\n')));
      break;
    }
    nodes.push(item(items[index], context, depth));
  }
  return nodes;
}

/** Whether the list goes on after an empty line. */
function goesOn(lines, at, base) {
  const next = lines[at + 1];
  return next !== undefined && next.trim() !== '' && (indent(next) > base || ITEM.test(next));
}

function item([first, ...rest], context, depth) {
  context.room -= 1;
  const task = TASK.exec(first);
  const text = task ? first.slice(task[0].length) : first;
  const shift = rest.reduce((least, line) => (line.trim() ? Math.min(least, indent(line)) : least), 80);
  const inner = rest.map((line) => line.slice(Math.min(shift, indent(line))));
  // Lines right below the first are the same sentence, unless they begin something.
  let same = 0;
  while (same < inner.length && inner[same].trim() && !opens(inner, same)) same += 1;
  const sentence = [text, ...inner.slice(0, same)].join('\n');
  return element(
    'li',
    {},
    task && (task[1] === ' ' ? '☐ ' : '☑ '),
    inline(sentence, context),
    blocks(inner.slice(same), context, depth + 1),
  );
}

function paragraph(lines, at, context) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !opens(lines, end)) end += 1;
  return [
    element(
      'p',
      {},
      inline(
        lines
          .slice(at, end)
          .map((line) => line.trim())
          .join('\n'),
        context,
      ),
    ),
    end,
  ];
}

// ---- tables

/** To which side each column keeps ('' where nothing is said), or null where no table begins here: a row, and one of dashes below it. */
function columns(lines, at) {
  const below = lines[at + 1] ?? '';
  if (!below.includes('|') || !lines[at].includes('|') || !DELIMITER.test(below)) return null;
  const marks = cells(below);
  if (marks.length > MOST_COLUMNS || !marks.every((mark) => /^:?-+:?$/.test(mark)) || cells(lines[at]).length !== marks.length) return null;
  return marks.map((mark) => {
    if (mark.endsWith(':')) return mark.startsWith(':') ? 'center' : 'right';
    return mark.startsWith(':') ? 'left' : '';
  });
}

/** The cells of a row. A bar behind a backslash is a part of its cell, even in code. */
function cells(line) {
  const texts = [''];
  const bare = line.trim().replace(/^\|/, '');
  for (const [piece] of bare.matchAll(/\\\||\||[^|\\]+|\\/g)) {
    if (piece === '|') texts.push('');
    else texts[texts.length - 1] += piece === '\\|' ? '|' : piece;
  }
  // The bar at the end closes the last cell.
  if (texts.length > 1 && !texts.at(-1)) texts.pop();
  return texts.map((cell) => cell.trim());
}

function table(lines, at, sides, context) {
  const head = row(cells(lines[at]), sides, context, 'th');
  const rows = [];
  let end = at + 2;
  // Where there is no room for more elements, the rows that are left follow as text.
  while (end < lines.length && context.room > 0 && lines[end].trim() && !begins(lines[end]) && !isRule(lines[end])) {
    rows.push(row(cells(lines[end]), sides, context, 'td'));
    end += 1;
  }
  const grid = element('table', {}, element('thead', {}, head), rows.length > 0 && element('tbody', {}, rows));
  return [element('div', { class: 'scroll-x', tabindex: '0' }, grid), end];
}

/** As many cells as there are columns. What a row has too many stands in its last: nothing that is stored stays unseen. */
function row(texts, sides, context, tag) {
  context.room -= 1 + sides.length;
  const last = sides.length - 1;
  const fitting = texts.length > sides.length ? [...texts.slice(0, last), texts.slice(last).join(' | ')] : texts;
  return element(
    'tr',
    {},
    sides.map((side, index) =>
      element(tag, { scope: tag === 'th' ? 'col' : null, class: side ? `align-${side}` : null }, inline(fitting[index] ?? '', context)),
    ),
  );
}

// ---- inside a line

const EMPHASIS = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 's'],
  ['*', 'em'],
  ['_', 'em'],
];
const SPECIAL = /[\\`*_~[!h]/g;
const LETTER = /[\p{L}\p{N}_]/u;
const ADDRESS = /https?:\/\/[^\s<>"'`]{1,2000}/y;

function inline(text, context, depth = 0) {
  const nodes = [];
  const ahead = lookout(text);
  let start = 0;
  let at = 0;
  while (at < text.length && context.room > 0 && depth < DEEPEST) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    if (!special) break;
    at = special.index;
    const match = span(text, at, ahead, context, depth);
    if (match) {
      context.room -= 1;
      if (at > start) nodes.push(text.slice(start, at));
      nodes.push(match.node);
      at = match.end;
      start = at;
    } else at += 1;
  }
  if (start < text.length) nodes.push(text.slice(start));
  return nodes;
}

/** Where something comes next. What was searched for once is not searched for again, so that all searches together read the text once. */
function lookout(text) {
  const places = new Map();
  return (mark, from) => {
    const before = places.get(mark);
    if (before !== undefined && (before === -1 || before >= from)) return before;
    const place = text.indexOf(mark, from);
    places.set(mark, place);
    return place;
  };
}

function span(text, at, ahead, context, depth) {
  const sign = text[at];
  if (sign === '\\') return /[\\`*_~[\]!#>()+.-]/.test(text[at + 1] ?? '') ? { node: text[at + 1], end: at + 2 } : null;
  if (sign === '`') return ticked(text, at, ahead);
  // A link inside a link is none.
  if (context.isInLink && 'h!['.includes(sign)) return null;
  if (sign === 'h') return bare(text, at);
  if (sign === '!') return text[at + 1] === '[' ? linked(text, at + 1, ahead, context, depth) : null;
  if (sign === '[') return linked(text, at, ahead, context, depth);
  return emphasised(text, at, ahead, context, depth);
}

function ticked(text, at, ahead) {
  let ticks = 1;
  while (text[at + ticks] === '`' && ticks < 4) ticks += 1;
  const mark = '`'.repeat(ticks);
  const end = ahead(mark, at + ticks);
  return end > at + ticks ? { node: element('code', {}, text.slice(at + ticks, end)), end: end + ticks } : null;
}

function emphasised(text, at, ahead, context, depth) {
  for (const [mark, tag] of EMPHASIS) {
    if (!text.startsWith(mark, at)) continue;
    const from = at + mark.length;
    // snake_case is no emphasis, nor is 2 * 3, nor 2*3*4.
    if (mark === '*' && /\d/.test(text[at - 1] ?? '')) continue;
    if (!text[from]?.trim() || (mark[0] === '_' && LETTER.test(text[at - 1] ?? ''))) continue;
    const end = ahead(mark, from);
    if (end <= from || !text[end - 1].trim() || (mark[0] === '_' && LETTER.test(text[end + mark.length] ?? ''))) continue;
    return { node: element(tag, {}, inline(text.slice(from, end), context, depth + 1)), end: end + mark.length };
  }
  return null;
}

function bare(text, at) {
  if (LETTER.test(text[at - 1] ?? '')) return null;
  ADDRESS.lastIndex = at;
  const match = ADDRESS.exec(text);
  if (!match) return null;
  const url = match[0].replace(/[.,;:!?)\]}。，；：！？）】]{1,20}$/, '');
  const href = outsideUrl(url);
  return href && { node: outsideLink(href, url), end: at + url.length };
}

function linked(text, at, ahead, context, depth) {
  const middle = ahead('](', at + 1);
  if (middle < 0 || middle - at > LONGEST_LINK) return null;
  const end = ahead(')', middle + 2);
  if (end < 0 || end - middle > LONGEST_LINK) return null;
  const label = text.slice(at + 1, middle);
  const target = text
    .slice(middle + 2, end)
    .trim()
    .replace(/^<(.*)>$/, '$1');
  if (label.includes('[') || label.includes('\n\n')) return null;
  const inside = context.link(target);
  const href = inside ?? outsideUrl(target);
  if (!href) return null;
  context.isInLink = true;
  const words = label.trim() ? inline(label, context, depth + 1) : target;
  context.isInLink = false;
  return { node: inside ? element('a', { href: inside }, words) : outsideLink(href, words), end: end + 1 };
}

const outsideLink = (href, words) => element('a', { href, rel: 'noreferrer noopener', target: '_blank' }, words);

/** The address of a page elsewhere, or null: what runs scripts or names no host is no address. */
function outsideUrl(text) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(text)) return null;
  try {
    const url = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
