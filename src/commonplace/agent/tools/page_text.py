"""The words of a web page, without its markup."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

_HIDDEN: Final = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS: Final = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre "
    "section table td th tr ul".split()
)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.title = ""
        self._hidden: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "title":
            self._in_title = True
        elif tag == "body":
            # A head that nobody closed ends here.
            self._hidden.clear()
        elif tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BLOCKS:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._hidden:
            self.words.append(data)


def page_text(html: str) -> str:
    """The title and the text, a block a line."""
    page = _Page()
    page.feed(html)
    page.close()
    lines = (" ".join(line.split()) for line in "".join(page.words).split("\n"))
    text = "\n".join(line for line in lines if line)
    title = " ".join(page.title.split())
    return f"{title}\n\n{text}" if title else text
