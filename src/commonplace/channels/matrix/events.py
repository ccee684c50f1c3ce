"""
What a Matrix server brings, as far as we read it. An event that is not of its shape is left out: another member's client, or another server, may
have made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from commonplace.values.channel import PlatformError

MESSAGE: Final = "m.room.message"
REACTION: Final = "m.reaction"
ENCRYPTION: Final = "m.room.encryption"
MEMBER: Final = "m.room.member"
NAME: Final = "m.room.name"
ALIAS: Final = "m.room.canonical_alias"
TOMBSTONE: Final = "m.room.tombstone"
STATE_TYPES: Final = (MEMBER, NAME, ALIAS, ENCRYPTION, TOMBSTONE)
TIMELINE_TYPES: Final = (*STATE_TYPES, MESSAGE, REACTION)
_LONGEST_ID: Final = 255


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


S = TypeVar("S", bound=_Shape)


class MatrixEvent(_Shape):
    """`state_key` is there if it says how the room is."""

    type: str
    sender: str = Field(max_length=_LONGEST_ID)
    content: dict[str, Any] = Field(default_factory=dict[str, Any])
    event_id: str = Field(default="", max_length=_LONGEST_ID)
    origin_server_ts: int = 0
    state_key: str | None = None
    unsigned: dict[str, Any] = Field(default_factory=dict[str, Any])

    @property
    def is_state(self) -> bool:
        return self.state_key is not None

    def membership_of(self, user_id: str) -> str:
        """What this event makes of somebody's membership; empty: nothing."""
        if self.type != MEMBER or self.state_key != user_id:
            return ""
        return self.text("membership")

    def begins_membership_of(self, user_id: str) -> bool:
        """They were not in the room before; else they only have another name now."""
        before = self.unsigned.get("prev_content")
        was = cast("dict[str, Any]", before).get("membership") if isinstance(before, dict) else None
        return self.membership_of(user_id) == "join" and was != "join"

    @property
    def relation(self) -> Relation:
        return Relation.of(self.content)

    def text(self, name: str) -> str:
        """A field of the content, if it is text."""
        value = self.content.get(name)
        return value if isinstance(value, str) else ""


class Relation(_Shape):
    """What an event is about. `in_reply_to` is a fallback for clients without threads if `is_falling_back`."""

    rel_type: str = ""
    event_id: str = ""
    key: str = ""
    is_falling_back: bool = False
    in_reply_to: str = ""

    @classmethod
    def of(cls, content: dict[str, Any]) -> Relation:
        fields = content.get("m.relates_to")
        if not isinstance(fields, dict):
            return cls()
        reply: Any = fields.get("m.in_reply_to")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
        try:
            return cls.model_validate({**fields, "in_reply_to": _id(reply)})
        except ValidationError:
            return cls()


class EventList(_Shape):
    events: list[Any] = Field(default_factory=list[Any])


class Timeline(EventList):
    """`limited`: there is more between this and what we had before, back from `prev_batch`."""

    limited: bool = False
    prev_batch: str | None = None


class MemberCounts(_Shape):
    joined: int | None = Field(default=None, alias="m.joined_member_count")
    invited: int | None = Field(default=None, alias="m.invited_member_count")


class JoinedRoom(_Shape):
    state: EventList = Field(default_factory=EventList)
    timeline: Timeline = Field(default_factory=Timeline)
    summary: MemberCounts = Field(default_factory=MemberCounts)


class InvitedRoom(_Shape):
    invite_state: EventList = Field(default_factory=EventList)


class SyncRooms(_Shape):
    join: dict[str, JoinedRoom] = Field(default_factory=dict[str, JoinedRoom])
    invite: dict[str, InvitedRoom] = Field(default_factory=dict[str, InvitedRoom])
    leave: dict[str, Any] = Field(default_factory=dict[str, Any])


class SyncAnswer(_Shape):
    next_batch: str = Field(min_length=1)
    rooms: SyncRooms = Field(default_factory=SyncRooms)
    account_data: EventList = Field(default_factory=EventList)


class MatrixPage(_Shape):
    """Messages backwards from some place; `end` is where it goes on, if it does."""

    chunk: list[Any] = Field(default_factory=list[Any])
    end: str | None = None


class MatrixIdentity(_Shape):
    user_id: str = Field(min_length=2, max_length=_LONGEST_ID)


def read_identity(answer: Any) -> MatrixIdentity:
    return _read(MatrixIdentity, answer)


def read_sync(answer: Any) -> SyncAnswer:
    return _read(SyncAnswer, answer)


def read_page(answer: Any) -> MatrixPage:
    return _read(MatrixPage, answer)


def read_event_id(answer: Any) -> str:
    event_id = answer.get("event_id")
    if not isinstance(event_id, str) or not 1 <= len(event_id) <= _LONGEST_ID:
        raise PlatformError("The server did not say which id it gave our message.")
    return event_id


def events_of(entries: Iterable[Any]) -> Iterator[MatrixEvent]:
    """Those that are events."""
    for entry in entries:
        try:
            yield MatrixEvent.model_validate(entry)
        except (ValidationError, RecursionError):
            continue


def _read(shape: type[S], answer: Any) -> S:
    try:
        return shape.model_validate(answer)
    except ValidationError as error:
        first = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise PlatformError(f"The server answered something of another shape ({first[:80]}).") from error


def _id(reply: Any) -> str:
    event_id = reply.get("event_id") if isinstance(reply, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
    # Whatever else stands there would lead to another place of the server.
    return event_id if isinstance(event_id, str) and event_id.startswith("$") else ""
