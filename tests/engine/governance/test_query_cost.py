"""What a key may search for in a minute: words times scopes."""

from hypothesis import given
from hypothesis import strategies as st

from commonplace.governance.limits import RateLimits


@given(costs=st.lists(st.integers(1, 50), min_size=1, max_size=60), limit=st.integers(1, 40))
def test_at_one_moment_no_more_is_let_through_than_a_full_bucket(costs: list[int], limit: int) -> None:
    limits = RateLimits({"query": limit})

    passed = [min(cost, limit) for cost in costs if limits.check("key", "query", 0.0, cost) is None]

    assert sum(passed) <= limit


@given(cost=st.integers(1, 1_000), limit=st.integers(1, 40))
def test_who_waits_as_long_as_told_may_ask_whatever_it_costs(cost: int, limit: int) -> None:
    limits = RateLimits({"query": limit})
    assert limits.check("key", "query", 0.0, limit) is None

    wait = limits.check("key", "query", 0.0, cost)

    assert wait is not None
    assert limits.check("key", "query", wait, cost) is None


def test_two_keys_have_a_budget_each() -> None:
    limits = RateLimits({"query": 10})

    assert [limits.check(key, "query", 0.0, 10) for key in ("ana", "bob")] == [None, None]
    assert limits.check("ana", "query", 0.0, 1) is not None


def test_without_a_limit_everything_passes() -> None:
    assert RateLimits({"query": 0}).check("key", "query", 0.0, 10**9) is None
