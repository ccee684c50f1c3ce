"""Streams are paid for like every other call, however they end. The models here are functions of this process."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal
from uuid import uuid4

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent, models
from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from commonplace.errors import SpendingCapReached
from commonplace.llms.meter import ATTEMPTS, MeteredModel, input_tokens
from commonplace.llms.prices import Price, Prices, Tokens
from commonplace.llms.purse import Purse, Tab
from commonplace.ports.models import Pot
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.testing.models import task

pytestmark = pytest.mark.anyio

Spent = Callable[..., Awaitable[int]]
OUTPUT = 100
PRICES = Prices(model="small", own={"small": Price(input=1.0, output=10.0)})
ASKED: list[ModelMessage] = [ModelRequest.user_text_prompt("Tell me of Kyiv.")]
PARAMETERS = ModelRequestParameters()
MOST = PRICES.cost(Tokens(input=input_tokens(ASKED, PARAMETERS), output=OUTPUT))
READ = 50
"""What the library's own function models count for reading."""


@pytest.fixture(autouse=True)
def no_vendor() -> Generator[None]:
    with models.override_allow_model_requests(False):
        yield


@pytest.fixture
def purse(store: Store, clock: FakeClock) -> Purse:
    return Purse(store, clock, 1_000_000)


def metered(model: Model, tab: Tab, pauses: Any = None) -> MeteredModel:
    return MeteredModel(
        model, tab=tab, prices=PRICES, output_tokens=OUTPUT, pause=anyio.sleep if pauses is None else pauses
    )


def speaking(*words: str, fails: Exception | None = None) -> FunctionModel:
    """Says the words one by one; then it ends, or fails."""

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for word in words:
            yield f"{word} "
        if fails is not None:
            raise fails

    return FunctionModel(stream_function=speak)


def opened(model: MeteredModel) -> Any:
    return model.request_stream(ASKED, None, PARAMETERS)


async def read(model: MeteredModel, most: int | None = None) -> int:
    """Read so many events, or all of them. How many they were."""
    events = 0
    async with opened(model) as stream:
        async for _ in stream:
            events += 1
            if events == most:
                break
    return events


# ---- vendors that count at the end


@dataclass
class SilentStream(StreamedResponse):
    """Words without a word about usage."""

    words: Sequence[str] = ()
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for word in self.words:
            for event in self._parts_manager.handle_text_delta(vendor_part_id="content", content=f"{word} "):
                yield event

    async def close_stream(self) -> None:
        pass

    @property
    def model_name(self) -> str:
        return "silent"

    @property
    def provider_name(self) -> None:
        return None

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self._timestamp


@dataclass
class InputFirstStream(SilentStream):
    """Says at the beginning what it read, and at the end what it wrote."""

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        self._usage += RequestUsage(input_tokens=READ, output_tokens=1)
        async for event in super()._get_event_iterator():
            yield event
        self._usage += RequestUsage(output_tokens=len(self.words) - 1)


class StreamModel(FunctionModel):
    """A model whose streams are of a kind."""

    def __init__(self, kind: type[SilentStream], *words: str) -> None:
        super().__init__(_nothing)
        self._kind = kind
        self._words = words

    @asynccontextmanager
    async def request_stream(self, *_: Any, **__: Any) -> AsyncGenerator[StreamedResponse]:
        yield self._kind(model_request_parameters=PARAMETERS, words=self._words)


def _nothing(messages: list[ModelMessage], info: AgentInfo) -> Any:
    raise AssertionError


# ---- streams that are read to their end


async def test_a_stream_that_is_read_to_its_end_costs_what_it_used(purse: Purse, store: Store, spent: Spent) -> None:
    tab = purse.open(task(), "openai:small")

    await read(metered(speaking("one", "two", "three"), tab))

    assert tab.spent.calls == 1
    assert (tab.spent.input_tokens, tab.spent.output_tokens) == (READ, 3)
    assert tab.spent.cost_micro_usd == await spent(store) == READ + 30
    assert tab.open_reservations == 0


