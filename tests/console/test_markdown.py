"""Stored Markdown in the browser: elements of a short list, no script, no way to elsewhere but what a person clicks."""

from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from commonplace.testing.daemon import Daemon

ALLOWED = frozenset(
    "DIV P H3 H4 H5 H6 UL OL LI BLOCKQUOTE PRE CODE STRONG EM S A HR DL DT DD BDI SPAN TABLE THEAD TBODY TR TH TD".split(),
)
ATTRIBUTES = frozenset(["class", "href", "rel", "target", "start", "tabindex", "title", "scope"])
RENDERED = """
async (text) => {
  const base = document.querySelector('script[type=module]').src.replace(/app\\.js$/, '');
  const { markdown } = await import(base + 'parts/markdown.js');
  const begin = performance.now();
  const made = markdown(text, { link: (target) => (target === 'tone.md' ? '#/learning/files?path=tone.md' : null) });
  const seconds = (performance.now() - begin) / 1000;
  const all = [made, ...made.querySelectorAll('*')];
  document.body.append(made);
  const told = {
    seconds,
    tags: [...new Set(all.map((one) => one.tagName))],
    attributes: [...new Set(all.flatMap((one) => one.getAttributeNames()))],
    links: all.filter((one) => one.tagName === 'A').map((one) => [one.getAttribute('href'), one.textContent, one.rel]),
    text: made.textContent,
    many: all.length,
    cells: all.filter((one) => /^T[DH]$/.test(one.tagName)).map((one) => [one.textContent, one.getAttribute('class')]),
    shape: shape(made),
  };
  made.remove();
  return told;
  function shape(node) {
    const inner = [...node.childNodes].map((one) => (one.nodeType === 3 ? one.data : one.tagName === 'BDI' ? one.textContent : shape(one))).join('');
    return node === made ? inner : `<${node.tagName.toLowerCase()}>${inner}</${node.tagName.toLowerCase()}>`;
  }
}
"""
MERGED = """
async ([base, mine, theirs]) => {
  const at = document.querySelector('script[type=module]').src.replace(/app\\.js$/, '');
  const { merged } = await import(at + 'parts/merge.js');
  return merged(base, mine, theirs);
}
"""
PIECES = [
    *"<>[]()!*_`~#-+\\\n&;\"'/: \t",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "](javascript:alert(1))",
    "](JaVaScRiPt:alert(1))",
    "](data:text/html,<script>alert(1)</script>)",
    "](//example.org)",
    "](https://example.org/a)",
    "https://example.org/?q=<b>",
    "---\n",
    "|",
    "|-|\n",
    "|a|b|\n|:-|-:|\n",
    "> ",
    "- ",
    "1. ",
    "```\n",
    "\u202e",
    "\x00",
    "记忆",
    "word ",
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@pytest.fixture(scope="module")
def page(browser: Browser, daemon: Daemon) -> Generator[Page]:
    """The console's modules can be loaded in it; nobody has to be signed in for that."""
    context = browser.new_context(base_url=daemon.url)
    made = context.new_page()
    made.goto("/")
    yield made
    context.close()


def rendered(page: Page, text: str) -> dict[str, Any]:
    return page.evaluate(RENDERED, text)


def shape(page: Page, text: str) -> str:
    return rendered(page, text)["shape"]


def refuse_harm(page: Page, text: str) -> dict[str, Any]:
    before = page.url
    made = rendered(page, text)
    assert set(made["tags"]) <= ALLOWED
    assert set(made["attributes"]) <= ATTRIBUTES
    for href, _, rel in made["links"]:
        assert href.startswith(("http://", "https://", "mailto:", "#/learning/")), href
        assert href.startswith("#/") or "noreferrer" in rel
    assert page.url == before
    return made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n### Three", "<h3>One</h3><h5>Three</h5>"),
        ("a **b** *c* `d` ~~e~~", "<p>a <strong>b</strong> <em>c</em> <code>d</code> <s>e</s></p>"),
        ("snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"),
        ("- a\n- b\n  - c\n\n1. d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>d</li></ol>"),
        ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"),
        ("```sh\n**a**\n```\nb", "<pre><code>**a**</code></pre><p>b</p>"),
        ("a\n\n---\n\nb", "<p>a</p><hr></hr><p>b</p>"),
        ("- [x] a\n- [ ] b", "<ul><li>☑ a</li><li>☐ b</li></ul>"),
        ("\\*a\\*", "<p>*a*</p>"),
        ("一*二*三", "<p>一<em>二</em>三</p>"),
    ],
)
def test_markdown_becomes_the_elements_it_means(page: Page, text: str, expected: str) -> None:
    assert shape(page, text) == expected


