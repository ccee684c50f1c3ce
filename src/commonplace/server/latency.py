"""How long recalls took lately, minute by minute: read from the Prometheus histogram of the process that answered them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from prometheus_client import Histogram

from commonplace.values.census import Latency, Quantiles

MINUTES: Final = 60
BUCKETS: Final = tuple(
    float(bound)
    for bound in (
        "0.0005 0.0007 0.001 0.0015 0.002 0.003 0.005 0.007 0.01 0.015 0.02 0.03 0.05 0.07 "
        "0.1 0.15 0.2 0.3 0.5 0.7 1 1.5 2 3 5 7 10 30"
    ).split()
)
"""Seconds. A bound is at most 1.7 times the one before it, so a quantile is never off by more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Minute:
    """`before`: what each bucket of the histogram had counted when the minute began."""

    number: int
    before: Sequence[float]


class Latencies:
    """Over a histogram without labels, with the bounds `BUCKETS`. `now` returns seconds since 1970."""

    def __init__(self, histogram: Histogram, now: Callable[[], float] = time.time) -> None:
        self._histogram = histogram
        self._now = now
        self._since = now()
        self._minutes: deque[_Minute] = deque(maxlen=MINUTES)

    def add(self, seconds: float) -> None:
        number = int(self._now() // 60)
        if not self._minutes or self._minutes[-1].number != number:
            self._minutes.append(_Minute(number=number, before=self._counts()))
        self._histogram.observe(seconds)

    def summary(self) -> Latency:
        first = int(self._now() // 60) - MINUTES
        minutes = [minute for minute in self._minutes if minute.number > first]
        counts = [*(minute.before for minute in minutes), self._counts()]
        return Latency(
            since=_moment(self._since),
            whole=_quantiles(counts[0], counts[-1]),
            minutes=tuple(
                (_moment(minute.number * 60.0), _quantiles(before, after))
                for minute, (before, after) in zip(minutes, pairwise(counts), strict=True)
            ),
        )

    def _counts(self) -> list[float]:
        """How many recalls took at most as long as each bound, the last of which is infinite."""
        return [
            sample.value
            for metric in self._histogram.collect()
            for sample in metric.samples
            if sample.name.endswith("_bucket")
        ]


def _quantiles(before: Sequence[float], after: Sequence[float]) -> Quantiles:
    counts = [end - begin for begin, end in zip(before, after, strict=True)]
    if not counts[-1]:
        return Quantiles()
    return Quantiles(count=int(counts[-1]), p50=_at(counts, 0.5), p95=_at(counts, 0.95), p99=_at(counts, 0.99))


def _at(counts: Sequence[float], share: float) -> float:
    """As Prometheus computes it: the recalls of a bucket count as spread evenly over it."""
    rank = share * counts[-1]
    lower, below = 0.0, 0.0
    for upper, count in zip(BUCKETS, counts, strict=False):
        if count >= rank:
            return round(lower + (upper - lower) * (rank - below) / (count - below), 6)
        lower, below = upper, count
    return BUCKETS[-1]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
