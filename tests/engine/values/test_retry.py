"""Pauses between attempts, and the loop around them."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.values.retry import CONFLICT, Backoff, attempts
from commonplace.values.retry_after import parse_retry_after


class Sleep:
    """Nobody waits; how long they would have."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)


def test_each_pause_is_twice_the_one_before_up_to_the_longest() -> None:
    backoff = Backoff(first=0.5, longest=3.0)

    pauses = [backoff.after(attempt) for attempt in range(1, 6)]

    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize("attempt", [100, 2_000, 10**9])
def test_after_very_many_attempts_a_pause_is_still_a_number(attempt: int) -> None:
    pauses = [backoff.after(attempt) for backoff in (Backoff(first=1.0, longest=60.0), Backoff(first=1.0))]

    assert pauses == [60.0, 2.0**64]


@given(attempt=st.integers(1, 100))
def test_jitter_stays_between_its_factors(attempt: int) -> None:
    pause = Backoff(first=1.0, longest=8.0, jitter=(0.5, 1.5)).after(attempt)

    base = min(2.0 ** (attempt - 1), 8.0)
    assert 0.5 * base <= pause <= 1.5 * base


def test_callers_that_failed_together_do_not_come_back_together() -> None:
    pauses = {CONFLICT.after(1) for _ in range(20)}

    assert len(pauses) > 1
    assert max(pauses) <= 0.02


@pytest.mark.anyio
async def test_there_is_a_pause_between_two_attempts_and_none_at_the_ends() -> None:
    sleep = Sleep()

    numbers = [number async for number in attempts(4, Backoff(first=1.0), sleep=sleep)]

    assert numbers == [1, 2, 3, 4]
    assert sleep.pauses == [1.0, 2.0, 4.0]


@pytest.mark.anyio
async def test_an_attempt_that_succeeds_is_followed_by_no_pause() -> None:
    sleep = Sleep()

    async for number in attempts(4, Backoff(first=1.0), sleep=sleep):
        if number == 2:
            break

    assert sleep.pauses == [1.0]


@pytest.mark.anyio
@pytest.mark.parametrize("limit", [0, -1])
async def test_without_attempts_there_is_nothing_to_do(limit: int) -> None:
    assert [number async for number in attempts(limit)] == []


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), (" 7 ", 7.0), ("1.5", 1.5), ("0", 0.0)])
def test_retry_after_may_be_a_number(header: str, seconds: float) -> None:
    assert parse_retry_after(header) == seconds


@pytest.mark.parametrize("years", [-1, 1])
def test_retry_after_may_be_a_date(years: int) -> None:
    moment = datetime.now(UTC) + timedelta(days=365 * years)

    seconds = parse_retry_after(format_datetime(moment, usegmt=True))

    assert seconds is not None
    assert seconds == 0.0 if years < 0 else 364 * 86_400 < seconds <= 365 * 86_400


@pytest.mark.parametrize("header", ["", "soon", "-1", "1.5.2", ".", "Infinity", "nan", "1e9"])
def test_a_retry_after_that_is_neither_says_nothing(header: str) -> None:
    assert parse_retry_after(header) is None


def test_a_very_long_number_is_still_a_finite_wait() -> None:
    seconds = parse_retry_after("9" * 400)

    assert seconds == 999_999_999.0
