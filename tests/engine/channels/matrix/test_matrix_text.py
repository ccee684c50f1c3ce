"""Our Markdown as HTML: nothing in it but what a room may show."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.channels.matrix.client import encoded, transaction
from commonplace.channels.matrix.text import EVENT_BYTES, bounded, formatted, sendable

TAGS = frozenset(
    "p strong em code pre ul ol li blockquote a h1 h2 h3 h4 h5 h6 hr br table thead tbody tr th td s del".split()
)
PIECES = [
    *("**", "`", "```\n", "\n", "# ", "> ", "- ", "1. ", "~~", "\\", '"', "|a|b|\n|-|-|\n", "[x]: http://y\n"),
    *("[a](", "javascript:x)", "data:text/html,z)", "https://a.b)", "![i](https://c.d/e)", "<https://f.g>"),
    *("<b>", "<img src=x ", "onerror=y>", "&lt;", "<@ana:home>", "\0", "\ud800", "\u202e"),
]
MARKDOWN = st.lists(st.text(max_size=6) | st.sampled_from(PIECES), max_size=30).map("".join)


class Seen(HTMLParser):
    """What stands in a document: its tags and their attributes, and its words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.words += data


@given(text=MARKDOWN)
def test_whatever_a_model_writes_only_what_may_be_shown_is_html(text: str) -> None:
    content = formatted(text)

    assert content["body"] == sendable(text)
    seen = Seen(content.get("formatted_body", ""))
    assert {tag for tag, _ in seen.elements} <= TAGS
    for _, attributes in seen.elements:
        for name, value in attributes:
            if name == "href":
                assert urlsplit(value or "").scheme in ("", "http", "https", "mailto") or ":" not in (value or "")[:12]
            else:
                assert name in ("class", "style", "start")
    content["body"].encode("utf-8")


@given(text=st.text() | MARKDOWN)
def test_what_is_sent_every_server_takes(text: str) -> None:
    clean = sendable(text)

    assert sendable(clean) == clean
    assert not any(ord(character) < 32 and character not in "\t\n" for character in clean)
    encoded({"body": clean}).decode("utf-8")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("On Fridays.", None),
        ("", None),
        ("[x]: http://y", None),
        ("a < b", "<p>a &lt; b</p>"),
        ("one\ntwo", "<p>one<br />\ntwo</p>"),
        ("**bold** ~~gone~~", "<p><strong>bold</strong> <s>gone</s></p>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("[x](javascript:alert(1))", None),
        ("![cat](https://evil.example/cat.png)", '<p>!<a href="https://evil.example/cat.png">cat</a></p>'),
        ("```py\nx < 1\n```", '<pre><code class="language-py">x &lt; 1\n</code></pre>'),
    ],
)
def test_markdown_as_html(text: str, html: str | None) -> None:
    assert formatted(text).get("formatted_body") == html


@given(size=st.integers(0, 40_000), letter=st.sampled_from(["a", "&", '"', "<", "好", "😀", "\\", "*a* "]))
def test_an_event_is_never_larger_than_a_server_takes(size: int, letter: str) -> None:
    text = (letter * size)[:4_000] if size > 4_000 else letter * (size % 4_000)
    text = text[:4_000]
    whole: dict[str, Any] = {"msgtype": "m.text", "body": "*", "m.new_content": formatted(text), **formatted(text)}

    assert len(encoded(bounded(whole))) <= EVENT_BYTES
    assert bounded(whole)["m.new_content"]["body"] == sendable(text)


@given(first=st.lists(st.text(), min_size=1, max_size=3), second=st.lists(st.text(), min_size=1, max_size=3))
def test_a_transaction_is_of_its_parts_and_of_nothing_else(first: list[str], second: list[str]) -> None:
    parts = [[part.replace("\0", "") for part in one] for one in (first, second)]

    same = transaction(*parts[0]) == transaction(*parts[1])

    assert same is (parts[0] == parts[1])
    assert len(transaction(*parts[0])) == 42
