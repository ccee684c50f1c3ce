"""Review and rollback on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.record import Trust
from commonplace.values.review import Origin, RollbackStep, RolledBack, StepKind, Waiting, WaitingFinding, WaitingPage
from commonplace.values.scope import Scope
from commonplace.wire.records import RecordAnswer
from commonplace.wire.shapes import MAX_LIST, Answer, Body, Count, Label, Line, Moment, RecordId, ScopeName, Version

Why = Annotated[Line, Field(json_schema_extra={"minLength": 1}, description="Why; it is kept in the audit.")]


class WaitingAnswer(Answer):
    """A record in quarantine. `beside` is the record that it would have changed, under `key`."""

    record: RecordAnswer
    reasons: list[str]
    since: str | None
    beside: str | None
    key: str | None

    @classmethod
    def of(cls, waiting: Waiting, now: datetime) -> WaitingAnswer:
        return cls.model_construct(
            record=RecordAnswer.of(waiting.record, now),
            reasons=list(waiting.reasons),
            since=waiting.since,
            beside=waiting.beside,
            key=waiting.key,
        )

    def value(self) -> Waiting:
        return Waiting(
            record=self.record.value(),
            reasons=tuple(self.reasons),
            since=self.since,
            beside=self.beside,
            key=self.key,
        )


class WaitingFindingAnswer(Answer):
    """A finding (`/v1/knowledge/items`) in quarantine."""

    id: str
    space: str
    scope: str
    coverage_key: str
    title: str
    summary: str
    reasons: list[str]
    since: Moment

    @classmethod
    def of(cls, one: WaitingFinding) -> WaitingFindingAnswer:
        return cls(
            id=one.id,
            space=one.space,
            scope=str(one.scope),
            coverage_key=one.coverage_key,
            title=one.title,
            summary=one.summary,
            reasons=list(one.reasons),
            since=one.since,
        )

    def value(self) -> WaitingFinding:
        return WaitingFinding(
            id=self.id,
            space=self.space,
            scope=Scope.parse(self.scope),
            coverage_key=self.coverage_key,
            title=self.title,
            summary=self.summary,
            reasons=tuple(self.reasons),
            since=self.since,
        )


class WaitingPageAnswer(Answer):
    """Newest first. `cursor` gets the next page; null is the end. `findings` are told with the first page of everything."""

    waiting: list[WaitingAnswer]
    cursor: str | None
    findings: list[WaitingFindingAnswer] = Field(default=[])

    @classmethod
    def of(cls, page: WaitingPage, now: datetime) -> WaitingPageAnswer:
        return cls.model_construct(
            waiting=[WaitingAnswer.of(one, now) for one in page.waiting],
            cursor=page.cursor,
            findings=[WaitingFindingAnswer.of(one) for one in page.findings],
        )

    def value(self) -> WaitingPage:
        findings = tuple(one.value() for one in self.findings)
        return WaitingPage(tuple(one.value() for one in self.waiting), self.cursor, findings)


class ReviewQuery(Body):
    """What to list of what is in quarantine."""

    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)

    scope: list[ScopeName] | None = None
    source: Label | None = None
    session: Label | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: Line | None = None


class ReasonBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "spam from the import of 3 March"}]})

    reason: Why


class ReleaseBody(ReasonBody):
    """`trust` labels what is let out; without it the label stays, and it is recalled as untrusted."""

    trust: Trust | None = None
    expected: Version | None = Field(default=None, description="The version you looked at; another is not let out.")


class SeveralBody(ReasonBody):
    """Which of the records in quarantine: exactly one of `ids`, a `source`, a `session`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"source": "web", "reason": "a poisoned page"}]})

    ids: list[RecordId] = Field(default=[], max_length=MAX_LIST)
    source: Label | None = None
    session: Label | None = None


class ReleaseSeveralBody(SeveralBody):
    trust: Trust | None = None
    versions: dict[RecordId, Version] = Field(
        default={},
        max_length=MAX_LIST,
        description="The versions you looked at, by id. Where one is another by now, none is let out.",
    )


class ReleasedAnswer(Answer):
    records: list[RecordAnswer]


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
        return Origin(
            source=self.source,
            session=self.session,
            actor=self.actor,
            imported=self.imported,
            rollback=self.rollback,
            since=self.since,
        )


class StepAnswer(Answer):
    """What became, or would become, of a record; `to` is the version it is set back to."""

    id: str
    scope: str
    kind: StepKind
    version: int
    to: int | None
    why: str | None

    @classmethod
    def of(cls, step: RollbackStep) -> StepAnswer:
        return cls(id=step.id, scope=step.scope, kind=step.kind, version=step.version, to=step.to, why=step.why)

    def value(self) -> RollbackStep:
        return RollbackStep(
            id=self.id, scope=self.scope, kind=self.kind, version=self.version, to=self.to, why=self.why
        )


class RolledBackAnswer(Answer):
    """`id` takes it all back again; a dry run has none. At most 1,000 `steps` are told."""

    id: str | None
    deleted: Count
    set_back: Count
    left: Count
    steps: list[StepAnswer]

    @classmethod
    def of(cls, done: RolledBack) -> RolledBackAnswer:
        return cls(
            id=done.id,
            deleted=done.deleted,
            set_back=done.set_back,
            left=done.left,
            steps=[StepAnswer.of(step) for step in done.steps],
        )

    def value(self) -> RolledBack:
        return RolledBack(
            id=self.id,
            deleted=self.deleted,
            set_back=self.set_back,
            left=self.left,
            steps=tuple(step.value() for step in self.steps),
        )
