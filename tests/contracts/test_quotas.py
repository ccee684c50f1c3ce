"""What the port `Quotas` says, of every store."""

from datetime import timedelta
from typing import Any

import anyio
import pytest

from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


async def test_what_is_spent_adds_up_until_the_limit(store: Store) -> None:
    limits = {"queries": 3}

    spent = [await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, limits) for _ in range(5)]

    assert spent == [True, True, True, False, False]
    assert await store.quotas.spent(T, "run-1", MINUTE) == {"queries": 3}


async def test_nothing_is_spent_where_one_counter_would_pass_its_limit(store: Store) -> None:
    limits = {"queries": 10, "tokens": 100}
    await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1, "tokens": 90}, limits)

    assert not await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1, "tokens": 11}, limits)
    assert await store.quotas.spent(T, "run-1", MINUTE) == {"queries": 1, "tokens": 90}
    assert await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1, "tokens": 10}, limits)
    assert await store.quotas.spent(T, "run-1", MINUTE) == {"queries": 2, "tokens": 100}


async def test_an_amount_without_a_limit_is_only_counted(store: Store) -> None:
    assert await store.quotas.spend(T, "run-1", MINUTE, {"bytes": 10**12}, {"queries": 1})
    assert await store.quotas.spend(T, "run-1", MINUTE, {"bytes": 1, "queries": 1}, {"queries": 1})
    assert await store.quotas.spent(T, "run-1", MINUTE) == {"bytes": 10**12 + 1, "queries": 1}


async def test_a_window_begins_with_what_is_spent_first_after_the_one_before(store: Store, clock: FakeClock) -> None:
    limits = {"queries": 1}
    await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, limits)
    clock.advance(SECOND * 59)
    assert not await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, limits)

    clock.advance(SECOND * 31)
    assert await store.quotas.spent(T, "run-1", MINUTE) == {}
    assert await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, limits)

    clock.advance(SECOND * 59)
    assert not await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, limits)
    assert await store.quotas.spent(T, "run-1", MINUTE) == {"queries": 1}


async def test_what_is_refused_begins_no_window(store: Store, clock: FakeClock) -> None:
    assert not await store.quotas.spend(T, "run-1", MINUTE, {"queries": 2}, {"queries": 1})
    clock.advance(SECOND * 59)
    assert await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, {"queries": 1})

    clock.advance(SECOND * 59)
    assert await store.quotas.spent(T, "run-1", MINUTE) == {"queries": 1}


async def test_a_new_window_forgets_all_counters_of_the_old_one(store: Store, clock: FakeClock) -> None:
    await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1, "tokens": 5}, {})
    clock.advance(MINUTE)

    await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, {})

    assert await store.quotas.spent(T, "run-1", MINUTE) == {"queries": 1}


async def test_tenants_and_names_spend_for_themselves(store: Store) -> None:
    limits = {"queries": 1}

    assert await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, limits)
    assert await store.quotas.spend(T, "run-2", MINUTE, {"queries": 1}, limits)
    assert await store.quotas.spend(OTHER, "run-1", MINUTE, {"queries": 1}, limits)
    assert not await store.quotas.spend(T, "run-1", MINUTE, {"queries": 1}, limits)
    assert await store.quotas.spent(T, "run-3", MINUTE) == {}


@pytest.mark.parametrize("fresh", [True, False])
async def test_the_last_one_is_had_only_once(store: Store, open_store: Any, fresh: bool) -> None:
    stores: list[Store] = [store, await open_store()]
    already = 0 if fresh else 7
    if already:
        await store.quotas.spend(T, "run-1", HOUR, {"queries": already}, {})
    had: list[bool] = []

    async def spend(n: int) -> None:
        had.append(await stores[n % 2].quotas.spend(T, "run-1", HOUR, {"queries": 1}, {"queries": already + 1}))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(16):
                tasks.start_soon(spend, n)

    assert sorted(had) == [False] * 15 + [True]
    assert await store.quotas.spent(T, "run-1", HOUR) == {"queries": already + 1}


async def test_what_is_given_back_can_be_spent_again(store: Store) -> None:
    limits = {"micro_usd": 100}
    await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 100}, limits)

    assert not await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 30}, limits)
    assert await store.quotas.spend(T, "llm", HOUR, {"micro_usd": -60}, {})
    assert await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 30}, limits)
    assert await store.quotas.spent(T, "llm", HOUR) == {"micro_usd": 70}


async def test_no_counter_falls_below_zero(store: Store) -> None:
    await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 10}, {})

    await store.quotas.spend(T, "llm", HOUR, {"micro_usd": -25}, {})

    assert await store.quotas.spent(T, "llm", HOUR) == {"micro_usd": 0}


@pytest.mark.parametrize("fresh", [True, False])
async def test_giving_back_makes_the_next_window_no_larger(store: Store, clock: FakeClock, fresh: bool) -> None:
    limits = {"micro_usd": 100}
    if not fresh:
        await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 100}, limits)
        clock.advance(HOUR)

    await store.quotas.spend(T, "llm", HOUR, {"micro_usd": -100}, {})

    assert not await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 101}, limits)
    assert await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 100}, limits)
    assert not await store.quotas.spend(T, "llm", HOUR, {"micro_usd": 1}, limits)


async def test_windows_that_are_over_are_forgotten_and_others_go_on(store: Store, clock: FakeClock) -> None:
    await store.quotas.spend(T, "short", MINUTE, {"queries": 1}, {})
    await store.quotas.spend(T, "long", HOUR, {"queries": 1}, {})
    clock.advance(MINUTE)

    assert await store.quotas.trim_quotas() == 1

    assert await store.quotas.trim_quotas() == 0
    assert await store.quotas.spent(T, "long", HOUR) == {"queries": 1}
