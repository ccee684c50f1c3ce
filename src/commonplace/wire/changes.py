"""Changes of records on the wire."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import ConfigDict, Field

from commonplace.values.changes import Changes, SuccessorFields
from commonplace.values.moment import Moment
from commonplace.values.record import Trust, Visibility
from commonplace.wire.records import Importance, Metadata, Position
from commonplace.wire.shapes import MAX_LIST, Body, KeyName, Label, Line, NarrowBody, RecordId, ScopeName, Text, Version

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
        return cast(Changes, {name: value for name, value in self if name in Changes.__optional_keys__})


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
        return cast(SuccessorFields, {name: value for name, value in self if name in SuccessorFields.__optional_keys__})


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


class PurgeBody(NarrowBody):
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
