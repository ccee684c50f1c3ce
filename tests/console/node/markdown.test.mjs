// Markdown as a tree: what a text becomes, and that no text becomes anything that could run or takes long.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseMarkdown } from '../../../src/commonplace/console/text/markdown.js';
import { numbers } from './random.mjs';

const TAGS = new Set('a blockquote code dd div dl dt em h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul'.split(' '));
const PROPS = new Set(['class', 'href', 'rel', 'target', 'start', 'tabindex', 'scope']);
const LONG = 300_000;

const FILES = { 'tone.md': '#/learning/files?path=tone.md' };
const parse = (text) => parseMarkdown(text, { link: (target) => FILES[target] ?? null });

const nodesOf = (node) => (typeof node === 'string' ? [] : [node, ...node.children.flatMap(nodesOf)]);
const textOf = (node) => (typeof node === 'string' ? node : node.children.map(textOf).join(''));
const linksOf = (tree) => nodesOf(tree).filter(({ tag }) => tag === 'a');

function shapeOf(node) {
  if (typeof node === 'string') return node;
  return `<${node.tag}>${node.children.map(shapeOf).join('')}</${node.tag}>`;
}

const shape = (text) => parse(text).children.map(shapeOf).join('');

function assertHarmless(tree) {
  const nodes = nodesOf(tree);
  for (const { tag, props } of nodes) {
    assert.ok(TAGS.has(tag), tag);
    for (const name of Object.keys(props)) assert.ok(PROPS.has(name), name);
  }
  for (const { props } of linksOf(tree)) {
    assert.match(props.href, /^(?:https?:\/\/|mailto:|#\/learning\/)/);
    if (!props.href.startsWith('#')) assert.equal(props.rel, 'noreferrer noopener');
  }
  return nodes.length;
}

// ---- what a text becomes

for (const [text, expected] of [
  ['', ''],
  ['\n\n \n', ''],
  ['# One\n### Three', '<h3>One</h3><h5>Three</h5>'],
  ['###### Six', '<h6>Six</h6>'],
  ['# Closed ##', '<h3>Closed</h3>'],
  ['#No space', '<p>#No space</p>'],
  ['a **b** *c* `d` ~~e~~', '<p>a <strong>b</strong> <em>c</em> <code>d</code> <s>e</s></p>'],
  ['**a *b* c**', '<p><strong>a <em>b</em> c</strong></p>'],
  ['snake_case_name and 2 * 3 * 4', '<p>snake_case_name and 2 * 3 * 4</p>'],
  ['**open and `open', '<p>**open and `open</p>'],
  ['`` a ` b ``', '<p><code> a ` b </code></p>'],
  ['- a\n- b\n  - c\n\n1. d', '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>d</li></ol>'],
  ['- a\n\n  b\n- c', '<ul><li>a<p>b</p></li><li>c</li></ul>'],
  ['> a\n> > b', '<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>'],
  ['a\n\n---\n\nb', '<p>a</p><hr></hr><p>b</p>'],
  ['- [x] a\n- [ ] b', '<ul><li>☑ a</li><li>☐ b</li></ul>'],
  ['\\*a\\*', '<p>*a*</p>'],
  ['line\r\nline\rline', '<p>line\nline\nline</p>'],
]) {
  test(`${JSON.stringify(text)} becomes the elements it means`, () => {
    assert.equal(shape(text), expected);
  });
}

test('headings begin at the level that is asked for and end at the sixth', () => {
  const tree = parseMarkdown('# One\n###### Six', { level: 5 });

  assert.deepEqual(
    tree.children.map(({ tag }) => tag),
    ['h5', 'h6'],
  );
});

test('a numbered list begins with its first number', () => {
  assert.equal(parse('7. a\n8. b').children[0].props.start, 7);
  assert.equal(parse('1. a').children[0].props.start, null);
});

test('a code block holds its lines as they are', () => {
  assert.equal(shape('```sh\n**a**\n  <b>\n```\nb'), '<pre><code>**a**\n  <b></code></pre><p>b</p>');
});

test('a longer fence holds a shorter one', () => {
  assert.equal(shape('````\n```\na\n```\n````\nb'), '<pre><code>```\na\n```</code></pre><p>b</p>');
});

for (const fence of ['```', '~~~', '  ```js']) {
  test(`a fence that is never closed (${fence}) holds the rest of the text`, () => {
    assert.equal(shape(`a\n\n${fence}\n# b\n\n- c`), '<p>a</p><pre><code># b\n\n- c</code></pre>');
  });
}

test('frontmatter is shown as facts, whatever is in it', () => {
  const text = "---\nname: Tone\ndescription: \"Plain: <b>short</b>\"\nquoted: 'it''s'\nbroken: \"a\nempty:\n---\nBe brief.";

  assert.equal(
    shape(text),
    "<dl><dt>name</dt><dd>Tone</dd><dt>description</dt><dd>Plain: <b>short</b></dd><dt>quoted</dt><dd>it's</dd>" +
      '<dt>broken</dt><dd>"a</dd><dt>empty</dt><dd></dd></dl><p>Be brief.</p>',
  );
});

test('what only looks like frontmatter is text', () => {
  assert.equal(shape('---\nnot a field\n---\nBe brief.'), '<hr></hr><p>not a field\n---\nBe brief.</p>');
});

test('frontmatter that is never closed is text', () => {
  assert.equal(shape('---\nname: Tone\n\nBe brief.'), '<hr></hr><p>name: Tone</p><p>Be brief.</p>');
});

// ---- other scripts

test('Chinese, Japanese and Korean texts need no spaces around what is emphasised', () => {
  assert.equal(shape('一*二*三'), '<p>一<em>二</em>三</p>');
  assert.equal(shape('**記憶**は한국어'), '<p><strong>記憶</strong>は한국어</p>');
});

test('a Chinese full stop ends an address', () => {
  const [link] = linksOf(parse('见 https://example.org/a。'));

  assert.equal(link.props.href, 'https://example.org/a');
  assert.equal(textOf(parse('见 https://example.org/a。')), '见 https://example.org/a。');
});

test('pictures outside the basic plane stay whole, alone and beside marks', () => {
  const family = '👨‍👩‍👧‍👦';

  assert.equal(shape(`**${family}** \\😀 😀`), `<p><strong>${family}</strong> \\😀 😀</p>`);
  assert.equal(shape(`- ${family}\n> 𠮷`), `<ul><li>${family}</li></ul><blockquote><p>𠮷</p></blockquote>`);
});

test('half a surrogate pair is passed on and breaks nothing', () => {
  assert.equal(textOf(parse('a \ud83d *b\udc00* c')), 'a \ud83d b\udc00 c');
});

// ---- tables

const table = (head, rows) => {
  const row = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  const body = rows.length ? `<tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody>` : '';
  return `<div><table><thead>${row(head, 'th')}</thead>${body}</table></div>`;
};

for (const [text, head, ...rows] of [
  ['| a | b |\n|---|---|\n| c | d |', ['a', 'b'], ['c', 'd']],
  ['a | b\n- | -\nc | d', ['a', 'b'], ['c', 'd']],
  ['| a |\n| - |', ['a']],
  ['|a|b|\n|-|-|\n| c\n| d | e | f |', ['a', 'b'], ['c', ''], ['d', 'e | f']],
  ['|a|b|\n|-|-|\n|  | c |\n||', ['a', 'b'], ['', 'c'], ['', '']],
  ['| **a** | [b](https://example.org) |\n|-|-|', ['<strong>a</strong>', '<a>b</a>']],
  ['|a|b|\n|-|-|\n| c \\| d | `e \\| f` |', ['a', 'b'], ['c | d', '<code>e | f</code>']],
  ['|名|值|\n|-|-|\n|一|二|', ['名', '值'], ['一', '二']],
  ['|😀|\n|-|\n|👨‍👩‍👧|', ['😀'], ['👨‍👩‍👧']],
  ['|a|\n|-|\nb', ['a'], ['b']],
  ['|<b>|\n|-|\n|<script>|', ['<b>'], ['<script>']],
]) {
  test(`${JSON.stringify(text)} has a row for each line`, () => {
    assert.equal(shape(text), table(head, rows));
  });
}

for (const [text, around] of [
  ['before\n|a|\n|-|\n|b|\n\nafter', '<p>before</p>TABLE<p>after</p>'],
  ['|a|\n|-|\n|b|\n---\n# after', 'TABLE<hr></hr><h3>after</h3>'],
  ['> |a|\n> |-|\n> |b|\nafter', '<blockquote>TABLE</blockquote><p>after</p>'],
  ['- item\n  |a|\n  |-|\n  |b|\n- next', '<ul><li>itemTABLE</li><li>next</li></ul>'],
]) {
  test(`a table stands among other things: ${JSON.stringify(text)}`, () => {
    assert.equal(shape(text).replace(table(['a'], [['b']]), 'TABLE'), around);
  });
}

for (const text of [
  '| a | b |',
  'a\n---\nb | c',
  '| a | b |\n|---|',
  '| a | b |\n|---|-x-|',
  '| a | b |\n|---|:|',
  `${'|a'.repeat(61)}|\n${'|-'.repeat(61)}|`,
  '```\n|a|\n|-|\n```',
]) {
  test(`what only looks like a table is text: ${JSON.stringify(text.slice(0, 30))}`, () => {
    assert.ok(nodesOf(parse(text)).every(({ tag }) => tag !== 'table'));
  });
}

test('columns keep to the side that is asked for', () => {
  const cells = nodesOf(parse('|a|b|c|d|\n|-|:-|:-:|-:|\n|e|f|g|h|')).filter(({ tag }) => tag === 'td');

  assert.deepEqual(
    cells.map(({ props }) => props.class),
    [null, 'align-left', 'align-center', 'align-right'],
  );
});

test('of a table without end everything is there, but not everything as a table', () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => `|${index}|x|`).join('\n');
  const tree = parse(`|a|b|\n|-|-|\n${rows}`);

  const cells = nodesOf(tree).filter(({ tag }) => tag === 'td');
  assert.ok(cells.length > 1_000 && cells.length < 9_000);
  assert.ok(textOf(tree).includes('9999'));
});

