"""Changes of records on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from commonplace.values.changes import Changes, SuccessorFields
from commonplace.values.record import Trust, Visibility
from commonplace.values.upkeep import Purged
from commonplace.wire.records import Importance, Metadata, Position
from commonplace.wire.shapes import (
    MAX_LIST,
    Answer,
    Body,
    Count,
    KeyName,
    Label,
    Line,
    Moment,
    RecordId,
    ScopeName,
    Text,
    Version,
)

Tags = Annotated[list[Label], Field(max_length=MAX_LIST, json_schema_extra={"maxItems": 64})]
Cleared = Literal["key", "at", "expires_at", "tags", "metadata"]


class ChangeBody(Body):
    """What every change may come with. `expected` may also be sent as `If-Match`."""

    expected: Version | None = Field(default=None, description="The version you saw; the change is refused at another.")
    reason: Line | None = Field(default=None, description="Why, for whoever reads the history.")


class EditBody(ChangeBody):
    """Fields to change. One that is absent, or null, stays as it is; `clear` names those to empty."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "We ship on Mondays", "reason": "new plan"}]})

    text: Text | None = None
    key: KeyName | None = None
    kind: Label | None = None
    tags: Tags | None = None
    metadata: Metadata | None = None
    pinned: bool | None = None
    importance: Importance | None = None
    trust: Trust | None = None
    visibility: Visibility | None = None
    at: Moment | None = None
    expires_at: Moment | None = None
    clear: list[Cleared] = Field(default=[], max_length=8)

    def changes(self) -> Changes:
        return {
            "text": self.text,
            "key": self.key,
            "kind": self.kind,
            "tags": self.tags,
            "metadata": None if self.metadata is None else {**self.metadata},
            "pinned": self.pinned,
            "importance": self.importance,
            "trust": self.trust,
            "visibility": self.visibility,
            "at": self.at,
            "expires_at": self.expires_at,
        }


class SupersedeBody(ChangeBody):
    """A new record in the place of an old one. What is not named is as the old one had it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "We ship on Mondays now"}]})

    text: Text
    scope: ScopeName | None = None
    key: KeyName | None = None
    kind: Label | None = None
    source: Label | None = None
    tags: Tags | None = None
    metadata: Metadata | None = None
    pinned: bool | None = None
    importance: Importance | None = None
    trust: Trust | None = None
    visibility: Visibility | None = None
    at: Moment | None = None
    expires_at: Moment | None = None
    session: Label | None = None
    position: Position | None = None
    speaker: Label | None = None

    def fields(self) -> SuccessorFields:
        return {
            "scope": self.scope,
            "key": self.key,
            "kind": self.kind,
            "source": self.source,
            "tags": self.tags,
            "metadata": None if self.metadata is None else {**self.metadata},
            "pinned": self.pinned,
            "importance": self.importance,
            "trust": self.trust,
            "visibility": self.visibility,
            "at": self.at,
            "expires_at": self.expires_at,
            "session": self.session,
            "position": self.position,
            "speaker": self.speaker,
        }


class PinBody(ChangeBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"pinned": True}]})

    pinned: bool = True


class PromoteBody(ChangeBody):
    """Without a `scope` the record is shared where it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": "workspace:web"}]})

    scope: ScopeName | None = None


class ExpireBody(ChangeBody):
    """Without `at` the record is found no longer from now on."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"at": "2027-01-01T00:00:00Z"}]})

    at: Moment | None = None


class PurgeBody(Body):
    """
    What to remove for good. Name exactly one. `leave_files`: where a file of managed memory that the records follow cannot be removed,
    it stays; without it nothing is purged then.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": "session:old"}]})

    ids: list[RecordId] = Field(default=[], max_length=MAX_LIST)
    scope: ScopeName | None = None
    user: Label | None = None
    source: Label | None = None
    leave_files: bool = False


class PurgedAnswer(Answer):
    """`files` of managed memory went with the records; `files_left` names those that stay, and why. Both only where there are some."""

    records: Count
    versions: Count
    files: Count = 0
    files_left: list[str] = Field(default=[])

    @classmethod
    def of(cls, purged: Purged) -> PurgedAnswer:
        return cls(
            records=purged.records, versions=purged.versions, files=purged.files, files_left=list(purged.files_left)
        )

    def value(self) -> Purged:
        return Purged(self.records, self.versions, self.files, tuple(self.files_left))
