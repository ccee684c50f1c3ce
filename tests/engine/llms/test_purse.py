"""A call is charged to every budget it falls under, or to none of them."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.errors import SpendingCapReached, StoreUnavailable
from commonplace.llms.purse import ChatPurse, Purse, Reserved
from commonplace.ports.models import Pot
from commonplace.ports.quotas import Quotas
from commonplace.ports.usage import UsageLedger
from commonplace.stores.postgres.store import PostgresStore
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.testing.models import task
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import COUNTER, ESTIMATES, SpendingDay

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
SESSION = Pot(name="session:s1", micro_usd=500, cap="session", lasts=timedelta(days=30))
ROOM = Pot(name="room:r1", micro_usd=800, cap="room", lasts=timedelta(hours=1))
TENANT = Pot(name="tenant", micro_usd=900, cap="tenant", lasts=timedelta(days=30))
POTS = (SESSION, ROOM, TENANT)


@pytest.fixture(params=["sqlite", "postgres"])
async def either(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Store]:
    store: Store
    if request.param == "postgres":
        store = await PostgresStore.open(request.getfixturevalue("address"), clock)
    else:
        store = await SqliteStore.open(tmp_path / "either.db", clock)
    yield store
    await store.aclose()


async def counted(store: Store, *pots: Pot, counter: str = COUNTER) -> list[int]:
    """What each pot has been charged."""
    return [(await store.quotas.spent(T, f"pot:{pot.name}", pot.lasts)).get(counter, 0) for pot in pots]


async def today(store: Store, clock: FakeClock, *, chat: bool = False) -> int:
    day = SpendingDay.of(clock.now(), "chat" if chat else "llm")
    return (await store.quotas.spent(T, day.name, day.window)).get(COUNTER, 0)


async def test_a_call_is_charged_to_every_budget_and_settled_in_every_one(either: Store, clock: FakeClock) -> None:
    purse = Purse(either, clock, 10_000)

    reserved = await purse.reserve(T, 400, POTS)
    held = await counted(either, *POTS), await today(either, clock)
    await purse.settle(T, reserved, 150)

    assert held == ([400, 400, 400], 400)
    assert (await counted(either, *POTS), await today(either, clock)) == ([150, 150, 150], 150)


@pytest.mark.parametrize("cap", ["session", "room", "tenant", "day"])
async def test_the_cap_that_refuses_is_named_and_no_budget_is_charged(
    either: Store, clock: FakeClock, cap: str
) -> None:
    pots = [Pot(name=name, micro_usd=99 if name == cap else 1_000, cap=name) for name in ("session", "room", "tenant")]
    purse = Purse(either, clock, 99 if cap == "day" else 1_000)

    with pytest.raises(SpendingCapReached) as refused:
        await purse.reserve(T, 100, pots)

    assert refused.value.details["cap"] == cap
    assert (await counted(either, *pots), await today(either, clock)) == ([0, 0, 0], 0)


async def test_a_task_has_a_cap_of_its_own_beside_its_pots(store: Store, clock: FakeClock) -> None:
    tab = Purse(store, clock, 10_000).open(task(micro_usd=100, pots=(SESSION,)), "m", (ROOM,))

    await tab.reserve(60)
    with pytest.raises(SpendingCapReached) as refused:
        await tab.reserve(60)

    assert refused.value.details["cap"] == "task"
    assert await counted(store, SESSION, ROOM) == [60, 60]


async def test_chat_and_learning_have_budgets_apart(either: Store, clock: FakeClock) -> None:
    learning, chat = Purse(either, clock, 100), ChatPurse(either, clock, 300)

    await learning.reserve(T, 100)
    await chat.reserve(T, 300)
    with pytest.raises(SpendingCapReached) as refused:
        await chat.reserve(T, 1)

    assert refused.value.details["daily_usd"] == 0.0003
    assert (await today(either, clock), await today(either, clock, chat=True)) == (100, 300)


async def test_a_budget_of_nothing_turns_even_free_models_off(store: Store, clock: FakeClock) -> None:
    with pytest.raises(SpendingCapReached):
        await ChatPurse(store, clock, 0).reserve(T, 0)
    await Purse(store, clock, 1).reserve(T, 0, (Pot(name="dream", micro_usd=0),))


async def test_an_estimate_warns_of_what_it_passes_and_refuses_nothing(either: Store, clock: FakeClock) -> None:
    chat = ChatPurse(either, clock, 1_000)

    quiet = await chat.estimate(T, 500, (SESSION, TENANT))
    loud = await chat.estimate(T, 500, (SESSION, TENANT))
    reserved = await chat.reserve(T, 400, (SESSION, TENANT))

    assert (quiet, loud) == ((), ("session", "tenant"))
    assert reserved.micro_usd == 400
    assert await counted(either, SESSION, TENANT, counter=ESTIMATES) == [1_000, 1_000]


class FailingQuotas:
    """Refuses to work from the call `fails_at` on, for one call."""

    def __init__(self, quotas: Quotas, fails_at: int) -> None:
        self._quotas = quotas
        self._left = fails_at

    async def spend(
        self, tenant: str, name: str, window: timedelta, amounts: Mapping[str, int], limits: Mapping[str, int]
    ) -> bool:
        self._left -= 1
        if self._left == 0:
            raise StoreUnavailable
        return await self._quotas.spend(tenant, name, window, amounts, limits)

    async def spent(self, tenant: str, name: str, window: timedelta) -> dict[str, int]:
        return await self._quotas.spent(tenant, name, window)

    async def trim_quotas(self) -> int:
        return await self._quotas.trim_quotas()


class FailingStore:
    def __init__(self, store: Store, fails_at: int) -> None:
        self.usage: UsageLedger = store.usage
        self.quotas: Quotas = FailingQuotas(store.quotas, fails_at)


@pytest.mark.parametrize("fails_at", [1, 2, 3, 4])
async def test_a_store_that_goes_away_in_between_leaves_nothing_taken(
    store: Store, clock: FakeClock, fails_at: int
) -> None:
    purse = Purse(FailingStore(store, fails_at), clock, 10_000)

    with pytest.raises(StoreUnavailable):
        await purse.reserve(T, 100, POTS)

    assert (await counted(store, *POTS), await today(store, clock)) == ([0, 0, 0], 0)


CALLS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 60), st.lists(st.integers(0, 2), max_size=3, unique=True).map(sorted)),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(caps=st.tuples(*[st.integers(1, 120)] * 4), calls=CALLS)
def test_whatever_is_called_no_cap_is_passed_by_reservations_and_all_counters_agree_with_what_was_paid(
    caps: tuple[int, ...], calls: list[tuple[int, int, list[int]]]
) -> None:
    async def play() -> None:
        clock = FakeClock()
        pots = [Pot(name=f"p{number}", micro_usd=cap, cap=f"p{number}") for number, cap in enumerate(caps[:3])]
        with TemporaryDirectory() as folder:
            store = await SqliteStore.open(Path(folder) / "memory.db", clock)
            try:
                purse = Purse(store, clock, caps[3])
                paid = [0, 0, 0, 0]
                reservations: list[tuple[Reserved, int, list[int]]] = []
                for most, cost, chosen in calls:
                    fits = all(paid[n] + most <= caps[n] for n in [*chosen, 3])
                    try:
                        reserved = await purse.reserve(T, most, [pots[n] for n in chosen])
                    except SpendingCapReached:
                        assert not fits
                        continue
                    assert fits
                    reservations.append((reserved, min(cost, most), chosen))
                    for n in [*chosen, 3]:
                        paid[n] += most
                for reserved, cost, chosen in reservations:
                    await purse.settle(T, reserved, cost)
                    for n in [*chosen, 3]:
                        paid[n] += cost - reserved.micro_usd
                assert [*await counted(store, *pots), await today(store, clock)] == paid
            finally:
                await store.aclose()

    asyncio.run(play())
