"""Review and rollback on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.record import Record, Trust
from commonplace.values.review import Origin
from commonplace.wire.shapes import MAX_LIST, Label, Line, NarrowBody, RecordId, ScopeName, Version

Why = Annotated[Line, Field(json_schema_extra={"minLength": 1}, description="Why; it is kept in the audit.")]

SeenVersions = Annotated[
    dict[RecordId, Version],
    Field(
        max_length=MAX_LIST,
        description="The versions you looked at, by id. If one is another by now, nothing is done.",
    ),
]


class ReviewQuery(NarrowBody):
    """What to list of what is in quarantine."""

    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)

    scope: list[ScopeName] | None = None
    source: Label | None = None
    session: Label | None = None
    rejected: bool = Field(default=False, description="What was rejected instead: it can be restored, or purged.")
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: Line | None = None


class ReasonBody(NarrowBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "spam from the import of 3 March"}]})

    reason: Why


class ReleaseBody(ReasonBody):
    """`trust` labels what is let out; without it the label stays, and it is recalled as untrusted."""

    trust: Trust | None = None
    expected: Version | None = Field(default=None, description="The version you looked at; another is not let out.")


class SeveralBody(NarrowBody):
    """Which of the records in quarantine: exactly one of `ids`, a `source`, a `session`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"source": "web", "reason": "a poisoned page"}]})

    reason: Why
    ids: list[RecordId] = Field(default=[], max_length=MAX_LIST)
    source: Label | None = None
    session: Label | None = None


class RejectSeveralBody(SeveralBody):
    versions: SeenVersions = Field(default={})


class ReleaseSeveralBody(SeveralBody):
    trust: Trust | None = None
    versions: SeenVersions = Field(default={})


class RestoreBody(ReasonBody):
    """Which of what was rejected."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ids": ["0192f3a4-5b6c-7000-8000-000000000000"], "reason": "a false alarm"}]}
    )

    ids: list[RecordId] = Field(min_length=1, max_length=MAX_LIST)


class RejectBody(ReasonBody):
    expected: Version | None = Field(default=None, description="The version you looked at; another is not rejected.")


@dataclass(frozen=True, slots=True)
class ReleasedAnswer(JsonObject):
    records: tuple[Record, ...]


class RollbackBody(ReasonBody):
    """Whose writes to take back: exactly one of `source`, `session`, `actor`, `import`, `rollback`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": "web", "since": "2026-03-01T00:00:00Z", "reason": "poisoned"}]}
    )

    source: Label | None = None
    session: Label | None = None
    actor: Label | None = None
    imported: Label | None = Field(default=None, alias="import", description="The namespace of an import.")
    rollback: Label | None = Field(default=None, description="The id of an earlier rollback, to take it back.")
    since: Moment | None = None
    dry_run: bool = Field(default=False, description="Only say what would be done.")

    def origin(self) -> Origin:
        return Origin(**{name: value for name, value in self if name not in ("reason", "dry_run")})
