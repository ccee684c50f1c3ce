"""What stands behind the question mark of a URL. A name we do not know is refused: a filter that is mistyped shows too much."""

from __future__ import annotations

from typing import Annotated, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from commonplace.values.audit import AuditOutcome, AuditQuery
from commonplace.values.census import By
from commonplace.values.layer import LayerName
from commonplace.values.moment import Moment
from commonplace.values.query import Filters, Mode, Order
from commonplace.values.record import State, Trust, Visibility
from commonplace.values.scope import ScopeKind
from commonplace.wire.search import SearchBody
from commonplace.wire.shapes import MAX_LABEL, Everyone, KeyName, Label, Line, Question, ScopeName

_MANY = 100
Cursor = Annotated[Line, Field(description="Of the page before.")]


class UrlQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FilterQuery(UrlQuery):
    """Which records count. The fields are called as in `Filters`, and as in a URL where that names one at a time."""

    scopes: list[ScopeName] | None = Field(default=None, alias="scope", max_length=_MANY)
    kinds: list[Label] = Field(default=[], alias="kind", max_length=_MANY)
    sources: list[Label] = Field(default=[], alias="source", max_length=_MANY)
    tags: list[Label] = Field(default=[], alias="tag", max_length=_MANY, description="All of them must be there.")
    trust: list[Trust] = Field(default=[], max_length=_MANY)
    sessions: list[Label] = Field(default=[], alias="session", max_length=_MANY)
    speaker: Label | None = None
    pinned: bool | None = None
    since: Moment | None = Field(default=None, description="Not before this time.")
    until: Moment | None = Field(default=None, description="Before this time.")
    everyone: Everyone = False


class SelectQuery(UrlQuery):
    """What a search does not ask for: which records are listed or counted."""

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


class ListQuery(SelectQuery, FilterQuery):
    order: Order = "newest"
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: Cursor | None = None


class CountsQuery(SelectQuery, FilterQuery):
    by: list[By] = Field(min_length=1, max_length=2, description="One or two; `day` is the UTC day of creation.")


def filters_of(question: FilterQuery | SearchBody) -> Filters:
    """The filters among the fields of a question."""
    return cast(Filters, {name: value for name, value in question if name in Filters.__optional_keys__})


NAMES: Final = {name: field.alias or name for name, field in ListQuery.model_fields.items()}
"""How a URL calls what `Filters` and the clients call otherwise."""


class ScopesQuery(UrlQuery):
    q: Annotated[Line, Field(description="Anywhere in the name, whatever the case.")] = ""
    kind: list[ScopeKind] = Field(default=[], max_length=_MANY)
    everyone: Everyone = False
    limit: int = Field(default=100, ge=1, le=1000)


class SearchQuery(FilterQuery):
    text: Question = Field(alias="q", description="The question.")
    limit: int = Field(default=10, ge=1, le=1000)
    mode: Mode = "hybrid"
    as_of: Moment | None = Field(default=None, description="As the memory stood at that moment.")
    diversity: float = Field(default=0.0, ge=0, le=1e6, allow_inf_nan=False)
    layer: LayerName | None = Field(default=None, description="Tell each hit by this layer, too.")
    budget: int | None = Field(default=None, ge=1, le=1_000_000, description="So many tokens for all layers together.")
    min_relevance: float = Field(default=0.0, ge=0, le=1, description="Leave out hits less relevant than this.")
    copies: bool = Field(default=False, description="Show each of several records that say the same.")
    explain: bool = Field(default=True, description="Whether each hit says why it is there.")


class AuditFilter(UrlQuery):
    actions: tuple[Label, ...] = Field(default=(), alias="action", max_length=_MANY, examples=[["record.put"]])
    outcomes: tuple[AuditOutcome, ...] = Field(default=(), alias="outcome", max_length=_MANY)
    actor: Label | None = None
    record: Annotated[str, Field(max_length=MAX_LABEL)] | None = None
    run: Label | None = None
    doors: tuple[Label, ...] = Field(default=(), alias="door", max_length=_MANY)
    since: Moment | None = None
    until: Moment | None = None

    def query(self) -> AuditQuery:
        return AuditQuery(**{name: getattr(self, name) for name in AuditFilter.model_fields})


class AuditListing(AuditFilter):
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: Cursor | None = None


class SealQuery(UrlQuery):
    verify: bool = Field(default=False, description="Hash every row again and compare.")
    limit: int = Field(default=20, ge=1, le=1000)


class LogQuery(UrlQuery):
    since: Moment | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class ExportQuery(UrlQuery):
    scope: list[ScopeName] | None = Field(
        default=None, max_length=_MANY, description="Absent: what is shared, and your own."
    )
    everyone: Everyone = False


class StatsQuery(UrlQuery):
    everyone: Everyone = False