@pytest.mark.parametrize(
    ("text", "head", "rows"),
    [
        ("| a | b |\n|---|---|\n| c | d |", "a,b", ["c,d"]),
        ("a | b\n- | -\nc | d\n\ne", "a,b", ["c,d"]),
        ("| a |\n| - |", "a", []),
        ("|a|b|\n|-|-|\n| c\n| d | e | f |", "a,b", ["c,", "d,e | f"]),
        ("|a|b|\n|-|-|\n|  | c |\n||", "a,b", [",c", ","]),
        ("| **a** | [b](https://example.org) |\n|-|-|", "<strong>a</strong>,<a>b</a>", []),
        ("|a|b|\n|-|-|\n| c \\| d | `e \\| f` |", "a,b", ["c | d,<code>e | f</code>"]),
        ("|名|值|\n|-|-|\n|一|二|", "名,值", ["一,二"]),
        ("|a|\n|-|\nb", "a", ["b"]),
    ],
)
def test_a_table_has_a_row_for_each_line(page: Page, text: str, head: str, rows: list[str]) -> None:
    def told(row: str, tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in row.split(','))}</tr>"

    body = f"<tbody>{''.join(told(row, 'td') for row in rows)}</tbody>" if rows else ""
    expected = f"<div><table><thead>{told(head, 'th')}</thead>{body}</table></div>"

    assert shape(page, text).removesuffix("<p>e</p>") == expected


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("before\n|a|\n|-|\n|b|\n\nafter", "<p>before</p>TABLE<p>after</p>"),
        ("|a|\n|-|\n|b|\n---\n# after", "TABLE<hr></hr><h3>after</h3>"),
        ("> |a|\n> |-|\n> |b|\nafter", "<blockquote>TABLE</blockquote><p>after</p>"),
        ("- item\n  |a|\n  |-|\n  |b|\n- next", "<ul><li>itemTABLE</li><li>next</li></ul>"),
    ],
)
def test_a_table_stands_among_other_things(page: Page, text: str, around: str) -> None:
    table = "<div><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table></div>"

    assert shape(page, text).replace(table, "TABLE") == around


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |",
        "a\n---\nb | c",
        "| a | b |\n|---|",
        "| a | b |\n|---|-x-|",
        "| a | b |\n|---|:|",
        f"{'|a' * 61}|\n{'|-' * 61}|",
        "```\n|a|\n|-|\n```",
    ],
)
def test_what_only_looks_like_a_table_is_text(page: Page, text: str) -> None:
    assert "TABLE" not in rendered(page, text)["tags"]


def test_columns_keep_to_the_side_that_is_asked_for(page: Page) -> None:
    made = rendered(page, "|a|b|c|d|\n|-|:-|:-:|-:|\n|e|f|g|h|")

    sides = [None, "align-left", "align-center", "align-right"]
    assert made["cells"] == [[text, side] for text, side in zip("abcdefgh", sides * 2, strict=True)]


def test_of_a_table_without_end_all_is_shown_but_not_all_as_a_table(page: Page) -> None:
    made = refuse_harm(page, "|a|b|\n|-|-|\n" + "".join(f"|{n}|x|\n" for n in range(10_000)))

    assert made["many"] < 40_000
    assert 1_000 < len(made["cells"]) < 9_000
    assert "9999" in made["text"]


