"""What stands behind the question mark of a URL. A name we do not know is refused: a filter that is mistyped shows too much."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from commonplace.values.audit import AuditOutcome, AuditQuery
from commonplace.values.census import By
from commonplace.values.query import Filters, Mode, Order
from commonplace.values.record import State, Trust, Visibility
from commonplace.values.scope import ScopeKind
from commonplace.wire.search import SearchBody
from commonplace.wire.shapes import MAX_LABEL, KeyName, Label, Line, Moment, Question, ScopeName

_MANY = 100
Cursor = Annotated[Line, Field(description="Of the page before.")]


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Narrowed(Asked):
    """Which records count."""

    scope: list[ScopeName] | None = Field(default=None, max_length=_MANY)
    kind: list[Label] = Field(default=[], max_length=_MANY)
    source: list[Label] = Field(default=[], max_length=_MANY)
    tag: list[Label] = Field(default=[], max_length=_MANY, description="All of them must be there.")
    trust: list[Trust] = Field(default=[], max_length=_MANY)
    session: list[Label] = Field(default=[], max_length=_MANY)
    speaker: Label | None = None
    pinned: bool | None = None
    since: Moment | None = Field(default=None, description="Not before this time.")
    until: Moment | None = Field(default=None, description="Before this time.")


class Chosen(Narrowed):
    """Which records are listed or counted."""

    visibility: Visibility | None = None
    key: KeyName | None = None
    key_prefix: KeyName | None = None
    superseded_by: Label | None = Field(default=None, description="The id of the record that they gave way to.")
    state: list[State] = Field(
        default=[],
        max_length=_MANY,
        description="Where none is given: live, or superseded where `superseded_by` is given.",
    )

    def states(self) -> list[State]:
        return self.state or (["live"] if self.superseded_by is None else ["superseded"])

    def filters(self) -> Filters:
        return {
            "kinds": self.kind,
            "sources": self.source,
            "tags": self.tag,
            "trust": self.trust,
            "sessions": self.session,
            "speaker": self.speaker,
            "pinned": self.pinned,
            "since": self.since,
            "until": self.until,
            "visibility": self.visibility,
            "key": self.key,
            "key_prefix": self.key_prefix,
            "superseded_by": self.superseded_by,
        }


class ListQuery(Chosen):
    order: Order = "newest"
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: Cursor | None = None


class CountsQuery(Chosen):
    by: list[By] = Field(min_length=1, max_length=2, description="One or two; `day` is the UTC day of creation.")


class ScopesQuery(Asked):
    q: Annotated[Line, Field(description="Anywhere in the name, whatever the case.")] = ""
    kind: list[ScopeKind] = Field(default=[], max_length=_MANY)
    limit: int = Field(default=100, ge=1, le=1000)


class SearchQuery(Narrowed):
    q: Question = Field(description="The question.")
    limit: int = Field(default=10, ge=1, le=1000)
    mode: Mode = "hybrid"
    as_of: Moment | None = Field(default=None, description="As the memory stood at that moment.")
    diversity: float = Field(default=0.0, ge=0, le=1e6, allow_inf_nan=False)
    explain: bool = Field(default=True, description="Whether each hit says why it is there.")

    def body(self) -> SearchBody:
        return SearchBody(
            text=self.q,
            scopes=self.scope,
            limit=self.limit,
            mode=self.mode,
            kinds=self.kind,
            sources=self.source,
            tags=self.tag,
            trust=self.trust,
            sessions=self.session,
            speaker=self.speaker,
            pinned=self.pinned,
            since=self.since,
            until=self.until,
            as_of=self.as_of,
            diversity=self.diversity,
            explain=self.explain,
        )


class AuditFilter(Asked):
    action: list[Label] = Field(default=[], max_length=_MANY, examples=[["record.put"]])
    outcome: list[AuditOutcome] = Field(default=[], max_length=_MANY)
    actor: Label | None = None
    record: Annotated[str, Field(max_length=MAX_LABEL)] | None = None
    run: Label | None = None
    door: list[Label] = Field(default=[], max_length=_MANY)
    since: Moment | None = None
    until: Moment | None = None

    def query(self) -> AuditQuery:
        return AuditQuery(
            actions=tuple(self.action),
            outcomes=tuple(self.outcome),
            actor=self.actor,
            record=self.record,
            run=self.run,
            doors=tuple(self.door),
            since=self.since,
            until=self.until,
        )


class AuditListing(AuditFilter):
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: Cursor | None = None


class LogQuery(Asked):
    since: Moment | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class ExportQuery(Asked):
    scope: list[ScopeName] | None = Field(default=None, max_length=_MANY, description="Absent: all that you may read.")
