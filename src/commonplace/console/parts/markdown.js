// Markdown as elements, never as markup: headings, lists, quotes, tables, code, emphasis, links. Whatever else a text holds stays as written.
// Every step looks at a character a bounded number of times, and no more than MOST elements are made, so that no text takes long.

import { h, plain } from '../dom.js';

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
 * The element of a text. `link(path)` answers the address of another file that the text links to, or null; links to elsewhere are
 * those of http, https and mailto. Headings begin at `level`.
 */
export function markdown(text, { link = () => null, level = 3 } = {}) {
  const context = { left: MOST, linked: false, link, level };
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const front = frontmatter(lines);
  return h('div', { class: 'markdown' }, front.facts, blocks(front.facts ? lines.slice(front.end) : lines, context, 0));
}

function frontmatter(lines) {
  const none = { facts: null, end: 0 };
  if (!/^---[ \t]*$/.test(lines[0])) return none;
  const end = lines.slice(1, LONGEST_FIELD).findIndex((line) => /^(?:---|\.\.\.)[ \t]*$/.test(line)) + 1;
  if (!end) return none;
  const fields = [];
  for (const line of lines.slice(1, end)) {
    const found = FIELD.exec(line);
    if (found) fields.push([found[1], unquoted(found[2] ?? '')]);
    else if (fields.length && line.trim()) fields.at(-1)[1] += ` ${line.trim()}`;
  }
  const facts = fields.length
    ? h(
        'dl',
        { class: 'facts' },
        fields.map(([name, value]) => [h('dt', {}, plain(name)), h('dd', {}, plain(value))]),
      )
    : h('span');
  return { facts, end: end + 1 };
}

function unquoted(value) {
  const told = value.trim();
  if (told.startsWith('"') && told.endsWith('"')) {
    try {
      return String(JSON.parse(told));
    } catch {
      return told;
    }
  }
  return told.length > 1 && told.startsWith("'") && told.endsWith("'") ? told.slice(1, -1).replaceAll("''", "'") : told;
}

// ---- blocks

function blocks(lines, context, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (!line.trim()) at += 1;
    else if (context.left < 1 || depth >= DEEPEST) {
      made.push(h('p', {}, plain(lines.slice(at).join('\n'))));
      break;
    } else {
      const [element, next] = block(lines, at, context, depth);
      context.left -= 1;
      made.push(element);
      at = next;
    }
  }
  return made;
}

