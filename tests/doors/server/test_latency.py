"""How long recalls took: minutes, quantiles, and what is forgotten."""

from datetime import UTC, datetime

from commonplace.server.latency import MINUTES, MOST, Latencies


class Hands:
    """A clock to be set."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def test_minutes_are_told_apart_and_summed_up() -> None:
    hands = Hands()
    latencies = Latencies(hands)
    for thousandth in range(1, 101):
        latencies.add(thousandth / 1000)
    hands.now += 60
    latencies.add(1.0)

    told = latencies.told()

    assert told.since == datetime.fromtimestamp(1_800_000_000, UTC)
    assert [(at.second, one.count) for at, one in told.minutes] == [(0, 100), (0, 1)]
    assert (told.minutes[0][1].p50, told.minutes[0][1].p95, told.minutes[0][1].p99) == (0.051, 0.096, 0.1)
    assert (told.whole.count, told.whole.p99) == (101, 0.1)


def test_what_is_older_than_an_hour_is_forgotten() -> None:
    hands = Hands()
    latencies = Latencies(hands)
    latencies.add(1.0)
    hands.now += 60 * MINUTES

    assert latencies.told().whole.count == 0
    assert latencies.told().whole.p50 is None


def test_of_a_busy_minute_a_sample_is_kept_and_all_are_counted() -> None:
    latencies = Latencies(Hands())
    for _ in range(MOST * 2):
        latencies.add(0.5)

    [(_, minute)] = latencies.told().minutes

    assert (minute.count, minute.p50) == (MOST * 2, 0.5)
