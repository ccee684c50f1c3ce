"""What a task may take, and that a budget is never passed. The models here are functions of this process."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic_ai import models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from commonplace.errors import RecordNotFound, SpendingCapReached
from commonplace.llms.language_model import PydanticAiModel
from commonplace.llms.prices import Price, Prices
from commonplace.llms.purse import Purse
from commonplace.ports.journal import Entries
from commonplace.ports.models import Pot
from commonplace.stores.postgres.store import PostgresStore
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.testing.models import MovedFact, question, task
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import COUNTER

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
COST = 50 + 7 * 10
Metering = Callable[..., PydanticAiModel]
Spent = Callable[..., Awaitable[int]]


@pytest.fixture(autouse=True)
def no_vendor() -> Generator[None]:
    with models.override_allow_model_requests(False):
        yield


@pytest.fixture(params=["sqlite", "postgres"])
async def either(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Store]:
    store: Store
    if request.param == "postgres":
        store = await PostgresStore.open(request.getfixturevalue("address"), clock)
    else:
        store = await SqliteStore.open(tmp_path / "either.db", clock)
    yield store
    await store.aclose()


def said(*parts: Any) -> ModelResponse:
    return ModelResponse(parts=list(parts), usage=RequestUsage(input_tokens=50, output_tokens=7))


FACT = said(ToolCallPart("final_result", {"text": "Ana lives in Kyiv", "confidence": 0.9}))


class Script:
    """Says its lines, the last of them for ever, and counts how often it was asked."""

    def __init__(self, *lines: ModelResponse) -> None:
        self._lines = list(lines)
        self.asked: list[list[ModelMessage]] = []

    async def __call__(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        self.asked.append(messages)
        return self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self)


async def most_of_one(metered: Metering, store: Store, spent: Spent) -> int:
    """What is reserved for one question: seen from inside its call."""
    seen: list[int] = []

    async def looking(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(await spent(store))
        return FACT

    before = await spent(store)
    await metered(store, FunctionModel(looking)).answer(question())
    return seen[0] - before


async def test_a_model_of_the_library_itself_will_do(metered: Metering, store: Store) -> None:
    answer = await metered(store, TestModel()).answer(question())

    assert isinstance(answer.value, MovedFact)


# ---- budgets


DEAR = ModelResponse(parts=[TextPart("Done.")], usage=RequestUsage(input_tokens=200, output_tokens=100))
"""For 1,200; as much, or a little more, is reserved for each task of these tests."""


async def test_tasks_that_share_a_pot_cost_no_more_than_is_in_it_together(
    metered: Metering, either: Store, spent: Spent
) -> None:
    script, shared = Script(DEAR), task(pots=(Pot(name="dream-1", micro_usd=2_000),))
    model = metered(either, script.model)
    await model.act(shared, ())
    before = await spent(either)

    with pytest.raises(SpendingCapReached) as refused:
        await model.act(shared, ())

    await model.act(task(pots=(Pot(name="dream-2", micro_usd=2_000),)), ())
    assert refused.value.details["cap"] == "pot"
    assert (len(script.asked), await spent(either)) == (2, 2 * before)


async def test_what_a_call_did_not_use_goes_back_into_the_pot(metered: Metering, either: Store) -> None:
    script, shared = Script(said(TextPart("Done."))), task(pots=(Pot(name="dream-1", micro_usd=2_000),))

    for _ in range(3):
        await metered(either, script.model).act(shared, ())

    assert await either.quotas.spent(T, "pot:dream-1", timedelta(days=2)) == {COUNTER: 3 * COST}


async def test_a_call_that_the_day_has_no_money_for_takes_nothing_out_of_the_pot(
    metered: Metering, either: Store
) -> None:
    script, shared = Script(DEAR), task(pots=(Pot(name="dream-1", micro_usd=2_000),))

    with pytest.raises(SpendingCapReached) as refused:
        await metered(either, script.model, daily=500).act(shared, ())

    assert refused.value.details["cap"] == "day"
    assert await either.quotas.spent(T, "pot:dream-1", timedelta(days=2)) == {COUNTER: 0}


async def test_of_fifty_calls_at_once_only_as_many_are_made_as_the_budget_has_room_for(
    metered: Metering, either: Store, spent: Spent, clock: FakeClock
) -> None:
    most = await most_of_one(metered, either, spent)
    clock.advance(timedelta(days=1))
    decided = asyncio.Event()
    calls = refused = 0

    async def waiting(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal calls
        calls += 1
        assert await spent(either) <= 10 * most
        await decided.wait()
        return FACT

    model = metered(either, FunctionModel(waiting), daily=10 * most)

    async def ask() -> None:
        nonlocal refused
        try:
            await model.answer(question())
        except SpendingCapReached:
            refused += 1
            if refused == 40:
                decided.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(ask)

    assert (calls, refused) == (10, 40)
    assert await spent(either) == 10 * COST == sum(line.cost_micro_usd for line in await either.usage.list_usage(T, 10))


async def test_what_was_not_used_is_there_for_the_next_call(metered: Metering, either: Store, spent: Spent) -> None:
    most = await most_of_one(metered, either, spent)
    script = Script(FACT)
    model = metered(either, script.model, daily=most + 5 * COST)

    async def ask_on() -> None:
        for _ in range(100):
            await model.answer(question())

    with pytest.raises(SpendingCapReached):
        await ask_on()

    # One call before, and as many more as leave room for the most that one may cost.
    assert len(script.asked) == 5
    assert await spent(either) == 6 * COST


async def test_a_model_whose_price_nobody_knows_is_used_at_an_estimate_that_fits_the_task(
    store: Store, clock: FakeClock, pauses: Any, spent: Any
) -> None:
    script, prices = Script(FACT, FACT), Prices(model="mine", address="http://127.0.0.1:1/v1")
    model = PydanticAiModel(
        "openai:mine", script.model, prices=prices, purse=Purse(store, clock, 1_000_000), pause=pauses
    )

    answer = await model.answer(question(micro_usd=10))

    assert len(script.asked) == 1
    assert (answer.spent.cost_micro_usd, await spent(store)) == (10, 10)


async def test_a_budget_of_nothing_means_no_call_even_of_what_costs_nothing(metered: Metering, store: Store) -> None:
    script = Script(FACT)

    with pytest.raises(SpendingCapReached) as refused:
        await metered(store, script.model, daily=0, price=Price(input=0, output=0)).answer(question())

    assert (script.asked, refused.value.status, refused.value.details["cap"]) == ([], 429, "day")


async def test_what_costs_nothing_needs_no_budget_but_one_that_is_not_zero(metered: Metering, store: Store) -> None:
    answer = await metered(store, Script(FACT).model, daily=1, price=Price(input=0, output=0)).answer(question())

    assert answer.spent.cost_micro_usd == 0


async def test_a_tenant_has_its_own_budget_where_one_was_set(metered: Metering, store: Store) -> None:
    await store.usage.set_budget(OTHER, 1, Entries())
    model = metered(store, Script(FACT).model)

    await model.answer(question())
    with pytest.raises(SpendingCapReached):
        await model.answer(question(tenant=OTHER))


async def test_a_daemons_budget_of_nothing_turns_off_every_tenant(metered: Metering, store: Store) -> None:
    await store.usage.set_budget(T, 1_000_000, Entries())

    with pytest.raises(SpendingCapReached):
        await metered(store, Script(FACT).model, daily=0).answer(question())


async def test_a_new_day_has_a_budget_of_its_own(
    metered: Metering, store: Store, spent: Spent, clock: FakeClock
) -> None:
    most = await most_of_one(metered, store, spent)
    model = metered(store, Script(FACT).model, daily=most)
    with pytest.raises(SpendingCapReached) as refused:
        await model.answer(question())

    wait = refused.value.details["retry_after"]
    assert isinstance(wait, float)
    clock.advance(timedelta(seconds=wait))
    await model.answer(question())

    assert await spent(store) == COST


async def test_what_is_given_back_after_midnight_goes_to_the_day_it_was_taken_from(
    metered: Metering, either: Store, spent: Spent, clock: FakeClock
) -> None:
    yesterday = clock.now()

    async def past_midnight(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        clock.advance(timedelta(days=1))
        return FACT

    await metered(either, FunctionModel(past_midnight)).answer(question())

    assert await spent(either) == 0
    clock.advance(yesterday - clock.now())
    assert await spent(either) == COST


async def test_days_that_come_round_begin_at_nothing(
    metered: Metering, store: Store, spent: Spent, clock: FakeClock
) -> None:
    model = metered(store, Script(FACT).model)

    seen: list[int] = []
    for _ in range(9):
        await model.answer(question())
        seen.append(await spent(store))
        clock.advance(timedelta(hours=24))

    assert seen == [COST] * 9


async def test_a_process_that_dies_in_a_call_leaves_its_reservation_taken(
    store: Store, spent: Spent, clock: FakeClock
) -> None:
    tab = Purse(store, clock, 1_000).open(task(), "openai:small")

    await tab.reserve(700)

    with pytest.raises(SpendingCapReached):
        await Purse(store, clock, 1_000).open(task(), "openai:small").reserve(301)
    assert (await spent(store), await store.usage.list_usage(T, 10)) == (700, [])


async def test_a_call_that_is_cancelled_counts_with_all_that_was_reserved(
    metered: Metering, store: Store, spent: Spent
) -> None:
    most = await most_of_one(metered, store, spent)
    begun = anyio.Event()

    async def stuck(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        begun.set()
        await anyio.sleep_forever()
        return FACT

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(metered(store, FunctionModel(stuck)).answer, question())
            await begun.wait()
            tasks.cancel_scope.cancel()

    last, _ = await store.usage.list_usage(T, 10)
    assert (last.cost_micro_usd, last.ok, await spent(store)) == (most, False, most + COST)


# ---- limits of a task


async def test_a_task_that_might_cost_more_than_it_may_is_not_begun(
    metered: Metering, store: Store, spent: Spent
) -> None:
    script = Script(FACT)

    with pytest.raises(SpendingCapReached) as refused:
        await metered(store, script.model).answer(question("word " * 30_000, micro_usd=30_000))

    assert (script.asked, refused.value.details["cap"]) == ([], "task")
    assert (await spent(store), await store.usage.list_usage(T, 10)) == (0, [])


async def test_a_task_that_has_spent_what_it_may_ends_there(metered: Metering, store: Store) -> None:
    async def look() -> str:
        """Look around."""
        return "Nothing."

    script = Script(said(ToolCallPart("look", {})))

    with pytest.raises(SpendingCapReached):
        await metered(store, script.model).act(task(micro_usd=2_000, turns=50), [look])

    [line] = await store.usage.list_usage(T, 10)
    assert 1 < len(script.asked) < 20
    assert line.cost_micro_usd == len(script.asked) * COST <= 2_000
    assert not line.ok


async def test_a_model_that_runs_out_of_turns_has_not_finished(metered: Metering, store: Store) -> None:
    done: list[str] = []

    async def keep(text: str) -> str:
        """Keep a text."""
        done.append(text)
        return "kept"

    script = Script(said(ToolCallPart("keep", {"text": "a"})))

    ended = await metered(store, script.model).act(task(turns=3), [keep])

    assert (ended.finished, ended.text, ended.spent.calls, done) == (False, "", 3, ["a", "a", "a"])


async def test_what_the_model_may_write_is_what_it_is_told(metered: Metering, store: Store) -> None:
    told: list[Any] = []

    async def looking(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        told.append((info.model_settings or {}).get("max_tokens"))
        return FACT

    await metered(store, FunctionModel(looking)).answer(question(output_tokens=77))

    assert told == [77]


# ---- tools


async def test_an_error_of_ours_in_a_tool_is_told_to_the_model(metered: Metering, store: Store) -> None:
    async def read(path: str) -> str:
        """Read a file."""
        raise RecordNotFound("There is no such file.")

    script = Script(said(ToolCallPart("read", {"path": "a"})), said(TextPart("It is gone.")))

    done = await metered(store, script.model).act(task(), [read])

    assert done.text == "It is gone."
    assert "There is no such file." in str(script.asked[1][-1])


async def test_another_error_in_a_tool_ends_the_task(metered: Metering, store: Store) -> None:
    async def read(path: str) -> str:
        """Read a file."""
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await metered(store, Script(said(ToolCallPart("read", {"path": "a"}))).model).act(task(), [read])

    [line] = await store.usage.list_usage(T, 10)
    assert (line.cost_micro_usd, line.ok) == (COST, False)


async def test_a_method_is_a_tool_too_and_its_arguments_are_checked(metered: Metering, store: Store) -> None:
    class Shelf:
        def __init__(self) -> None:
            self.held: dict[str, int] = {}

        async def put(self, name: str, count: int = 1) -> str:
            """Put something on the shelf."""
            self.held[name] = count
            return "done"

    shelf = Shelf()
    script = Script(
        said(ToolCallPart("put", {"name": "tea", "count": "many"})),
        said(ToolCallPart("put", {"name": "tea"}), ToolCallPart("put", {"name": "milk", "count": 2})),
        said(TextPart("Done.")),
    )

    done = await metered(store, script.model).act(task(), [shelf.put])

    assert (done.text, shelf.held) == ("Done.", {"tea": 1, "milk": 2})


async def test_the_line_says_what_the_money_was_for(metered: Metering, store: Store, clock: FakeClock) -> None:
    await metered(store, Script(FACT).model).answer(question())

    [line] = await store.usage.list_usage(T, 10)
    assert (line.at, line.session, line.purpose, line.model) == (
        clock.now(),
        "memory-extract:s1",
        "extract",
        "openai:small",
    )
    assert (line.agent, line.workspace, line.ok) == ("bo", "web", True)
    assert (line.input_tokens, line.output_tokens, line.cost_micro_usd) == (50, 7, COST)
