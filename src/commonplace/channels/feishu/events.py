"""What Feishu tells of: messages, buttons, and rooms that let us in. The shapes of its events, and what they say of a message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from pydantic import BaseModel, Field

from commonplace.values.envelope import AttachmentKind, ChatAttachment

MESSAGE: Final = "im.message.receive_v1"
ACTION: Final = "card.action.trigger"
ADDED: Final = "im.chat.member.bot.added_v1"
REMOVED: Final = "im.chat.member.bot.deleted_v1"
_FILE_KEYS: Final[dict[str, tuple[str, AttachmentKind]]] = {
    "image": ("image_key", "image"),
    "file": ("file_key", "file"),
    "audio": ("file_key", "audio"),
    "media": ("file_key", "video"),
}
_DEEPEST: Final = 20
# `@_user_1` is the beginning of `@_user_10`.
_KEY: Final = re.compile(r"@_(?:user_[0-9]{1,9}|all)")


class Ids(BaseModel):
    open_id: str | None = None
    user_id: str | None = None
    union_id: str | None = None

    @property
    def best(self) -> str:
        """The one by which we know somebody."""
        return self.open_id or self.user_id or self.union_id or ""


class Mention(BaseModel):
    """`id` is an object in events, and a text in messages that were asked for."""

    key: str
    id: Ids | str = Field(default_factory=Ids)
    name: str = ""

    def is_of(self, open_id: str | None) -> bool:
        id = self.id if isinstance(self.id, str) else self.id.open_id
        return bool(open_id) and id == open_id


class FeishuMessage(BaseModel):
    message_id: str
    chat_id: str
    chat_type: str = "group"
    message_type: str = "text"
    content: str = "{}"
    create_time: str = ""
    parent_id: str | None = None
    root_id: str | None = None
    mentions: list[Mention] | None = None


class Sender(BaseModel):
    sender_id: Ids | None = None
    sender_type: str = "user"


class MessageEvent(BaseModel):
    message: FeishuMessage
    sender: Sender


class Action(BaseModel):
    value: dict[str, Any] | None = None


class ActionContext(BaseModel):
    open_message_id: str = ""
    open_chat_id: str = ""


class ActionEvent(BaseModel):
    operator: Ids
    action: Action
    context: ActionContext = Field(default_factory=ActionContext)


class BotEvent(BaseModel):
    """We were let into a group, or put out of it."""

    chat_id: str
    name: str | None = None


class EventHeader(BaseModel):
    event_type: str
    event_id: str = ""
    token: str = ""


class FeishuEvent(BaseModel):
    header: EventHeader
    event: dict[str, Any]


class QuotedSender(BaseModel):
    id: str = ""
    sender_type: str = ""


class QuotedBody(BaseModel):
    content: str = "{}"


class FeishuQuotation(BaseModel):
    msg_type: str = "text"
    sender: QuotedSender = Field(default_factory=QuotedSender)
    body: QuotedBody = Field(default_factory=QuotedBody)
    mentions: list[Mention] | None = None


def sent_at(message: FeishuMessage, now: datetime) -> datetime:
    """When it was said, in milliseconds since 1970; what is no time is now."""
    try:
        return datetime.fromtimestamp(int(message.create_time) / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return now


def message_text(kind: str, content: str) -> str:
    """What somebody wrote, with the keys of mentions; nothing if it is no text."""
    document = _document(content)
    if kind == "text":
        return _text(document.get("text"))
    if kind in ("post", "interactive"):
        body = _localised(document)
        lines = [_text(body.get("title")), *_lines(body.get("content") or body.get("elements"))]
        return "\n".join(line for line in lines if line)
    return ""


def attachments_of(message: FeishuMessage) -> tuple[ChatAttachment, ...]:
    """The files of a message; the message is part of how they are fetched."""
    document = _document(message.content)
    if message.message_type == "post":
        spans = list(_spans(_localised(document).get("content")))
        parts = [(_text(span.get("tag")).replace("img", "image"), span) for span in spans]
    else:
        parts = [(message.message_type, document)]
    files: list[ChatAttachment] = []
    for kind, part in parts:
        if kind not in _FILE_KEYS:
            continue
        name, attachment = _FILE_KEYS[kind]
        key = _text(part.get(name))
        if key:
            reference = f"{message.message_id}/{'image' if attachment == 'image' else 'file'}/{key}"
            files.append(ChatAttachment(kind=attachment, name=_text(part.get("file_name")) or key, reference=reference))
    return tuple(files)


def with_names(text: str, mentions: Sequence[Mention], bot: str | None) -> str:
    """Keys of mentions as names; the first of our own is left out."""
    by_key = {mention.key: mention for mention in mentions if mention.key}
    if not by_key:
        return text.strip()
    is_named = False

    def name_of(match: re.Match[str]) -> str:
        nonlocal is_named
        mention = by_key.get(match[0])
        if mention is None:
            return match[0]
        if mention.is_of(bot) and not is_named:
            is_named = True
            return ""
        return f"@{mention.name or 'somebody'}"

    return _KEY.sub(name_of, text).strip()


def _document(content: str) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}


def _localised(document: dict[str, Any]) -> dict[str, Any]:
    """A post may be in several languages; one is as good as the other. A card of version 2.0 has a body."""
    body = document.get("body")
    if isinstance(body, dict) and "elements" in body:
        return cast("dict[str, Any]", body)
    if "content" in document or "elements" in document:
        return document
    bodies = [cast("dict[str, Any]", value) for value in document.values() if isinstance(value, dict)]
    return next((body for body in bodies if "content" in body), document)


def _lines(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    rows = cast("list[object]", value)
    return ["".join(_span_text(span) for span in _spans(row)) for row in rows]


def _spans(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The pieces of a line, or of all lines, however they are nested."""
    if isinstance(value, dict):
        yield cast("dict[str, Any]", value)
    elif isinstance(value, list) and depth < _DEEPEST:
        for entry in cast("list[object]", value):
            yield from _spans(entry, depth + 1)


def _span_text(span: dict[str, Any]) -> str:
    tag, text = span.get("tag"), _text(span.get("text"))
    if tag == "at":
        return _text(span.get("user_id")) or f"@{_text(span.get('user_name'))}"
    if tag == "code_block":
        return f"\n```{_text(span.get('language'))}\n{text}\n```\n"
    href = _text(span.get("href"))
    if tag == "a" and href and href != text:
        return f"{text} ({href})"
    return text or _text(span.get("content"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
