"""A task that is whole, such as a turn in a room, is declined before it begins and never in the middle; only what is real declines it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.errors import SpendingCapReached
from commonplace.llms.choose import ModelOptions, is_priced
from commonplace.llms.hosted_purse import ChatHostedPurse
from commonplace.llms.prices import Tokens
from commonplace.llms.purse import CallTerms, ChatPurse
from commonplace.ports.chat import ChatTask, HostedCharge
from commonplace.ports.models import Pot
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.testing.models import task
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import COUNTER, ESTIMATED_TOKENS, ESTIMATES, TOKENS

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
ROOM = Pot(name="room:r1", micro_usd=100, cap="room")
WHOLE = CallTerms(whole=True)


async def charged(store: Store, pot: Pot = ROOM) -> dict[str, int]:
    spent = await store.quotas.spent(T, f"pot:{pot.name}", pot.lasts)
    return {name: amount for name, amount in spent.items() if amount}


async def test_what_has_begun_is_finished_and_what_comes_after_it_is_declined(store: Store, clock: FakeClock) -> None:
    purse = ChatPurse(store, clock, 10_000)
    tab = purse.open(task(), "m", (ROOM,), WHOLE)

    # It reserves more than there is, costs more than there is, and goes on.
    for _ in range(2):
        await tab.settle(await tab.reserve(400), 90, tokens=Tokens(input=5, output=2))
    with pytest.raises(SpendingCapReached) as refused:
        await purse.open(task(), "m", (ROOM,), WHOLE).reserve(1)

    assert refused.value.details["cap"] == "room"
    assert await charged(store) == {COUNTER: 180, TOKENS: 14}


async def test_the_day_declines_a_turn_too_and_ends_none(store: Store, clock: FakeClock) -> None:
    purse = ChatPurse(store, clock, 500)
    tab = purse.open(task(), "m", (), WHOLE)
    first = await tab.reserve(450)

    with pytest.raises(SpendingCapReached) as refused:
        await purse.open(task(), "m", (), WHOLE).reserve(100)
    second = await tab.reserve(400)
    for reserved in (first, second):
        await tab.settle(reserved, 300, tokens=Tokens(input=1, output=1))

    assert (refused.value.details["cap"], tab.spent.cost_micro_usd) == ("day", 600)


async def test_tokens_decline_where_they_are_what_a_room_may_use(store: Store, clock: FakeClock) -> None:
    pot = Pot(name="room:r2", micro_usd=None, cap="room", tokens=10)
    purse = ChatPurse(store, clock, 10_000)
    tab = purse.open(task(), "m", (pot,), WHOLE)
    await tab.settle(await tab.reserve(5), 5, tokens=Tokens(input=8, output=2))

    with pytest.raises(SpendingCapReached) as refused:
        await purse.open(task(), "m", (pot,), WHOLE).reserve(0)

    assert (refused.value.details["cap"], refused.value.details["pot_usd"]) == ("room", None)
    assert await charged(store, pot) == {COUNTER: 5, TOKENS: 10}


@pytest.mark.parametrize("terms", [WHOLE, CallTerms(whole=True, priced=False)])
async def test_what_nobody_reported_or_knows_the_price_of_is_an_estimate_to_a_room(
    store: Store, clock: FakeClock, terms: CallTerms
) -> None:
    purse = ChatPurse(store, clock, 10_000)
    for _ in range(3):
        tab = purse.open(task(), "m", (ROOM,), terms)
        await tab.settle(await tab.reserve(400), 400, tokens=Tokens(input=0, output=0), estimated=terms.priced)

    assert await charged(store) == {ESTIMATES: 1_200}


async def test_tokens_of_a_model_without_a_price_are_counted_all_the_same(store: Store, clock: FakeClock) -> None:
    tab = ChatPurse(store, clock, 10_000).open(task(), "m", (ROOM,), CallTerms(whole=True, priced=False))

    await tab.settle(await tab.reserve(90), 40, tokens=Tokens(input=7, output=3))

    assert await charged(store) == {ESTIMATES: 40, TOKENS: 10}


@pytest.mark.parametrize("estimated", [False, True])
async def test_an_agent_that_we_host_is_charged_in_the_same_way(
    store: Store, clock: FakeClock, estimated: bool
) -> None:
    purse = ChatHostedPurse(store, clock, 10_000, "10/10")
    turn = ChatTask(tenant=T, session="s1", pots=(ROOM,), whole=True)
    async with purse.open(turn, "qwen") as bill:
        await bill.charge(HostedCharge(input_tokens=8, output_tokens=4, estimated=estimated))

    if estimated:
        async with purse.open(turn, "qwen"):
            pass
        assert await charged(store) == {ESTIMATES: 120, ESTIMATED_TOKENS: 12}
    else:
        with pytest.raises(SpendingCapReached):
            async with purse.open(turn, "qwen"):
                pass
        assert await charged(store) == {COUNTER: 120, TOKENS: 12}


@pytest.mark.parametrize(
    ("name", "more", "known"),
    [
        ("librarian", {}, True),
        ("openai:gpt-4o", {}, True),
        ("openai:gpt-4o", {"base_url": "http://127.0.0.1:9/v1"}, False),
        ("openai:small", {}, False),
        ("openai:small", {"prices": ("small=0/0",)}, True),
        ("openai:small", {"price": "0.1/0.2"}, True),
    ],
)
def test_a_price_is_known_if_the_operator_or_the_vendor_said_it(name: str, more: dict[str, Any], known: bool) -> None:
    assert is_priced(name, ModelOptions(model="openai:small", models=("openai:gpt-4o",), **more)) is known


TURNS = st.lists(
    # How much each of its calls reserves and costs; whether they are reported.
    st.tuples(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), min_size=1, max_size=4), st.booleans()),
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(cap=st.integers(1, 200), turns=TURNS)
def test_a_turn_is_declined_if_and_only_if_what_is_real_is_used_up_when_it_begins(
    cap: int, turns: list[tuple[list[tuple[int, int]], bool]]
) -> None:
    async def play() -> None:
        clock, pot = FakeClock(), Pot(name="room:r1", micro_usd=cap, cap="room")
        with TemporaryDirectory() as folder:
            store = await SqliteStore.open(Path(folder) / "memory.db", clock)
            try:
                purse, real, guessed = ChatPurse(store, clock, 1_000_000), 0, 0
                for calls, is_reported in turns:
                    tab, is_over = purse.open(task(), "m", (pot,), WHOLE), real >= cap
                    for number, (most, cost) in enumerate(calls):
                        try:
                            reserved = await tab.reserve(most)
                        except SpendingCapReached:
                            assert (number, is_over) == (0, True)
                            break
                        assert not is_over
                        await tab.settle(reserved, cost, tokens=Tokens(input=0, output=0), estimated=not is_reported)
                        real, guessed = real + cost * is_reported, guessed + cost * (not is_reported)
                spent = await charged(store, pot)
                assert (spent.get(COUNTER, 0), spent.get(ESTIMATES, 0)) == (real, guessed)
            finally:
                await store.aclose()

    asyncio.run(play())
