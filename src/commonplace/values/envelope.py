"""What arrives from a chat platform, in one shape for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.principal import Principal

AttachmentKind = Literal["image", "file", "audio", "video"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatAttachment(JsonObject):
    """
    What somebody sent with a message. `reference` is how its platform knows it; `path` is where it was saved: the address of an artifact.
    `problem`: why it was not.
    """

    kind: AttachmentKind
    name: str
    reference: str = ""
    path: str | None = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """
    One message of somebody. `id` is the platform's: a message is handled once. `thread` is a thread of the chat, if the platform has them.
    `sender` is the platform's id of the person, `sender_name` what they call themselves, which proves nothing. `mentions_bot` and
    `replies_to_bot`: whether it is meant for us. `quote` is the text it answers. `already_prefixed`: it says itself who said what. `asker` is who
    the person is here, if the platform knows that by a key of ours.
    """

    id: str
    channel: str
    chat: str
    sender: str
    text: str
    at: Moment
    sender_name: str = ""
    thread: str | None = None
    is_group: bool = True
    mentions_bot: bool = False
    replies_to_bot: bool = False
    quote: str | None = None
    attachments: tuple[ChatAttachment, ...] = ()
    already_prefixed: bool = False
    asker: Principal | None = None
