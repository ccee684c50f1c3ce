"""What happens in a room of our own, as those who are there hear it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.values.channel import RoomMessage
from commonplace.values.json import Json, JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageAdded(JsonObject):
    message: RoomMessage
    type: Literal["message"] = "message"


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageChanged(JsonObject):
    """`final`: it is kept so; else it is still being written. What is None stays."""

    id: str
    text: str | None = None
    data: Mapping[str, Json] | None = None
    final: bool = True
    type: Literal["message_changed"] = "message_changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class TypingChanged(JsonObject):
    """`sender` empty: the agent."""

    active: bool
    sender: str = ""
    sender_name: str = ""
    type: Literal["typing"] = "typing"


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageMarked(JsonObject):
    """The agent has seen a message; an empty mark: it is done with it."""

    id: str
    mark: str
    type: Literal["marked"] = "marked"


@dataclass(frozen=True, kw_only=True, slots=True)
class PresenceChanged(JsonObject):
    """Who is there now, by their subjects."""

    people: tuple[str, ...]
    type: Literal["presence"] = "presence"


RoomEvent: TypeAlias = MessageAdded | MessageChanged | TypingChanged | MessageMarked | PresenceChanged


@dataclass(frozen=True, kw_only=True, slots=True)
class HeardInRoom:
    """An event of a room with its id. `event` None: some were missed, and the messages are to be read anew."""

    id: int | None
    event: RoomEvent | None
