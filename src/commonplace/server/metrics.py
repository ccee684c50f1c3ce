"""
What Prometheus is told. Labels are names of ours: doors, routes as they are written down, use cases, codes. No id of
anybody's and no text is ever one.

With several workers each writes its numbers into a folder that `PROMETHEUS_MULTIPROC_DIR` names, and any of them answers
for all.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import (
    MultiProcessCollector,
    mark_process_dead,  # pyright: ignore[reportUnknownVariableType] - it has no types
)

from commonplace.errors import CommonplaceError
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

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
_SEARCHES: Final = frozenset({"search", "context", "sections"})
_WRITES: Final = frozenset(
    "put add_turns edit pin delete undo promote demote supersede expire purge load add flush import_path".split()
)


class Metrics:
    """`subscribers` and `jobs` are for the event stream and the workers to count in; `recalls` are this process's own."""

    def __init__(self) -> None:
        # When each counter was made interests nobody, and doubles the page.
        disable_created_metrics()
        own = self._registry = CollectorRegistry()
        self.requests = Counter(
            "commonplace_requests", "Requests answered.", ["door", "route", "method", "status"], registry=own
        )
        self.seconds = Histogram(
            "commonplace_request_seconds",
            "How long answers took.",
            ["door", "route", "method"],
            buckets=_BUCKETS,
            registry=own,
        )
        self.calls = Counter(
            "commonplace_calls", "Use cases asked for, by how they ended.", ["use_case", "outcome"], registry=own
        )
        self.call_seconds = Histogram(
            "commonplace_call_seconds", "How long use cases took.", ["use_case"], buckets=_BUCKETS, registry=own
        )
        self.searches = Counter("commonplace_searches", "Searches and context blocks.", ["outcome"], registry=own)
        self.recalls = Latencies(
            Histogram(
                "commonplace_search_seconds",
                "How long searches and context blocks took that ended well.",
                buckets=BUCKETS,
                registry=own,
            )
        )
        self.writes = Counter("commonplace_writes", "Changes of records.", ["outcome"], registry=own)
        self.subscribers = Gauge(
            "commonplace_event_subscribers",
            "Event streams that are open.",
            registry=own,
            multiprocess_mode="livesum",
        )
        self.passed_on = Counter(
            "commonplace_requests_passed_on", "Requests for a session that another worker leads.", registry=own
        )
        self.jobs = Counter("commonplace_jobs", "Jobs, by what became of them.", ["kind", "state"], registry=own)

    @contextmanager
    def call(self, service: str, name: str, *, is_browsing: bool = False) -> Generator[None]:
        """Count a use case and take its time. What a person looks for in the console is no recall."""
        outcome, started = "ok", perf_counter()
        try:
            yield
        except BaseException as error:
            outcome = error.code if isinstance(error, CommonplaceError) else "internal_error"
            raise
        finally:
            use_case, took = f"{service}.{name}", perf_counter() - started
            self.calls.labels(use_case, outcome).inc()
            self.call_seconds.labels(use_case).observe(took)
            if name in _SEARCHES and not is_browsing:
                self.searches.labels(outcome).inc()
                if outcome == "ok":
                    self.recalls.add(took)
            elif name in _WRITES:
                self.writes.labels(outcome).inc()

    def text(self, *, store_up: bool, unreadable: int = 0, sessions: int = 0) -> bytes:
        """All of it in the form Prometheus reads; slow enough for a thread."""
        registry = self._registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        now = CollectorRegistry()
        now.register(_Now(store_up, unreadable, sessions))
        return generate_latest(registry) + generate_latest(now)


class _Now:
    """What holds at this moment, whichever worker is asked."""

    def __init__(self, store_up: bool, unreadable: int, sessions: int) -> None:
        self._store_up = store_up
        self._unreadable = unreadable
        self._sessions = sessions

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily("commonplace_store_up", "Whether the store answers.", value=float(self._store_up))
        yield GaugeMetricFamily(
            "commonplace_store_unreadable",
            "What the worker that answers could not read of a damaged store.",
            value=float(self._unreadable),
        )
        yield GaugeMetricFamily(
            "commonplace_sessions_led",
            "Sessions of agents that a process on this store leads.",
            value=float(self._sessions),
        )


def forget_worker() -> None:
    """At the end of a worker: its open streams are gone."""
    if FOLDER in os.environ:
        mark_process_dead(os.getpid())


# ---- how long recalls took lately, minute by minute, in this process


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
