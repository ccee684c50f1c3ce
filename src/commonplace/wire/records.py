"""Records on the wire: as they are told, and as they are handed in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, JsonValue

from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.note import Note
from commonplace.values.record import Provenance, Record, Trust, Turn, Visibility, Written
from commonplace.wire.shapes import MAX_LIST, Body, KeyName, Label, Line, ScopeName, Text, Version

_PLAIN: Final = {field.name for field in fields(Note)} - {"tags", "provenance"}
Metadata = dict[str, JsonValue]
Importance = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 100})]
Position = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 2**31 - 1})]


# ---- out


@dataclass(frozen=True, slots=True)
class ManyWrittenAnswer(JsonObject):
    """In the order they were sent."""

    written: tuple[Written, ...]


@dataclass(frozen=True, slots=True)
class VersionsAnswer(JsonObject):
    """Oldest first."""

    versions: tuple[Record, ...]


# ---- in


class ProvenanceBody(Body):
    run: Line | None = None
    message: Line | None = None
    file: Line | None = None


class NoteBody(Body):
    """
    Something to remember. Under a `key` that the scope has already it becomes the next version of that record; `pinned` and
    `importance` then stay as they are where they are not given.
    """

    text: Text
    scope: ScopeName = "global"
    key: KeyName | None = None
    kind: Label | None = Field(default=None, description="Absent: as it was under this key; a new record is a `note`.")
    source: Label = "manual"
    tags: list[Label] = Field(default=[], max_length=MAX_LIST, json_schema_extra={"maxItems": 64})
    metadata: Metadata = Field(default={})
    pinned: bool | None = None
    importance: Importance | None = None
    trust: Trust = "system_generated"
    visibility: Visibility = "private"
    at: Moment | None = Field(default=None, description="The time of what it tells.")
    expires_at: Moment | None = Field(default=None, description="Until when it is found.")
    session: Label | None = None
    position: Position | None = None
    speaker: Label | None = None
    provenance: ProvenanceBody = ProvenanceBody()
    expected: Version | None = Field(
        default=None, description="The version you saw under this key; 0: there must be none."
    )
    reason: Line | None = None

    def note(self) -> Note:
        plain = {name: value for name, value in self if name in _PLAIN}
        return Note(**plain, tags=tuple(self.tags), provenance=Provenance(**dict(self.provenance)))


class PutBody(NoteBody):
    """One note. With `dedupe` a text that is nearly there already is not stored again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "We ship on Fridays", "scope": "workspace:web", "key": "ship-day"}]}
    )

    dedupe: Literal["near"] | None = None


class PutManyBody(Body):
    """Up to 1,000 notes; all of them are kept, or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"records": [{"text": "We ship on Fridays"}, {"text": "Ana leads the release"}]}]
        }
    )

    records: list[NoteBody] = Field(min_length=1, max_length=MAX_LIST)
    dedupe: Literal["near"] | None = None


class TurnBody(Body):
    """One thing said. Give it its time, or the same words said again later count as the same turn."""

    speaker: Label
    text: Text
    at: Moment | None = None
    message: Line | None = None
    metadata: Metadata = Field(default={})

    def turn(self) -> Turn:
        return Turn(**dict(self))


class TurnsBody(Body):
    """What was said in a conversation, in order. A turn told before is not stored twice."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "session": "chat-7",
                    "scope": "user:ana",
                    "turns": [{"speaker": "ana", "text": "I moved to Lisbon", "at": "2026-03-01T09:30:00Z"}],
                }
            ]
        }
    )

    session: Label
    turns: list[TurnBody] = Field(min_length=1, max_length=MAX_LIST)
    scope: ScopeName = "global"
    source: Label = "turn"
    trust: Trust = "system_generated"
    tags: list[Label] = Field(default=[], max_length=MAX_LIST, json_schema_extra={"maxItems": 64})
