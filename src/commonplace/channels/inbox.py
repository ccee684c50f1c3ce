"""What is taken of what a platform brings: which messages are none of this channel, what is left out of others, and how they are kept."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Final, cast

from commonplace.channels.prefix import MAX_FILE_NAME, MAX_NAME, MAX_QUOTE
from commonplace.channels.speakers import from_reach_data, reach_data
from commonplace.values.channel import LOCAL_KINDS, MAX_CHAT, ChannelProfile, RoomMessage, RoomMessageDraft
from commonplace.values.envelope import ChatAttachment, Envelope
from commonplace.values.json import Json
from commonplace.values.moment import utc

MAX_TEXT: Final = 100_000
MAX_ID: Final = 255
MOST_FILES: Final = 10
CUT: Final = "\n\n(The message is longer than this. The rest of it was not read.)"
_REFERENCE: Final = 2_048
RUN: Final = "run"
SESSION: Final = "session"
"""In which session a message was said."""
PROGRESS: Final = "progress"
"""How much of its answer was told when its channel was stopped."""
TELLING: Final = "telling"
"""The end of its turn was begun to be told."""


def accepted(profile: ChannelProfile, envelope: Envelope) -> Envelope | None:
    """
    The message as it may be kept: of a bounded size, as text that every store takes, and saying of itself only what its platform may say. None:
    it is no message of this channel.
    """
    ids = (envelope.id, MAX_ID), (envelope.sender, MAX_ID), (envelope.chat, MAX_CHAT), (envelope.thread or "-", MAX_ID)
    if envelope.channel != profile.name or not all(_is_id(id, most) for id, most in ids) or "*" in envelope.chat:
        return None
    text = _storable(envelope.text[:MAX_TEXT]) + (CUT if len(envelope.text) > MAX_TEXT else "")
    quote = None if envelope.quote is None else _storable(envelope.quote[: MAX_QUOTE * 4])
    return replace(
        envelope,
        text=text,
        sender_name=_storable(envelope.sender_name[: MAX_NAME * 8]),
        quote=quote,
        attachments=tuple(_attachment(file, profile) for file in envelope.attachments[:MOST_FILES]),
        # Only what we wrote ourselves says who said what, and only our own rooms know who somebody is.
        already_prefixed=False,
        asker=envelope.asker if profile.kind in LOCAL_KINDS else None,
    )


def is_blank(text: str) -> bool:
    """Whether nothing is to be seen of it."""
    return all(unicodedata.category(character)[0] in "CZ" for character in text)


def draft_of(envelope: Envelope, run: str) -> RoomMessageDraft:
    data: dict[str, Json] = {RUN: run, "group": envelope.is_group, "for_us": envelope.mentions_bot}
    if envelope.replies_to_bot:
        data["replies"] = True
    if envelope.thread is not None:
        data["thread"] = envelope.thread
    if envelope.quote is not None:
        data["quote"] = envelope.quote
    if envelope.attachments:
        data["attachments"] = attachment_data(envelope.attachments)
    if envelope.asker is not None:
        data["reach"] = reach_data(envelope.asker)
    return RoomMessageDraft(
        channel=envelope.channel,
        chat=envelope.chat,
        id=envelope.id,
        at=utc(envelope.at),
        author="person",
        text=envelope.text,
        sender=envelope.sender,
        sender_name=envelope.sender_name,
        data=data,
        handled=False,
    )


def envelope_of(tenant: str, channel: str, chat: str, message: RoomMessage) -> tuple[Envelope, str]:
    """What `draft_of` kept, and the run."""
    data = message.data
    files = cast("list[dict[str, str | None]]", data.get("attachments") or [])
    reach = data.get("reach")
    envelope = Envelope(
        id=message.id,
        channel=channel,
        chat=chat,
        sender=message.sender,
        sender_name=message.sender_name,
        text=message.text,
        at=message.at,
        thread=cast("str | None", data.get("thread")),
        is_group=bool(data.get("group", True)),
        mentions_bot=bool(data.get("for_us")),
        replies_to_bot=bool(data.get("replies")),
        quote=cast("str | None", data.get("quote")),
        attachments=tuple(ChatAttachment(**file) for file in files),  # pyright: ignore[reportArgumentType] - as `draft_of` wrote it
        asker=from_reach_data(tenant, reach) if isinstance(reach, dict) else None,
    )
    return envelope, str(data.get(RUN))


def _is_id(text: str, most: int) -> bool:
    return 1 <= len(text) <= most and text.isprintable()


def _storable(text: str) -> str:
    """Without NUL and lone surrogates, which no store takes."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def attachment_data(files: Sequence[ChatAttachment]) -> list[Json]:
    """As it is kept with a message."""
    return [dict(asdict(file)) for file in files]


def _attachment(file: ChatAttachment, profile: ChannelProfile) -> ChatAttachment:
    return replace(
        file,
        name=_storable(file.name[: MAX_FILE_NAME * 4]),
        reference=_storable(file.reference[:_REFERENCE]),
        # Only what was uploaded to us lies here already.
        path=file.path if profile.kind in LOCAL_KINDS else None,
        problem=None,
    )