// ---- links, and what would run

test('links lead to pages elsewhere or to files that are there', () => {
  const tree = parse('[a](https://example.org/x) [b](tone.md) [c](gone.md) <https://example.org/y>. [d](mailto:a@example.org) [](tone.md)');

  assert.deepEqual(
    linksOf(tree).map(({ props }) => props.href),
    ['https://example.org/x', FILES['tone.md'], 'https://example.org/y', 'mailto:a@example.org', FILES['tone.md']],
  );
  assert.ok(textOf(tree).includes('[c](gone.md)'));
  assert.equal(textOf(linksOf(tree).at(-1)), 'tone.md');
});

test('a link inside a link is none', () => {
  assert.equal(shape('[a https://example.org b](tone.md)'), '<p><a>a https://example.org b</a></p>');
});

test('after a link that has marks in it, addresses are links again', () => {
  assert.equal(linksOf(parse('[**a** `b`](tone.md) https://example.org')).length, 2);
});

for (const text of [
  '<script>alert(1)</script>',
  '<img src=x onerror="alert(1)"><svg onload=alert(1)>',
  '[x](javascript:alert(1)) [y](  javascript:alert(1)) ![i](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1)) [y](\u0001javascript:alert(1)) [z](java\nscript:alert(1)) [t](java\tscript:alert(1))',
  '[x](<javascript:alert(1)>) [y](&#106;avascript:alert(1)) [z](%6aavascript:alert(1))',
  '[x](data:text/html;base64,PHNjcmlwdD4=) [v](vbscript:x) [f](file:///etc/passwd) [r](//example.org)',
  '[x](https:javascript:alert(1)) [y](http:///) [z](https://[) [q](mailto)',
  '[a]: javascript:alert(1)\n\n[a] <javascript:alert(1)>',
  '---\nname: <b>x</b>\n"><script>: y\n---\n<b>z</b>',
]) {
  test(`what would run is only text: ${JSON.stringify(text.slice(0, 40))}`, () => {
    const tree = parse(text);

    assertHarmless(tree);
    assert.deepEqual(linksOf(tree), []);
  });
}

