"""How often a caller may ask, and how often an address may guess."""

from hypothesis import given
from hypothesis import strategies as st

from commonplace.governance.limits import Guessing, RateLimits, neighbourhood

# Seconds since 1970 as well as seconds since the machine started: the clock is the caller's.
STARTS = st.sampled_from([0.0, 1_000.0, 1.8e9])
STEPS = st.lists(st.floats(0, 90), min_size=1, max_size=120)


@given(start=STARTS, steps=STEPS, limit=st.integers(1, 40))
def test_no_stretch_of_time_lets_more_through_than_a_full_bucket_and_what_flows_in(
    start: float, steps: list[float], limit: int
) -> None:
    limits = RateLimits({"read": limit})
    passed: list[float] = []
    now = start
    for step in steps:
        now += step / limit
        if limits.check("key", "read", now) is None:
            passed.append(now)

    for first in range(len(passed)):
        for last in range(first, len(passed)):
            flowed = (passed[last] - passed[first]) * limit / 60
            assert last - first + 1 <= limit + flowed + 0.01


@given(start=STARTS, steps=STEPS, limit=st.integers(1, 40))
def test_who_waits_as_long_as_told_is_let_through(start: float, steps: list[float], limit: int) -> None:
    limits = RateLimits({"mutation": limit})
    now = start
    for step in steps:
        now += step / (4 * limit)
        wait = limits.check("key", "mutation", now)
        if wait is not None:
            assert 0 < wait <= 60 / limit + 1e-6
            now += wait
            assert limits.check("key", "mutation", now) is None


def test_a_refused_request_costs_nothing() -> None:
    limits = RateLimits({"read": 2})
    for _ in range(2):
        assert limits.check("key", "read", 0.0) is None

    refused = [limits.check("key", "read", 1.0) for _ in range(50)]

    assert None not in refused
    assert limits.check("key", "read", 31.0) is None


def test_keys_and_tiers_have_buckets_of_their_own_and_a_tier_without_a_limit_is_free() -> None:
    limits = RateLimits({"read": 1, "mutation": 1, "prompt": 0})

    assert limits.check("a", "read", 0.0) is None
    assert limits.check("a", "read", 0.0) is not None
    assert limits.check("a", "mutation", 0.0) is None
    assert limits.check("b", "read", 0.0) is None
    assert all(limits.check("a", "prompt", 0.0) is None for _ in range(100))


def test_a_clock_that_is_put_back_gives_nothing_away() -> None:
    limits = RateLimits({"read": 1})
    assert limits.check("a", "read", 100.0) is None

    assert limits.check("a", "read", 0.0) is not None
    assert limits.check("a", "read", 100.0) is not None


def test_of_too_many_buckets_the_longest_idle_goes() -> None:
    limits = RateLimits({"read": 1}, most=3)
    for name in "abc":
        limits.check(name, "read", 0.0)
    limits.check("a", "read", 1.0)

    limits.check("d", "read", 2.0)

    assert len(limits) == 3
    assert limits.check("a", "read", 2.0) is not None
    assert limits.check("c", "read", 2.0) is not None
    assert limits.check("b", "read", 2.0) is None


def test_after_twenty_wrong_keys_an_address_is_refused_for_the_rest_of_the_minute() -> None:
    guessing = Guessing()
    for n in range(20):
        assert guessing.check("192.0.2.7", float(n)) is None
        guessing.failed("192.0.2.7", float(n))

    assert guessing.check("192.0.2.7", 19.0) == 41.0
    assert guessing.check("192.0.2.8", 19.0) is None
    assert guessing.check("192.0.2.7", 60.0) is None


@given(start=STARTS, steps=st.lists(st.floats(0, 30), min_size=1, max_size=150))
def test_no_more_than_twenty_guesses_are_answered_in_a_minute_that_begins_with_one(
    start: float, steps: list[float]
) -> None:
    guessing = Guessing()
    now, began, answered = start, None, 0
    for step in steps:
        now += step
        if guessing.check("203.0.113.1", now) is not None:
            continue
        guessing.failed("203.0.113.1", now)
        if began is None or now >= began + 60:
            began, answered = now, 0
        answered += 1
        assert answered <= 20


def test_guessing_from_a_great_many_addresses_fills_no_memory() -> None:
    guessing = Guessing(most=100)

    for n in range(1_000):
        guessing.failed(f"10.0.{n // 256}.{n % 256}", float(n) / 100)

    assert len(guessing) == 100


def test_all_addresses_of_one_network_of_ipv6_are_one_caller() -> None:
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:2")
    assert neighbourhood("2001:db8::1") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("::ffff:192.0.2.7") == neighbourhood("192.0.2.7") == "192.0.2.7"
    assert neighbourhood("a socket") == "a socket"
