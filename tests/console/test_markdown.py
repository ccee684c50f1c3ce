"""
Stored Markdown in the browser: elements of a short list, no script, no way to elsewhere but what a person clicks. What a text means is
tested without one (`node/markdown.test.mjs`).
"""

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
  const made = markdown(text, { link: (target) => (target === 'tone.md' ? '#/learning/files?path=tone.md' : null) });
  const all = [made, ...made.querySelectorAll('*')];
  document.body.append(made);
  const told = {
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


def test_markdown_becomes_the_elements_it_means(page: Page) -> None:
    text = "---\nname: Tone\n---\n# One\n\na **b** `c`\n\n- [x] d\n  - 一\n\n> e\n\n```\n*f*\n```\n---\n|g|\n|-:|\n|h|"

    made = rendered(page, text)

    assert made["shape"] == (
        "<dl><dt>name</dt><dd>Tone</dd></dl><h3>One</h3><p>a <strong>b</strong> <code>c</code></p>"
        "<ul><li>☑ d<ul><li>一</li></ul></li></ul><blockquote><p>e</p></blockquote><pre><code>*f*</code></pre><hr></hr>"
        "<div><table><thead><tr><th>g</th></tr></thead><tbody><tr><td>h</td></tr></tbody></table></div>"
    )
    assert made["cells"] == [["g", "align-right"], ["h", "align-right"]]


def test_what_cannot_be_seen_is_marked(page: Page) -> None:
    assert rendered(page, "a\u202eb `\x00` \u200b\u200b")["text"] == "aU+202Eb U+0000 U+200B ×2"


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


def test_of_a_text_without_end_all_is_shown_with_a_bounded_number_of_elements(page: Page) -> None:
    made = refuse_harm(page, "|a|b|\n|-|-|\n" + "".join(f"|{n}|x|\n" for n in range(10_000)) + "**a** " * 10_000)

    assert made["many"] < 40_000
    assert "9999" in made["text"]