test('HTML stays text, entities and all', () => {
  assert.equal(shape('<b>a</b> &lt;i&gt; <!-- c -->'), '<p><b>a</b> &lt;i&gt; <!-- c --></p>');
  assert.deepEqual(
    nodesOf(parse('<b>a</b>')).map(({ tag }) => tag),
    ['div', 'p'],
  );
});

// ---- any text

const PIECES = [
  ...'<>[]()!*_`~#-+\\\n&;"\'/: \t',
  '<script>alert(1)</script>',
  '](javascript:alert(1))',
  '](tone.md)',
  '](https://example.org/a)',
  'https://example.org/?q=<b>',
  '---\n',
  '|',
  '|-|\n',
  '|a|b|\n|:-|-:|\n',
  '> ',
  '- ',
  '1. ',
  '```\n',
  '\u202e',
  '\x00',
  '\ud83d',
  '😀',
  '记忆',
  'word ',
];

const anyText = (next, pieces) => Array.from({ length: next(60) }, () => pieces[next(pieces.length)]).join('');

test('no text becomes an element, a property or an address that is not on the list', () => {
  const next = numbers(20);
  for (let run = 0; run < 3_000; run += 1) assertHarmless(parse(anyText(next, PIECES)));
});

test('no word of a text is lost', () => {
  // What names a language behind a fence and where a link leads are not shown: neither is drawn here.
  const pieces = PIECES.filter((piece) => !/[`~]|\]\(/.test(piece));
  const count = (text) => (text.match(/word|记忆|😀|alert/g) ?? []).length;
  const next = numbers(21);
  for (let run = 0; run < 3_000; run += 1) {
    const text = anyText(next, pieces);

    assert.equal(count(textOf(parse(text))), count(text), JSON.stringify(text));
  }
});

for (const piece of [
  'a',
  '*',
  '**a ',
  '_a',
  '[',
  '[a](',
  '[a](https://',
  '`',
  '` ``',
  '> ',
  '- ',
  '~~a',
  '![',
  '\\',
  '# ',
  'https://',
  'https://a.b ',
  '1. a\n',
  '- a\n',
  '- \n\n',
  '> a\n',
  '  - a\n',
  '```\n',
  '~~~a\n',
  '[a](b)',
  '|',
  '|-',
  '\\|',
  '|\n',
  '|-|\n',
  '|a|\n|-|\n',
  '|a|b|c|\n|-|-|-|\n\n',
  'a: b\n',
  ' ',
  '\t',
  '\n',
  '字',
  '😀',
  '\u202e',
]) {
  // The test of the whole file has a time limit: a loop that grows with the square of the length would not end within it.
  test(`300,000 characters of ${JSON.stringify(piece)} end, with a bounded number of elements`, () => {
    assert.ok(assertHarmless(parse(piece.repeat(LONG / piece.length))) < 40_000);
  });
}
