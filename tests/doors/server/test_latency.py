"""How long recalls took: minutes, quantiles, and what is forgotten."""

import math
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Histogram

from commonplace.server.metrics import BUCKETS, MINUTES, Latencies


class Hands:
    """A clock to be set."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def latencies_at(hands: Hands) -> Latencies:
    return Latencies(Histogram("seconds", "Of a test.", buckets=BUCKETS, registry=None), hands)


def width(seconds: float) -> float:
    """Of the bucket that a time falls into."""
    return next(upper - lower for lower, upper in pairwise((0.0, *BUCKETS)) if seconds <= upper)


def test_minutes_are_told_apart_and_summed_up() -> None:
    hands = Hands()
    latencies = latencies_at(hands)
    for thousandth in range(1, 101):
        latencies.add(thousandth / 1000)
    hands.now += 60
    latencies.add(1.0)

    latency = latencies.summary()

    assert latency.since == datetime.fromtimestamp(1_800_000_000, UTC)
    assert [(at.minute, minute.count) for at, minute in latency.minutes] == [(0, 100), (1, 1)]
    first, whole = latency.minutes[0][1], latency.whole
    assert (first.p50, first.p95, first.p99) == (
        pytest.approx(0.05),  # pyright: ignore[reportUnknownMemberType]
        pytest.approx(0.095),  # pyright: ignore[reportUnknownMemberType]
        pytest.approx(0.099),  # pyright: ignore[reportUnknownMemberType]
    )
    assert (whole.count, whole.p99) == (101, pytest.approx(0.1, abs=0.001))  # pyright: ignore[reportUnknownMemberType]


@given(st.lists(st.floats(0.0001, 30), min_size=1, max_size=200))
def test_a_quantile_is_right_within_the_width_of_its_bucket(times: list[float]) -> None:
    latencies = latencies_at(Hands())
    for seconds in times:
        latencies.add(seconds)

    whole = latencies.summary().whole

    ordered = sorted(times)
    for share, quantile in ((0.5, whole.p50), (0.95, whole.p95), (0.99, whole.p99)):
        exact = ordered[math.ceil(share * len(ordered)) - 1]
        assert quantile is not None
        assert abs(quantile - exact) <= width(exact)


def test_what_took_longer_than_every_bound_counts_as_the_longest() -> None:
    latencies = latencies_at(Hands())
    latencies.add(1_000.0)

    assert latencies.summary().whole.p50 == BUCKETS[-1]


def test_what_is_older_than_an_hour_is_forgotten() -> None:
    hands = Hands()
    latencies = latencies_at(hands)
    latencies.add(1.0)
    hands.now += 60 * MINUTES

    assert latencies.summary().whole.count == 0
    assert latencies.summary().whole.p50 is None


def test_of_a_day_only_the_last_hour_counts() -> None:
    hands = Hands()
    latencies = latencies_at(hands)
    for _ in range(24 * 60):
        hands.now += 60
        latencies.add(0.5)

    latency = latencies.summary()

    assert (latency.whole.count, len(latency.minutes)) == (MINUTES, MINUTES)
    assert {minute.count for _, minute in latency.minutes} == {1}
