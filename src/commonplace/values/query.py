"""Questions to the memory, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypedDict, get_args

from commonplace.errors import InvalidQuery
from commonplace.values.json import JsonObject
from commonplace.values.layer import LayerName, LayerText
from commonplace.values.line import check_line, check_lines
from commonplace.values.moment import utc
from commonplace.values.record import Record, State, Trust, Visibility
from commonplace.values.scope import Scope, Scopes, scopes_of

Mode = Literal["hybrid", "words", "meaning"]
Order = Literal["newest", "oldest", "pinned", "key", "position"]
LIVE: frozenset[State] = frozenset({"live"})
ALL_STATES: frozenset[State] = frozenset({"live", "demoted", "superseded", "expired", "deleted"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """
    Which records count. An empty tuple or None means: any. `scopes=None` means every scope of the tenant; an empty
    tuple means no scope at all. `everyone`: other people's scopes, too, if none is named and the caller is an admin. `tags` must all be there. `since` and `until` look at the time a record tells of, or
    at its birth where it tells none: since <= time < until. `ever_in` and `told_by` look at all versions of a record: one of
    them was in that scope, or was said or written by that person.
    """

    scopes: tuple[Scope, ...] | None = None
    ids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    trust: tuple[Trust, ...] = ()
    visibility: Visibility | None = None
    sessions: tuple[str, ...] = ()
    speaker: str | None = None
    key: str | None = None
    key_prefix: str | None = None
    superseded_by: str | None = None
    pinned: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    ever_in: Scope | None = None
    told_by: str | None = None
    states: frozenset[State] = LIVE
    everyone: bool = False

    @classmethod
    def parse(cls, scopes: Scopes, states: Sequence[State], filters: Filters) -> Filter:
        """
        What callers of any door write as a filter.

        Raises:
            InvalidQuery: there is no such filter, state or trust label.
            InvalidInput: a text that no record can have.
        """
        trust = check_lines("trust labels", filters.get("trust"))
        _refuse_others("trust label", set(trust), get_args(Trust))
        names = check_lines("states", states)
        _refuse_others("state", set(names), sorted(ALL_STATES))
        _refuse_others("filter", set(filters), sorted(Filters.__optional_keys__))
        for name in ("speaker", "key", "key_prefix", "superseded_by"):
            check_line(name, filters.get(name))
        since, until = filters.get("since"), filters.get("until")
        return cls(
            scopes=scopes_of(scopes),
            kinds=check_lines("kinds", filters.get("kinds")),
            sources=check_lines("sources", filters.get("sources")),
            tags=check_lines("tags", filters.get("tags")),
            trust=tuple(label for label in get_args(Trust) if label in trust),
            visibility=filters.get("visibility"),
            sessions=check_lines("sessions", filters.get("sessions")),
            speaker=filters.get("speaker"),
            key=filters.get("key"),
            key_prefix=filters.get("key_prefix"),
            superseded_by=filters.get("superseded_by"),
            pinned=filters.get("pinned"),
            since=utc(since) if since else None,
            until=utc(until) if until else None,
            states=frozenset(state for state in ALL_STATES if state in names),
            everyone=bool(filters.get("everyone")),
        )

    @property
    def is_plain(self) -> bool:
        """Nothing is asked beyond the scopes: every live record counts."""
        return self == Filter(scopes=self.scopes)

    def fits(self, record: Record, now: datetime) -> bool:
        """Whether `record` counts, as it stands at `now`."""
        return record.state(now) in self.states and self.counts(record)

    def counts(self, record: Record) -> bool:
        """Whether `record` counts, whatever its state."""
        moment = record.at or record.created_at
        several = (
            (self.ids, record.id),
            (self.kinds, record.kind),
            (self.sources, record.source),
            (self.trust, record.trust),
            (self.sessions, record.session),
        )
        single = (
            (self.visibility, record.visibility),
            (self.speaker, record.speaker),
            (self.key, record.key),
            (self.superseded_by, record.superseded_by),
            (self.pinned, record.pinned),
        )
        return (
            (self.scopes is None or record.scope in self.scopes)
            and all(not criterion or value in criterion for criterion, value in several)
            and all(criterion is None or value == criterion for criterion, value in single)
            and (self.key_prefix is None or (record.key or "").startswith(self.key_prefix))
            and set(self.tags) <= set(record.tags)
            and (self.since is None or moment >= self.since)
            and (self.until is None or moment < self.until)
        )


class Filters(TypedDict, total=False):
    """Which records count, beside their scopes. What is absent, empty or None narrows nothing."""

    kinds: Sequence[str]
    sources: Sequence[str]
    tags: Sequence[str]
    trust: Sequence[Trust]
    visibility: Visibility | None
    sessions: Sequence[str]
    speaker: str | None
    key: str | None
    key_prefix: str | None
    superseded_by: str | None
    pinned: bool | None
    since: datetime | None
    until: datetime | None
    everyone: bool


def _refuse_others(what: str, names: Set[str], allowed: Sequence[str]) -> None:
    if unknown := names - set(allowed):
        raise InvalidQuery(f"{', '.join(sorted(unknown))}: no such {what}. Use {', '.join(allowed)}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """
    `layer` is what each hit is told by, `budget` how many tokens all of them may have together. Hits below `min_relevance` are left out. Of
    records that say the same one is shown, with the others as its evidence; `copies` shows each.
    """

    text: str
    filter: Filter = Filter()
    limit: int = 10
    mode: Mode = "hybrid"
    as_of: datetime | None = None
    diversity: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    layer: LayerName | None = None
    budget: int | None = None
    min_relevance: float = 0.0
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Why(JsonObject):
    """
    Why a hit is where it is. The parts sum to the hit's score. `words` are the analysed words of the question found in
    the passage; `start` and `stop` are the passage's place in the record's text. `bm25` is what the words scored before they
    were weighed against the rest of the scope. `coverage` is the share of the question's words that the passage holds, rare words counting
    for more; `cosine` how near their meanings are, None without an embedder.
    """

    parts: Mapping[str, float]
    words: tuple[str, ...]
    start: int
    stop: int
    bm25: float = field(default=0.0, compare=False)
    coverage: float = field(default=0.0, compare=False)
    cosine: float | None = field(default=None, compare=False)

    def __str__(self) -> str:
        parts = [f"{name} {value:+.2f}" for name, value in self.parts.items() if abs(value) >= 0.005]
        words = f" ({', '.join(self.words)})" if self.words else ""
        return " ".join(parts) + words


@dataclass(frozen=True, slots=True)
class Hit:
    """
    A record that was found. `score` is for the order of hits; `relevance` is the chance that this answers the question, from 0 to 1. `relevant`:
    the best hit reaches the floor, and this one is not far behind it; if no hit is relevant, no memory answers the question. `evidence`
    has the ids of records that say the same and are not shown, `contradicted_by` those of hits that say otherwise.
    """

    record: Record
    score: float
    why: Why
    layer: LayerText | None = None
    """What is told instead of the passage, if a layer was asked for."""
    relevance: float = 1.0
    relevant: bool = True
    evidence: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()

    @property
    def passage(self) -> str:
        """The stretch of the text that was found."""
        return self.record.text[self.why.start : self.why.stop]


@dataclass(frozen=True, slots=True)
class Page(JsonObject):
    """A stretch of a listing. `cursor` continues it; None is the end."""

    records: tuple[Record, ...]
    cursor: str | None
