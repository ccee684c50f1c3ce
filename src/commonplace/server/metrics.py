"""
What Prometheus is told. Labels are names of ours: doors, routes as they are written down, use cases, codes. No id of
anybody's and no text is ever one.

With several workers each writes its numbers into a folder that `PROMETHEUS_MULTIPROC_DIR` names, and any of them answers
for all.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import (
    MultiProcessCollector,
    mark_process_dead,  # pyright: ignore[reportUnknownVariableType] - it has no types
)

from commonplace.errors import CommonplaceError
from commonplace.server.latency import BUCKETS, Latencies

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
        self.jobs = Counter("commonplace_jobs", "Jobs, by what became of them.", ["kind", "state"], registry=own)

    @contextmanager
    def call(self, service: str, name: str) -> Generator[None]:
        """Count a use case and take its time."""
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
            if name in _SEARCHES:
                self.searches.labels(outcome).inc()
                if outcome == "ok":
                    self.recalls.add(took)
            elif name in _WRITES:
                self.writes.labels(outcome).inc()

    def text(self, *, store_up: bool) -> bytes:
        """All of it in the form Prometheus reads; slow enough for a thread."""
        registry = self._registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        now = CollectorRegistry()
        now.register(_Now(store_up))
        return generate_latest(registry) + generate_latest(now)


class _Now:
    """What holds at this moment, whichever worker is asked."""

    def __init__(self, store_up: bool) -> None:
        self._store_up = store_up

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily("commonplace_store_up", "Whether the store answers.", value=float(self._store_up))


def forget_worker() -> None:
    """At the end of a worker: its open streams are gone."""
    if FOLDER in os.environ:
        mark_process_dead(os.getpid())
