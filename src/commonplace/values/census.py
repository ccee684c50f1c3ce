"""How much there is and of what, and where a record was recalled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.scope import Scope

By = Literal["source", "kind", "scope", "trust", "state", "day"]
"""What records are counted by; a day is the UTC day on which a record came to be."""

BYS: Final[tuple[By, ...]] = get_args(By)
MOST_COUNTS: Final = 10_000
MOST_SEARCHES: Final = 5_000

RECALLS: Final = ("record.search", "record.context", "managed.recall")
"""
What leaves in the audit the ids of the records it recalled. An index of each store names them, too. What a person looks at in the
console (`record.browse`, `record.preview`) is none of them.
"""


def bears(kind: str, id: str, text: str) -> bool:
    """Whether a scope has `text`, which is casefolded, in its name, whatever the case there."""
    return text in (f"{kind}:{id}" if id else kind).casefold()


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeCount(JsonObject):
    """A scope, its live records, and when one of its records was last written (None: it holds none any more)."""

    scope: Scope
    records: Natural
    updated_at: Moment | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeCounts(JsonObject):
    """Last written first. `more`: there are others that fit."""

    scopes: tuple[ScopeCount, ...]
    more: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Count(JsonObject):
    by: Mapping[By, str]
    records: Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally(JsonObject):
    """
    The days in order where days are counted, else most records first. `total` is the sum of all; `truncated`: there were
    more counts than were asked for, and the rest was left out.
    """

    counts: tuple[Count, ...] = ()
    total: Natural = 0
    truncated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PastRecall(JsonObject):
    """A search or a context block that showed a record, at which `rank` (the best is 1). Never the question."""

    at: Moment
    by: str
    action: str
    door: str
    rank: Natural
    run: str | None = None
    client: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalls(JsonObject):
    """Newest first. `searched` audit rows were looked through; not `complete`: there are older ones."""

    recalls: tuple[PastRecall, ...] = ()
    searched: Natural = 0
    complete: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Weight(JsonObject):
    """A weight of the ranking that a search may override."""

    name: str
    default: float
    meaning: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantiles:
    """How long so many recalls took, in seconds; None where there were none."""

    count: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """Of the recalls that one process answered: the last hour as a whole, and each of its minutes that had any."""

    since: datetime
    whole: Quantiles
    minutes: tuple[tuple[datetime, Quantiles], ...] = ()
