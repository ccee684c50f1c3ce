"""Records on the wire: as they are told, and as they are handed in."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from commonplace.values.note import Note
from commonplace.values.query import Page
from commonplace.values.record import (
    ChangeKind,
    Outcome,
    Provenance,
    Record,
    State,
    Trust,
    Turn,
    Visibility,
    Written,
)
from commonplace.values.scope import Scope
from commonplace.wire.shapes import (
    MAX_LIST,
    Answer,
    Body,
    KeyName,
    Label,
    Line,
    Moment,
    ScopeName,
    Text,
    Version,
)

Metadata = dict[str, JsonValue]
Importance = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 100})]
Position = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 2**31 - 1})]


# ---- out


class ProvenanceAnswer(Answer):
    run: str | None = None
    message: str | None = None
    file: str | None = None


class RecordAnswer(Answer):
    """One version of a record, as `commonplace show --json` prints it."""

    id: str
    scope: str
    text: str
    created_at: Moment
    updated_at: Moment
    tenant: str
    version: int
    kind: str
    key: str | None
    source: str
    tags: list[str]
    metadata: Metadata
    pinned: bool
    importance: int
    trust: Trust
    visibility: Visibility
    at: Moment | None
    expires_at: Moment | None
    session: str | None
    position: int | None
    speaker: str | None
    provenance: ProvenanceAnswer
    demoted: bool
    superseded_by: str | None
    deleted_at: Moment | None
    change: ChangeKind
    actor: str | None
    reason: str | None
    restores: int | None
    state: State

    @classmethod
    def of(cls, record: Record, now: datetime) -> RecordAnswer:
        # Built as it is: it comes from our own store, and a search builds many.
        made = record.provenance
        return cls.model_construct(
            id=record.id,
            scope=str(record.scope),
            text=record.text,
            created_at=record.created_at,
            updated_at=record.updated_at,
            tenant=record.tenant,
            version=record.version,
            kind=record.kind,
            key=record.key,
            source=record.source,
            tags=list(record.tags),
            metadata=dict(record.metadata),
            pinned=record.pinned,
            importance=record.importance,
            trust=record.trust,
            visibility=record.visibility,
            at=record.at,
            expires_at=record.expires_at,
            session=record.session,
            position=record.position,
            speaker=record.speaker,
            provenance=ProvenanceAnswer.model_construct(run=made.run, message=made.message, file=made.file),
            demoted=record.demoted,
            superseded_by=record.superseded_by,
            deleted_at=record.deleted_at,
            change=record.change,
            actor=record.actor,
            reason=record.reason,
            restores=record.restores,
            state=record.state(now),
        )

    def value(self) -> Record:
        made = self.provenance
        return Record(
            id=self.id,
            scope=scope_value(self.scope),
            text=self.text,
            created_at=self.created_at,
            updated_at=self.updated_at,
            tenant=self.tenant,
            version=self.version,
            kind=self.kind,
            key=self.key,
            source=self.source,
            tags=tuple(self.tags),
            metadata=self.metadata,
            pinned=self.pinned,
            importance=self.importance,
            trust=self.trust,
            visibility=self.visibility,
            at=self.at,
            expires_at=self.expires_at,
            session=self.session,
            position=self.position,
            speaker=self.speaker,
            provenance=Provenance(run=made.run, message=made.message, file=made.file),
            demoted=self.demoted,
            superseded_by=self.superseded_by,
            deleted_at=self.deleted_at,
            change=self.change,
            actor=self.actor,
            reason=self.reason,
            restores=self.restores,
        )


class WrittenAnswer(Answer):
    """A record and what became of the write: `unchanged` means that it said so already."""

    record: RecordAnswer
    outcome: Outcome

    @classmethod
    def of(cls, written: Written, now: datetime) -> WrittenAnswer:
        return cls.model_construct(record=RecordAnswer.of(written.record, now), outcome=written.outcome)


class ManyWrittenAnswer(Answer):
    """In the order they were sent."""

    written: list[WrittenAnswer]

    @classmethod
    def of(cls, written: Iterable[Written], now: datetime) -> ManyWrittenAnswer:
        return cls.model_construct(written=[WrittenAnswer.of(one, now) for one in written])

    def records(self) -> list[Record]:
        return [one.record.value() for one in self.written]


class PageAnswer(Answer):
    """A stretch of a listing. `cursor` gets the next one; null is the end."""

    records: list[RecordAnswer]
    cursor: str | None

    @classmethod
    def of(cls, page: Page, now: datetime) -> PageAnswer:
        return cls.model_construct(records=[RecordAnswer.of(one, now) for one in page.records], cursor=page.cursor)

    def value(self) -> Page:
        return Page(tuple(one.value() for one in self.records), self.cursor)


class VersionsAnswer(Answer):
    """Oldest first."""

    versions: list[RecordAnswer]

    @classmethod
    def of(cls, versions: Iterable[Record], now: datetime) -> VersionsAnswer:
        return cls.model_construct(versions=[RecordAnswer.of(one, now) for one in versions])


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
    kind: Label = "note"
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
        made = self.provenance
        return Note(
            text=self.text,
            scope=self.scope,
            key=self.key,
            kind=self.kind,
            source=self.source,
            tags=tuple(self.tags),
            metadata=self.metadata,
            pinned=self.pinned,
            importance=self.importance,
            trust=self.trust,
            visibility=self.visibility,
            at=self.at,
            expires_at=self.expires_at,
            session=self.session,
            position=self.position,
            speaker=self.speaker,
            provenance=Provenance(run=made.run, message=made.message, file=made.file),
            expected=self.expected,
            reason=self.reason,
        )


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
        return Turn(speaker=self.speaker, text=self.text, at=self.at, message=self.message, metadata=self.metadata)


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


def scope_value(written: str) -> Scope:
    parsed = Scope.parse(written)
    return Scope(parsed.kind, parsed.id)