def test_frontmatter_is_shown_as_facts(page: Page) -> None:
    made = shape(page, '---\nname: Tone\ndescription: "Plain: short"\ntype: feedback\n---\nBe brief.')

    assert "<dt>description</dt><dd>Plain: short</dd>" in made
    assert made.endswith("<p>Be brief.</p>")


def test_links_lead_to_pages_elsewhere_or_to_files_that_are_there(page: Page) -> None:
    made = rendered(
        page,
        "[a](https://example.org/x) [b](tone.md) [c](gone.md) <https://example.org/y>. mailto [d](mailto:a@example.org)",
    )

    assert [href for href, _, _ in made["links"]] == [
        "https://example.org/x",
        "#/learning/files?path=tone.md",
        "https://example.org/y",
        "mailto:a@example.org",
    ]
    assert "[c](gone.md)" in made["text"]


@pytest.mark.parametrize(
    "text",
    [
        "<script>document.title = 'harm'</script>",
        "[x](javascript:alert(1)) [y](  javascript:alert(1)) [z](java\nscript:alert(1)) ![i](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=) [v](vbscript:x) [f](file:///etc/passwd) [r](//example.org)",
        "<img src=x onerror=\"document.title='harm'\"><svg onload=alert(1)>",
        "[a]: javascript:alert(1)\n\n[a] <javascript:alert(1)>",
        '---\nname: <b>x</b>\n"><script>: y\n---\n<b>z</b>',
    ],
)
def test_what_would_run_is_only_text(page: Page, text: str) -> None:
    made = refuse_harm(page, text)

    assert not made["links"]
    assert "harm" not in page.title()


@settings(max_examples=60, deadline=None)
@given(text=HOSTILE)
def test_no_text_makes_an_element_that_is_not_on_the_list(page: Page, text: str) -> None:
    refuse_harm(page, text)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "*",
        "**a ",
        "_a",
        "[",
        "[a](",
        "`",
        "> ",
        "- ",
        "~~a",
        "![",
        "\\",
        "# ",
        "https://",
        "1. a\n",
        "- a\n",
        "> a\n",
        "  - a\n",
        "```\n",
        "[a](b)",
        "|",
        "|-",
        "\\|",
        "|\n",
        "|-|\n",
        "|a|\n|-|\n",
        "|a|b|c|\n|-|-|-|\n\n",
    ],
)
def test_a_hundred_kilobytes_of_one_thing_take_no_time(page: Page, piece: str) -> None:
    made = refuse_harm(page, piece * (100_000 // len(piece)))

    # Of a busy machine: what grows with the square of the length takes minutes.
    assert made["seconds"] < 5
    assert made["many"] < 40_000


# ---- two changes of one text


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "text"),
    [
        ("a\nb\nc", "a\nb\nc", "a\nB\nc", "a\nB\nc"),
        ("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"),
        ("a\nb\nc", "a\nb\nc\nmine", "theirs\na\nb\nc", "theirs\na\nb\nc\nmine"),
        ("a\nb\nc", "a\nc", "a\nb\nc\nd", "a\nc\nd"),
        ("a", "same", "same", "same"),
    ],
)
def test_changes_of_different_lines_are_merged(page: Page, base: str, mine: str, theirs: str, text: str) -> None:
    assert page.evaluate(MERGED, [base, mine, theirs]) == {"text": text, "clean": True}


def test_changes_of_the_same_line_stand_beside_each_other(page: Page) -> None:
    both = page.evaluate(MERGED, ["a\nb\nc", "a\nmine\nc", "a\ntheirs\nc"])

    assert both == {"text": "a\n<<<<<<< mine\nmine\n=======\ntheirs\n>>>>>>> theirs\nc", "clean": False}