function block(lines, at, context, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return code(lines, at, fence[1]);
  const heading = HEADING.exec(line);
  if (heading) {
    const title = heading[2].length < 1000 ? heading[2].replace(/[ \t]+#+[ \t]*$/, '') : heading[2];
    return [h(`h${Math.min(6, heading[1].length + context.level - 1)}`, {}, inline(title, context)), at + 1];
  }
  if (isRule(line)) return [h('hr'), at + 1];
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
  return [h('pre', { tabindex: '0' }, h('code', {}, plain(lines.slice(at + 1, end).join('\n')))), end + 1];
}

function quote(lines, at, context, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  return [
    h(
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
    const found = ITEM.exec(lines[end]);
    const inside = items.length && lines[end].trim() && indent(lines[end]) > base;
    if (found && found[1].length <= base && /\d/.test(found[2]) === ordered) items.push([lines[end].slice(found[0].length)]);
    else if (inside) items.at(-1).push(lines[end]);
    else if (!lines[end].trim() && goesOn(lines, end, base)) items.at(-1).push('');
    else break;
    end += 1;
  }
  const start = ordered ? parseInt(first[2], 10) : 1;
  return [h(ordered ? 'ol' : 'ul', { start: start === 1 ? null : start }, shownItems(items, context, depth)), end];
}

function shownItems(items, context, depth) {
  const made = [];
  for (let index = 0; index < items.length; index += 1) {
    if (context.left < 1) {
      made.push(h('li', {}, plain(items.slice(index).flat().join('\n'))));
      break;
    }
    made.push(item(items[index], context, depth));
  }
  return made;
}

/** Whether the list goes on after an empty line. */
function goesOn(lines, at, base) {
  const next = lines[at + 1];
  return next !== undefined && next.trim() !== '' && (indent(next) > base || ITEM.test(next));
}

function item([first, ...rest], context, depth) {
  context.left -= 1;
  const task = TASK.exec(first);
  const text = task ? first.slice(task[0].length) : first;
  const shift = rest.reduce((least, line) => (line.trim() ? Math.min(least, indent(line)) : least), 80);
  const inner = rest.map((line) => line.slice(Math.min(shift, indent(line))));
  // Lines right below the first are the same sentence, unless they begin something.
  let same = 0;
  while (same < inner.length && inner[same].trim() && !opens(inner, same)) same += 1;
  const told = [text, ...inner.slice(0, same)].join('\n');
  return h('li', {}, task && (task[1] === ' ' ? '☐ ' : '☑ '), inline(told, context), blocks(inner.slice(same), context, depth + 1));
}

function paragraph(lines, at, context) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !opens(lines, end)) end += 1;
  return [
    h(
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
  const found = [''];
  const written = line.trim().replace(/^\|/, '');
  for (const [piece] of written.matchAll(/\\\||\||[^|\\]+|\\/g)) {
    if (piece === '|') found.push('');
    else found[found.length - 1] += piece === '\\|' ? '|' : piece;
  }
  // The bar at the end closes the last cell.
  if (found.length > 1 && !found.at(-1)) found.pop();
  return found.map((cell) => cell.trim());
}

function table(lines, at, sides, context) {
  const head = row(cells(lines[at]), sides, context, 'th');
  const rows = [];
  let end = at + 2;
  // Where there is no room for more elements, the rows that are left follow as text.
  while (end < lines.length && context.left > 0 && lines[end].trim() && !begins(lines[end]) && !isRule(lines[end])) {
    rows.push(row(cells(lines[end]), sides, context, 'td'));
    end += 1;
  }
  const made = h('table', {}, h('thead', {}, head), rows.length > 0 && h('tbody', {}, rows));
  return [h('div', { class: 'scroll-x', tabindex: '0' }, made), end];
}

/** As many cells as there are columns. What a row has too many is told in its last: nothing that is stored stays unseen. */
function row(found, sides, context, tag) {
  context.left -= 1 + sides.length;
  const last = sides.length - 1;
  const told = found.length > sides.length ? [...found.slice(0, last), found.slice(last).join(' | ')] : found;
  return h(
    'tr',
    {},
    sides.map((side, index) =>
      h(tag, { scope: tag === 'th' ? 'col' : null, class: side ? `align-${side}` : null }, inline(told[index] ?? '', context)),
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
  let told = 0;
  let at = 0;
  while (at < text.length && context.left > 0 && depth < DEEPEST) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    if (!special) break;
    at = special.index;
    const found = span(text, at, ahead, context, depth);
    if (found) {
      context.left -= 1;
      if (at > told) nodes.push(plain(text.slice(told, at)));
      nodes.push(found.node);
      at = found.end;
      told = at;
    } else at += 1;
  }
  if (told < text.length) nodes.push(plain(text.slice(told)));
  return nodes;
}

/** Where something comes next. What was found once is not looked for again, so that all looking together reads the text but once. */
function lookout(text) {
  const known = new Map();
  return (mark, from) => {
    const before = known.get(mark);
    if (before !== undefined && (before === -1 || before >= from)) return before;
    const found = text.indexOf(mark, from);
    known.set(mark, found);
    return found;
  };
}

function span(text, at, ahead, context, depth) {
  const sign = text[at];
  if (sign === '\\') return /[\\`*_~[\]!#>()+.-]/.test(text[at + 1] ?? '') ? { node: plain(text[at + 1]), end: at + 2 } : null;
  if (sign === '`') return ticked(text, at, ahead);
  // A link inside a link is none.
  if (context.linked && 'h!['.includes(sign)) return null;
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
  return end > at + ticks ? { node: h('code', {}, plain(text.slice(at + ticks, end))), end: end + ticks } : null;
}

function emphasised(text, at, ahead, context, depth) {
  for (const [mark, tag] of EMPHASIS) {
    if (!text.startsWith(mark, at)) continue;
    const from = at + mark.length;
    // snake_case is no emphasis, nor is 2 * 3.
    if (!text[from]?.trim() || (mark[0] === '_' && LETTER.test(text[at - 1] ?? ''))) continue;
    const end = ahead(mark, from);
    if (end <= from || !text[end - 1].trim() || (mark[0] === '_' && LETTER.test(text[end + mark.length] ?? ''))) continue;
    return { node: h(tag, {}, inline(text.slice(from, end), context, depth + 1)), end: end + mark.length };
  }
  return null;
}

function bare(text, at) {
  if (LETTER.test(text[at - 1] ?? '')) return null;
  ADDRESS.lastIndex = at;
  const found = ADDRESS.exec(text);
  if (!found) return null;
  const written = found[0].replace(/[.,;:!?)\]}。，；：！？）】]{1,20}$/, '');
  const href = elsewhere(written);
  return href && { node: outward(href, plain(written)), end: at + written.length };
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
  const href = inside ?? elsewhere(target);
  if (!href) return null;
  context.linked = true;
  const words = label.trim() ? inline(label, context, depth + 1) : plain(target);
  context.linked = false;
  return { node: inside ? h('a', { href: inside }, words) : outward(href, words), end: end + 1 };
}

const outward = (href, words) => h('a', { href, rel: 'noreferrer noopener', target: '_blank' }, words);

/** The address of a page elsewhere, or null: what runs scripts or names no host is no address. */
function elsewhere(written) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(written)) return null;
  try {
    const found = new URL(written);
    return ['http:', 'https:', 'mailto:'].includes(found.protocol) ? found.href : null;
  } catch {
    return null;
  }
}
