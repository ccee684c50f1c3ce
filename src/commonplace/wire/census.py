"""How much there is and of what, on the wire."""

from __future__ import annotations

from datetime import datetime

from commonplace.values import census
from commonplace.values.census import By
from commonplace.wire.records import scope_value
from commonplace.wire.shapes import Answer, Count, Label, Moment


class ScopeAnswer(Answer):
    """`records` are the live ones; `updated_at` is null where the scope holds no record any more."""

    scope: str
    kind: str
    id: str
    records: Count
    updated_at: Moment | None

    def value(self) -> census.ScopeCount:
        return census.ScopeCount(scope=scope_value(self.scope), records=self.records, updated_at=self.updated_at)


class ScopesAnswer(Answer):
    """Last written first. `more`: there are others that fit."""

    scopes: list[ScopeAnswer]
    more: bool

    @classmethod
    def of(cls, found: census.ScopeCounts) -> ScopesAnswer:
        scopes = [
            ScopeAnswer.model_construct(
                scope=str(one.scope),
                kind=one.scope.kind,
                id=one.scope.id,
                records=one.records,
                updated_at=one.updated_at,
            )
            for one in found.scopes
        ]
        return cls.model_construct(scopes=scopes, more=found.more)

    def value(self) -> census.ScopeCounts:
        return census.ScopeCounts(scopes=tuple(one.value() for one in self.scopes), more=self.more)


class CountAnswer(Answer):
    by: dict[By, str]
    records: Count


class CountsAnswer(Answer):
    """
    The days in order where days are counted, else most records first. `total` is the sum of all; `truncated`: there are more
    than 10,000 counts, and the rest was left out.
    """

    counts: list[CountAnswer]
    total: Count
    truncated: bool

    @classmethod
    def of(cls, tally: census.Tally) -> CountsAnswer:
        counts = [CountAnswer.model_construct(by=dict(one.by), records=one.records) for one in tally.counts]
        return cls.model_construct(counts=counts, total=tally.total, truncated=tally.truncated)

    def value(self) -> census.Tally:
        counts = tuple(census.Count(by=one.by, records=one.records) for one in self.counts)
        return census.Tally(counts=counts, total=self.total, truncated=self.truncated)


class RecallAnswer(Answer):
    """A search (`record.search`) or a context block (`record.context`) that showed the record; the best `rank` is 1."""

    at: Moment
    by: str
    action: str
    door: str
    rank: Count
    run: str | None
    client: str | None

    def value(self) -> census.Recalled:
        return census.Recalled(
            at=self.at,
            by=self.by,
            action=self.action,
            door=self.door,
            rank=self.rank,
            run=self.run,
            client=self.client,
        )


class RecallsAnswer(Answer):
    """Newest first. So many searches were looked through (`searched`); not `complete`: older ones were not."""

    recalls: list[RecallAnswer]
    searched: Count
    complete: bool

    @classmethod
    def of(cls, found: census.Recalls) -> RecallsAnswer:
        recalls = [
            RecallAnswer(
                at=one.at,
                by=one.by,
                action=one.action,
                door=one.door,
                rank=one.rank,
                run=one.run,
                client=one.client,
            )
            for one in found.recalls
        ]
        return cls(recalls=recalls, searched=found.searched, complete=found.complete)

    def value(self) -> census.Recalls:
        recalls = tuple(one.value() for one in self.recalls)
        return census.Recalls(recalls=recalls, searched=self.searched, complete=self.complete)


class WeightAnswer(Answer):
    name: Label
    default: float
    meaning: str

    def value(self) -> census.Weight:
        return census.Weight(name=self.name, default=self.default, meaning=self.meaning)


class WeightsAnswer(Answer):
    """What `weights` of a search may name."""

    weights: list[WeightAnswer]

    @classmethod
    def of(cls, weights: tuple[census.Weight, ...]) -> WeightsAnswer:
        return cls(weights=[WeightAnswer(name=one.name, default=one.default, meaning=one.meaning) for one in weights])


class QuantilesAnswer(Answer):
    """Seconds; null where nothing was recalled."""

    count: Count
    p50: float | None
    p95: float | None
    p99: float | None

    def quantiles(self) -> census.Quantiles:
        return census.Quantiles(count=self.count, p50=self.p50, p95=self.p95, p99=self.p99)


class MinuteAnswer(QuantilesAnswer):
    at: Moment


class LatencyAnswer(QuantilesAnswer):
    """
    Of the worker that answers, since it began (`since`), at most for an hour: as a whole, and each minute that had any, oldest
    first.
    """

    since: Moment
    minutes: list[MinuteAnswer]

    @classmethod
    def of(cls, told: census.Latency) -> LatencyAnswer:
        minutes = [
            MinuteAnswer(at=at, count=one.count, p50=one.p50, p95=one.p95, p99=one.p99) for at, one in told.minutes
        ]
        whole = told.whole
        return cls(since=told.since, minutes=minutes, count=whole.count, p50=whole.p50, p95=whole.p95, p99=whole.p99)

    def value(self) -> census.Latency:
        minutes: tuple[tuple[datetime, census.Quantiles], ...] = tuple(
            (one.at, one.quantiles()) for one in self.minutes
        )
        return census.Latency(since=self.since, whole=self.quantiles(), minutes=minutes)
