"""How much there is and of what, on the wire."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from commonplace.values.census import Latency, Quantiles, ScopeCount, ScopeCounts, Weight
from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.scope import Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeAnswer(JsonObject):
    """`records` are the live ones; `updated_at` is null where the scope holds no record any more."""

    scope: Scope
    kind: str
    id: str
    records: Natural
    updated_at: Moment | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopesAnswer(JsonObject):
    """Last written first. `more`: there are others that fit."""

    scopes: tuple[ScopeAnswer, ...]
    more: bool

    @classmethod
    def of(cls, counts: ScopeCounts) -> ScopesAnswer:
        scopes = [
            ScopeAnswer(
                scope=entry.scope,
                kind=entry.scope.kind,
                id=entry.scope.id,
                records=entry.records,
                updated_at=entry.updated_at,
            )
            for entry in counts.scopes
        ]
        return cls(scopes=tuple(scopes), more=counts.more)

    def value(self) -> ScopeCounts:
        scopes = [
            ScopeCount(scope=entry.scope, records=entry.records, updated_at=entry.updated_at) for entry in self.scopes
        ]
        return ScopeCounts(scopes=tuple(scopes), more=self.more)


@dataclass(frozen=True, slots=True)
class WeightsAnswer(JsonObject):
    """What `weights` of a search may name."""

    weights: tuple[Weight, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MinuteAnswer(JsonObject):
    """Seconds; null where nothing was recalled."""

    at: Moment
    count: Natural
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyAnswer(JsonObject):
    """
    Of the worker that answers, since it began (`since`), at most for an hour: as a whole, and each minute that had any, oldest
    first. Seconds; null where nothing was recalled.
    """

    since: Moment
    count: Natural
    p50: float | None
    p95: float | None
    p99: float | None
    minutes: tuple[MinuteAnswer, ...]

    @classmethod
    def of(cls, latency: Latency) -> LatencyAnswer:
        minutes = tuple(MinuteAnswer(at=at, **asdict(quantiles)) for at, quantiles in latency.minutes)
        return cls(since=latency.since, minutes=minutes, **asdict(latency.whole))

    def value(self) -> Latency:
        minutes = tuple((minute.at, _quantiles(minute)) for minute in self.minutes)
        return Latency(since=self.since, whole=_quantiles(self), minutes=minutes)


def _quantiles(of: MinuteAnswer | LatencyAnswer) -> Quantiles:
    return Quantiles(count=of.count, p50=of.p50, p95=of.p95, p99=of.p99)
