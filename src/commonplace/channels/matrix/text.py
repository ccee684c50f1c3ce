"""Texts of Matrix messages: ours with their Markdown as HTML, other people's without what stands in them for other clients."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, cast
from urllib.parse import unquote

from markdown_it import MarkdownIt

from commonplace.channels.matrix.client import encoded
from commonplace.channels.matrix.events import MatrixEvent

EVENT_BYTES: Final = 60_000
"""A server takes events of 65,536 bytes, and adds some of its own."""
_HTML: Final = "org.matrix.custom.html"
# No HTML of a model's own; a picture of elsewhere would tell its server who reads the room.
_MARKDOWN: Final = (
    MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable("image")
)
_PLAIN: Final = re.compile(r"<p>[^<&]*</p>\n?")
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# `> <@ana:example.org> what she said`; a quotation that somebody wrote themselves is theirs.
_FALLBACK: Final = re.compile(r"> (?:\* )?<@[^>\n]+>")
_PILL: Final = re.compile(r"https://matrix\.to/#/(@[^\"'?\s]+|%40[^\"'?\s]+)", re.IGNORECASE)


def sendable(text: str) -> str:
    """What every server takes: no control characters, no lone surrogates."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n")).encode("utf-8", "replace").decode("utf-8")


def formatted(text: str) -> dict[str, Any]:
    """The text, and as HTML if it is Markdown."""
    text = sendable(text)
    html = _MARKDOWN.render(text).strip()
    if not html or _PLAIN.fullmatch(html):
        return {"body": text}
    return {"body": text, "format": _HTML, "formatted_body": html}


def bounded(content: dict[str, Any]) -> dict[str, Any]:
    """An event that a server takes: without the HTML if it is too large with it."""
    if len(encoded(content)) <= EVENT_BYTES:
        return content
    changed = content.get("m.new_content")
    if isinstance(changed, dict):
        content = {**content, "m.new_content": _plain(cast("dict[str, Any]", changed))}
    return _plain(content)


def without_fallback(event: MatrixEvent) -> str:
    """The text of a message, without the lines that quote what it answers for clients that cannot show that."""
    body = event.text("body")
    if not event.relation.in_reply_to or not _FALLBACK.match(body):
        return body
    lines = body.split("\n")
    quoted = 0
    while quoted < len(lines) and lines[quoted].startswith(">"):
        quoted += 1
    return "\n".join(lines[quoted:]).lstrip("\n")


class BotName:
    """By which words somebody means us: our id, the name in it, and how we are called in the room."""

    def __init__(self, user_id: str, name: str = "") -> None:
        self.user_id = user_id
        local = user_id.removeprefix("@").partition(":")[0]
        names = [local, name] if name else [local]
        marked = _either([user_id, *(f"@{word}" for word in names)])
        bare = _either(names)
        # Behind a name no more of a longer one: `@bot` is not in `@bot-two`, nor in `@bot:elsewhere.org`.
        self._anywhere = re.compile(rf"(?<![\w@])(?:{marked})(?![\w-]|[:.]\w)", re.IGNORECASE)
        self._first = re.compile(rf"(?:{marked})(?![\w-]|[:.]\w)[:,，：]?\s*", re.IGNORECASE)
        self._address = re.compile(rf"(?:{bare})[:,，：]\s*", re.IGNORECASE)
        self._pill = re.compile(rf"(?:{bare})(?!\w)[:,，：]?\s*", re.IGNORECASE)

    def is_meant(self, event: MatrixEvent, text: str) -> bool:
        """Whether a message names us: as its client says, or in its words."""
        mentions = event.content.get("m.mentions")
        if isinstance(mentions, dict):
            ids: Any = cast("dict[str, Any]", mentions).get("user_ids")
            if isinstance(ids, list) and self.user_id in ids:
                return True
            # Not everybody lets their client make a link of a name.
            return self._first.match(text) is not None or self._address.match(text) is not None
        return (
            self._anywhere.search(text) is not None
            or self._address.match(text) is not None
            or self.user_id in _pills(event.text("formatted_body"))
        )

    def without_address(self, text: str) -> str:
        """What somebody who means us says, without our name in front of it."""
        stripped = text.lstrip()
        match = self._first.match(stripped) or self._pill.match(stripped)
        return stripped[match.end() :] if match else text


def _pills(html: str) -> set[str]:
    return {unquote(match[1]) for match in _PILL.finditer(html[:100_000])}


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in ("format", "formatted_body")}