async def test_all_that_a_stream_can_cost_is_reserved_before_its_first_word(
    purse: Purse, store: Store, spent: Spent
) -> None:
    during: list[int] = []

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        during.append(await spent(store))
        yield "word"

    await read(metered(FunctionModel(stream_function=speak), purse.open(task(), "openai:small")))

    assert during == [MOST]


async def test_a_stream_that_the_budget_has_no_room_for_is_not_begun(
    store: Store, clock: FakeClock, spent: Spent
) -> None:
    tab = Purse(store, clock, MOST - 1).open(task(), "openai:small")

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        raise AssertionError
        yield ""

    with pytest.raises(SpendingCapReached):
        await read(metered(FunctionModel(stream_function=speak), tab))

    assert (await spent(store), tab.spent.cost_micro_usd, tab.open_reservations) == (0, 0, 0)


async def test_a_vendor_that_reports_no_usage_is_paid_all_that_was_reserved(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")

    await read(metered(StreamModel(SilentStream, "one", "two"), tab))

    assert tab.spent.cost_micro_usd == await spent(store) == MOST


async def test_the_models_of_the_library_stream_through_an_agent(purse: Purse, store: Store, spent: Spent) -> None:
    tab = purse.open(task(), "openai:small")
    agent = Agent(metered(TestModel(custom_output_text="Kyiv is a city."), tab))

    async with agent.run_stream("Tell me of Kyiv.") as answer:
        text = await answer.get_output()

    assert text == "Kyiv is a city."
    assert 0 < tab.spent.cost_micro_usd == await spent(store) < MOST
    assert tab.open_reservations == 0


async def test_the_model_of_a_stream_may_write_no_more_than_the_task_allows(purse: Purse) -> None:
    limits: list[Any] = []

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        limits.append((info.model_settings or {}).get("max_tokens"))
        yield "word"

    await read(metered(FunctionModel(stream_function=speak), purse.open(task(), "openai:small")))

    assert limits == [OUTPUT]


# ---- streams that end early


async def test_a_stream_that_its_reader_leaves_costs_what_it_used_so_far(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")

    await read(metered(speaking(*["word"] * 90), tab), most=3)

    assert READ < tab.spent.cost_micro_usd == await spent(store) < READ + 100
    assert (tab.spent.calls, tab.open_reservations) == (1, 0)


async def test_a_stream_that_nobody_reads_is_not_free(purse: Purse, store: Store, spent: Spent) -> None:
    tab = purse.open(task(), "openai:small")

    async with opened(metered(speaking("one"), tab)):
        pass

    assert await spent(store) == READ


async def test_a_stream_left_before_any_usage_was_reported_costs_all_that_was_reserved(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")

    await read(metered(StreamModel(SilentStream, *["word"] * 90), tab), most=3)

    assert (await spent(store), tab.open_reservations) == (MOST, 0)


async def test_words_that_arrived_are_paid_for_though_the_vendor_had_not_counted_them_yet(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")

    # The first event has a word, the second says that this is the answer, and each after that has one more.
    await read(metered(StreamModel(InputFirstStream, *["word"] * 90), tab), most=12)

    assert tab.spent.cost_micro_usd == await spent(store) == READ + 11 * 10


async def test_an_error_in_the_middle_of_a_stream_leaves_what_was_used_paid(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")
    overloaded = ModelHTTPError(529, "small")

    with pytest.raises(ModelHTTPError):
        await read(metered(speaking("one", "two", fails=overloaded), tab))

    assert tab.spent.cost_micro_usd == await spent(store) == READ + 20
    assert tab.open_reservations == 0


async def test_an_error_of_the_reader_leaves_what_was_used_paid(purse: Purse, store: Store, spent: Spent) -> None:
    tab = purse.open(task(), "openai:small")

    async def read_badly() -> None:
        async with opened(metered(speaking("one", "two"), tab)) as stream:
            async for _ in stream:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await read_badly()

    assert (await spent(store), tab.open_reservations) == (READ + 10, 0)


async def test_a_stream_that_is_cancelled_in_the_middle_costs_what_it_used_so_far(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")
    begun = anyio.Event()

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "one "
        yield "two "
        begun.set()
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, metered(FunctionModel(stream_function=speak), tab))
            await begun.wait()
            tasks.cancel_scope.cancel()

    assert tab.spent.cost_micro_usd == await spent(store) == READ + 20
    assert tab.open_reservations == 0


async def test_a_stream_that_is_cancelled_before_its_first_word_costs_all_that_was_reserved(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")
    begun = anyio.Event()

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        begun.set()
        await anyio.sleep_forever()
        yield ""

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, metered(FunctionModel(stream_function=speak), tab))
            await begun.wait()
            tasks.cancel_scope.cancel()

    assert tab.spent.cost_micro_usd == await spent(store) == MOST
    assert tab.open_reservations == 0


async def test_a_stream_that_is_forgotten_is_settled_when_it_is_closed(
    purse: Purse, store: Store, spent: Spent
) -> None:
    tab = purse.open(task(), "openai:small")

    async def words() -> AsyncGenerator[ModelResponseStreamEvent]:
        async with opened(metered(speaking("one", "two"), tab)) as stream:
            async for event in stream:
                yield event

    async with aclosing(words()) as listening:
        await anext(listening)

    assert (await spent(store), tab.open_reservations) == (READ + 10, 0)


# ---- streams that do not begin


async def test_a_stream_that_does_not_begin_for_a_passing_reason_is_begun_again(
    purse: Purse, store: Store, spent: Spent, pauses: list[float]
) -> None:
    tab, attempts = purse.open(task(), "openai:small"), count(1)

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        if next(attempts) < ATTEMPTS:
            raise busy()
        yield "word"

    await read(metered(FunctionModel(stream_function=speak), tab, pauses))

    # A refusal with a status costs nothing.
    assert (len(pauses), tab.spent.calls, await spent(store)) == (ATTEMPTS - 1, 1, READ + 10)


async def test_a_stream_that_never_begins_gives_its_reservation_back(
    purse: Purse, store: Store, spent: Spent, pauses: list[float]
) -> None:
    tab = purse.open(task(), "openai:small")

    with pytest.raises(ModelHTTPError):
        await read(metered(speaking(fails=busy()), tab, pauses))

    assert len(pauses) == ATTEMPTS - 1
    assert (await spent(store), tab.spent.cost_micro_usd, tab.open_reservations) == (0, 0, 0)


async def test_a_stream_that_began_is_not_begun_again(purse: Purse, pauses: list[float]) -> None:
    tab = purse.open(task(), "openai:small")

    with pytest.raises(ModelHTTPError):
        await read(metered(speaking("one", fails=busy()), tab, pauses))

    assert (pauses, tab.spent.calls) == ([], 1)


def busy() -> ModelHTTPError:
    return ModelHTTPError(409, "small")


# ---- what cannot be metered


async def test_a_batch_and_a_compaction_by_the_vendor_are_refused(purse: Purse, store: Store, spent: Spent) -> None:
    model = metered(TestModel(), purse.open(task(), "openai:small"))
    context = ModelRequestContext(model=model, messages=ASKED, model_settings=None, model_request_parameters=PARAMETERS)

    with pytest.raises(UserError):
        await model.batch_create([])
    with pytest.raises(UserError):
        await model.compact_messages(context)

    assert await spent(store) == 0


# ---- several at once


async def test_of_two_streams_at_once_the_second_waits_for_no_budget_that_the_first_has_reserved(
    store: Store, clock: FakeClock, spent: Spent
) -> None:
    purse = Purse(store, clock, 2 * MOST - 1)
    first, second = (purse.open(task(), "openai:small") for _ in range(2))

    async with opened(metered(speaking("one"), first)) as stream:
        with pytest.raises(SpendingCapReached):
            await read(metered(speaking("two"), second))
        async for _ in stream:
            pass
    await read(metered(speaking("two"), second))

    assert await spent(store) == 2 * (READ + 10)
    assert first.open_reservations == second.open_reservations == 0


async def test_two_streams_of_one_task_share_its_limit(purse: Purse) -> None:
    tab = purse.open(task(micro_usd=2 * MOST - 1), "openai:small")

    async with opened(metered(speaking("one"), tab)) as stream:
        with pytest.raises(SpendingCapReached) as refused:
            await read(metered(speaking("two"), tab))
        async for _ in stream:
            pass

    assert refused.value.details["cap"] == "task"
    assert tab.spent.cost_micro_usd == READ + 10


async def test_what_a_stream_did_not_use_goes_back_into_the_pot(purse: Purse) -> None:
    tab = purse.open(task(pots=(Pot(name="dream-1", micro_usd=MOST + READ + 10),)), "openai:small")

    await read(metered(speaking("one"), tab))
    await read(metered(speaking("two"), tab))
    with pytest.raises(SpendingCapReached) as refused:
        await read(metered(speaking("three"), tab))

    assert refused.value.details["cap"] == "pot"
    assert tab.spent.calls == 2


async def test_a_vendor_that_writes_more_than_it_may_passes_the_budget_by_less_than_a_reserve(
    store: Store, clock: FakeClock, spent: Spent
) -> None:
    purse = Purse(store, clock, MOST)

    async def ask_on() -> None:
        for _ in range(10):
            await read(metered(speaking(*["word"] * 2 * OUTPUT), purse.open(task(), "openai:small")))

    with pytest.raises(SpendingCapReached):
        await ask_on()

    assert MOST < await spent(store) < 2 * MOST


async def test_a_reservation_is_settled_once_only(purse: Purse) -> None:
    tab = purse.open(task(), "openai:small")
    reserved = await tab.reserve(100)

    await tab.settle(reserved, 10)
    with pytest.raises(ValueError, match="not in list"):
        await tab.settle(reserved, 10)

    assert tab.spent.cost_micro_usd == 10


@dataclass(frozen=True)
class Course:
    """How a stream goes: so many words, and after so many of them this happens. `silent`: its usage is never reported."""

    words: int
    after: int
    end: Literal["whole", "left", "fails", "cancelled"]
    silent: bool


courses = st.lists(
    st.builds(
        Course,
        words=st.integers(1, OUTPUT),
        after=st.integers(0, 20),
        end=st.sampled_from(["whole", "left", "fails", "cancelled"]),
        silent=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


async def take(course: Course, tab: Tab) -> None:
    words = ["word"] * course.words
    model = StreamModel(SilentStream, *words) if course.silent else speaking(*words)
    with anyio.CancelScope() as scope:
        async with opened(metered(model, tab)) as stream:
            events = 0
            async for _ in stream:
                await checkpoint()
                events += 1
                if course.end == "whole" or events <= course.after:
                    continue
                if course.end == "fails":
                    raise ZeroDivisionError
                if course.end == "left":
                    break
                scope.cancel()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=courses, streams=st.integers(1, 4))
async def test_however_streams_end_the_ledger_adds_up_and_never_passes_its_budget(
    store: Store, clock: FakeClock, spent: Spent, plan: list[Course], streams: int
) -> None:
    budget, tenant = streams * MOST, f"org/{uuid4().hex}"
    purse, tabs, most = Purse(store, clock, budget), list[Tab](), 0

    async def run(course: Course) -> None:
        nonlocal most
        tab = purse.open(task(tenant=tenant), "openai:small")
        tabs.append(tab)
        with suppress(SpendingCapReached, ZeroDivisionError):
            await take(course, tab)
        most = max(most, await spent(store, tenant))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for course in plan:
                tasks.start_soon(run, course)

    assert most <= budget
    assert await spent(store, tenant) == sum(tab.spent.cost_micro_usd for tab in tabs)
    assert all(tab.open_reservations == 0 for tab in tabs)
    assert all(tab.spent.cost_micro_usd > 0 for tab in tabs if tab.spent.calls)
