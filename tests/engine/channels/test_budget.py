"""What a room may spend: windows that roll over, thresholds that are told once, tokens, and the day of the tenant."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.channels.budget import room_pot, room_spending, threshold_passed
from commonplace.errors import InvalidInput
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.chat import ScriptedChatModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.channel import ChannelSettings, GroupSettings, RoomBudget, check_settings, room_scope
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import COUNTER, ESTIMATED_TOKENS, ESTIMATES, TOKENS, SpendingDay

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
SCOPE = room_scope("team", "room-7")
BUDGET = RoomBudget(micro_usd=100, hours=24)
EARLY, LATE = (datetime(year, 1, 1, tzinfo=UTC).replace(tzinfo=None) for year in (2020, 2040))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Store]:
    opened = await SqliteStore.open(tmp_path / "memory.db", clock)
    yield opened
    await opened.aclose()


async def spend(store: Store, budget: RoomBudget, now: datetime, **amounts: int) -> None:
    pot, _ = room_pot(budget, SCOPE, now)
    await store.quotas.spend(T, f"pot:{pot.name}", pot.lasts, amounts, {})


async def passed(store: Store, budget: RoomBudget, now: datetime) -> int | None:
    return await threshold_passed(store.quotas, T, SCOPE, await room_spending(store.quotas, T, budget, SCOPE, now))


async def test_each_threshold_is_told_once_a_window_and_the_next_window_begins_anew(
    store: Store, clock: FakeClock
) -> None:
    counted = list[int | None]()
    for amount in (74, 1, 0, 20, 5):
        await spend(store, BUDGET, clock.now(), **{COUNTER: amount})
        counted.append(await passed(store, BUDGET, clock.now()))
    before = await room_spending(store.quotas, T, BUDGET, SCOPE, clock.now())
    clock.advance(timedelta(days=1))
    after = await room_spending(store.quotas, T, BUDGET, SCOPE, clock.now())

    assert counted == [None, 75, None, 95, None]
    assert (before.spent, before.is_used_up) == (100, True)
    assert (after.spent, after.is_used_up, after.until - before.until) == (0, False, timedelta(days=1))
    assert await passed(store, BUDGET, clock.now()) is None


async def test_whoever_was_warned_of_the_higher_threshold_is_not_warned_of_the_lower_one(
    store: Store, clock: FakeClock
) -> None:
    await spend(store, BUDGET, clock.now(), **{COUNTER: 97})

    assert [await passed(store, BUDGET, clock.now()) for _ in range(2)] == [95, None]


@pytest.mark.parametrize(
    ("amounts", "percent", "used_up"),
    [
        ({COUNTER: 99, TOKENS: 10}, 99, False),
        ({COUNTER: 100}, 100, True),
        ({ESTIMATES: 900}, 900, False),
        ({TOKENS: 1_000}, 100, True),
        ({ESTIMATED_TOKENS: 5_000}, 500, False),
        ({TOKENS: 500, ESTIMATED_TOKENS: 400, COUNTER: 10}, 90, False),
    ],
)
async def test_what_is_real_uses_a_budget_up_and_what_is_estimated_counts_for_warnings(
    store: Store, clock: FakeClock, amounts: dict[str, int], percent: int, used_up: bool
) -> None:
    budget = replace(BUDGET, tokens=1_000)
    await spend(store, budget, clock.now(), **amounts)

    spending = await room_spending(store.quotas, T, budget, SCOPE, clock.now())

    assert (spending.percent, spending.is_used_up) == (percent, used_up)


@given(at=st.datetimes(EARLY, LATE), hours=st.integers(1, 8_784))
def test_a_window_holds_its_moment_and_ends_where_the_next_one_begins(at: datetime, hours: int) -> None:
    now, budget = at.replace(tzinfo=UTC), replace(BUDGET, hours=hours)

    pot, until = room_pot(budget, SCOPE, now)

    assert timedelta(0) < until - now <= timedelta(hours=hours)
    assert room_pot(budget, SCOPE, until - timedelta(microseconds=1))[0].name == pot.name
    following, end = room_pot(budget, SCOPE, until)
    assert following.name != pot.name
    assert end - until == timedelta(hours=hours)


@pytest.mark.parametrize(
    "budget",
    [
        RoomBudget(),
        RoomBudget(micro_usd=0),
        RoomBudget(tokens=0),
        RoomBudget(micro_usd=1, tokens=-1),
        RoomBudget(micro_usd=1, hours=0),
    ],
)
def test_a_budget_of_nothing_is_refused_for_a_channel_and_for_a_room(budget: RoomBudget) -> None:
    for settings in (
        ChannelSettings(budget=budget),
        ChannelSettings(groups={"room-7": GroupSettings(budget=budget)}),
    ):
        with pytest.raises(InvalidInput):
            check_settings(settings)


# ---- in the room


async def test_a_room_is_warned_of_the_day_that_it_shares_with_all_others(bench: TurnBench) -> None:
    bench.model = ScriptedChatModel(then="Done.")
    room = RoomBench(bench, chat_micro_usd=10_000_000_000)
    day = SpendingDay.of(room.now, "chat")
    await room.parts.quotas.spend(T, day.name, day.window, {COUNTER: 8_000_000_000}, {})
    async with room.residence.open():
        for chat in ("1", "2", "1"):
            await room.answered(await room.say("Ana", "Hello", chat=chat))
            await room.handled()
        [shown] = await room.answered(await room.say("Ana", "/budget"))
        await room.residence.settle()

    told = [(message.chat, message.text) for message in room.platform.messages.values() if not message.reply_to]
    assert [(chat, text.partition(" %")[0]) for chat, text in told] == [("1", "75"), ("2", "75")]
    assert shown.splitlines()[0] == "This room has no budget of its own."
    assert shown.splitlines()[1].startswith("All rooms together: 8000 of 10000 US dollars until ")


async def test_each_room_may_have_a_budget_of_its_own(bench: TurnBench) -> None:
    bench.model = ScriptedChatModel(then="Done.")
    groups = {"poor": GroupSettings(budget=RoomBudget(tokens=10))}
    room = RoomBench(bench, replace(OPEN, groups=groups, budget=RoomBudget(micro_usd=500)))
    pot, _ = room_pot(RoomBudget(tokens=10), room_scope("team", "poor"), room.now)
    await room.parts.quotas.spend(T, f"pot:{pot.name}", pot.lasts, {TOKENS: 10}, {})
    async with room.residence.open():
        declined, answered, shown = await room.answered(
            await room.say("Ana", "Hello", chat="poor"),
            await room.say("Bob", "Hello", chat="rich"),
            await room.say("Ana", "/预算", chat="poor"),
        )

    assert declined.startswith("What this room may spend is used up")
    assert answered == "Done."
    assert shown.startswith("令牌：截至 ")
    assert "已用 10，上限 10" in shown
