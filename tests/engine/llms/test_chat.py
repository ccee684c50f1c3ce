"""A model for a turn: by a name that is allowed, metered, and in the ledger whatever becomes of the turn."""

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from pydantic_ai import Agent, models
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from commonplace.errors import InvalidInput, ModelRefused, SpendingCapReached
from commonplace.llms.chat import ChatModels, ChatTask
from commonplace.llms.choose import LIBRARIAN, ModelOptions
from commonplace.llms.meter import MeteredModel
from commonplace.ports.models import Pot, TaskLimits
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.testing.vendor import Vendor, completion
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
COST = 50 + 7 * 10
OPTIONS = ModelOptions(
    model="openai:small",
    models=("openai:large", "anthropic:clever"),
    api_key="the key",
    base_url="http://127.0.0.1:9/v1",
    prices=("small=1/10", "large=10/100", "clever=1/1"),
)


class Makers:
    """Makes models that answer in this process, and keeps what each was made with."""

    def __init__(self) -> None:
        self.made: list[tuple[str, ModelOptions]] = []
        self.librarians: list[ChatTask] = []
        self.error: Exception | None = None

    def model(self, name: str, account: ModelOptions) -> Model:
        self.made.append((name, account))
        return FunctionModel(self._answer)

    def librarian(self, task: ChatTask) -> Model:
        self.librarians.append(task)
        return TestModel()

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        if self.error is not None:
            raise self.error
        return ModelResponse(parts=[TextPart("Hello.")], usage=RequestUsage(input_tokens=50, output_tokens=7))


@pytest.fixture
def makers() -> Makers:
    return Makers()


@pytest.fixture
async def chats(store: Store, clock: FakeClock, makers: Makers) -> AsyncGenerator[ChatModels]:
    with models.override_allow_model_requests(False):
        async with ChatModels(OPTIONS, store, clock, makers.librarian, make=makers.model) as opened:
            yield opened


def turn(**more: Any) -> ChatTask:
    fields: dict[str, Any] = {"limits": TaskLimits(seconds=5, output_tokens=100), **more}
    return ChatTask(tenant=T, session="s1", agent="bo", workspace="web", **fields)


async def test_a_turn_is_metered_and_leaves_one_line_for_all_its_calls(chats: ChatModels, store: Store) -> None:
    pot = Pot(name="session:s1", micro_usd=10_000, cap="session")

    async with chats.open(turn(pots=(pot,))) as chat:
        await Agent(chat.model).run("Hi.")
        await Agent(chat.model).run("Hi again.")
        spent = chat.spent

    [line] = await store.usage.list_usage(T, 10)
    assert isinstance(chat.model, MeteredModel)
    assert (chat.name, spent.calls, spent.cost_micro_usd) == ("openai:small", 2, 2 * COST)
    assert (line.purpose, line.session, line.agent, line.workspace) == ("chat", "s1", "bo", "web")
    assert (line.model, line.cost_micro_usd, line.ok) == ("openai:small", 2 * COST, True)
    assert (await store.quotas.spent(T, "pot:session:s1", pot.lasts)) == {"micro_usd": 2 * COST}


async def test_a_turn_that_fails_has_its_line_too_and_its_error_is_ours(
    chats: ChatModels, store: Store, makers: Makers
) -> None:
    async def fail() -> None:
        async with chats.open(turn()) as chat:
            await Agent(chat.model).run("Hi.")
            makers.error = ModelHTTPError(401, "small", {"message": "the key is wrong"})
            await Agent(chat.model).run("Hi.")

    with pytest.raises(ModelRefused):
        await fail()

    [line] = await store.usage.list_usage(T, 10)
    assert (line.cost_micro_usd, line.ok) == (COST, False)


async def test_a_cancelled_turn_has_its_line_too(chats: ChatModels, store: Store) -> None:
    with anyio.CancelScope() as scope:
        async with chats.open(turn()) as chat:
            await Agent(chat.model).run("Hi.")
            scope.cancel()
            await anyio.sleep_forever()

    [line] = await store.usage.list_usage(T, 10)
    assert (line.cost_micro_usd, line.ok) == (COST, False)


async def test_the_cap_of_a_session_refuses_before_anybody_is_called(chats: ChatModels, store: Store) -> None:
    pot = Pot(name="session:s1", micro_usd=10, cap="session")

    with pytest.raises(SpendingCapReached) as refused:
        async with chats.open(turn(pots=(pot,))) as chat:
            await Agent(chat.model).run("Hi.")

    assert refused.value.details["cap"] == "session"
    assert await store.usage.list_usage(T, 10) == []


async def test_the_request_wins_over_the_agent_and_the_agent_over_the_settings(chats: ChatModels) -> None:
    assert chats.name_of("openai:large", "anthropic:clever") == "openai:large"
    assert chats.name_of(None, "anthropic:clever") == "anthropic:clever"
    assert chats.name_of(None, " ") == "openai:small"


@pytest.mark.parametrize("name", ["openai:other", "anthropic:small", "http://evil", "openai:small ", "LARGE"])
async def test_only_models_that_the_operator_named_are_ever_made(chats: ChatModels, makers: Makers, name: str) -> None:
    allowed = name.strip() in chats.names
    if allowed:
        assert chats.name_of(name) == "openai:small"
        return

    with pytest.raises(InvalidInput) as refused:
        async with chats.open(turn(model_name=name)):
            pass

    assert refused.value.details["models"] == ["openai:small", "openai:large", "anthropic:clever", LIBRARIAN]
    assert makers.made == []


async def test_the_key_and_the_address_go_to_no_other_vendor(chats: ChatModels, makers: Makers) -> None:
    for name in ("openai:large", "anthropic:clever", "openai:large"):
        async with chats.open(turn(model_name=name)) as chat:
            await Agent(chat.model).run("Hi.")

    accounts = {name: (account.api_key, account.base_url) for name, account in makers.made}
    assert accounts == {"openai:large": ("the key", OPTIONS.base_url), "anthropic:clever": (None, None)}
    assert len(makers.made) == 2


@pytest.mark.parametrize(
    "options", [ModelOptions(), ModelOptions(model="none"), ModelOptions(model="openai:m", chat_micro_usd=0)]
)
async def test_without_a_model_or_without_money_the_librarian_answers_for_nothing(
    store: Store, clock: FakeClock, makers: Makers, options: ModelOptions
) -> None:
    models = ChatModels(options, store, clock, makers.librarian, make=makers.model)
    async with models as chats, chats.open(turn()) as chat:
        await Agent(chat.model).run("Hi.")

    assert (chat.name, chat.spent.cost_micro_usd) == (LIBRARIAN, 0)
    assert [task.session for task in makers.librarians] == ["s1"]
    assert (makers.made, await store.usage.list_usage(T, 10)) == ([], [])


async def test_the_librarian_may_be_asked_for_where_there_is_a_model(chats: ChatModels) -> None:
    assert (chats.name_of("librarian"), chats.name_of("none")) == (LIBRARIAN, LIBRARIAN)


async def test_a_name_that_is_no_model_is_refused_when_it_is_set(
    store: Store, clock: FakeClock, makers: Makers
) -> None:
    with pytest.raises(InvalidInput):
        ChatModels(ModelOptions(model="openai:m", models=("gpt",)), store, clock, makers.librarian)


async def test_a_vendor_on_this_machine_is_spoken_to_and_paid(
    store: Store, clock: FakeClock, makers: Makers, vendor: Vendor
) -> None:
    vendor.replies = [completion(text="Hello.")]
    options = ModelOptions(model="openai:small", base_url=vendor.url, prices=("small=1/10",))

    async with ChatModels(options, store, clock, makers.librarian) as chats, chats.open(turn()) as chat:
        answer = await Agent(chat.model).run("Hi.")

    [line] = await store.usage.list_usage(T, 10)
    assert answer.output == "Hello."
    assert line.ok


async def test_an_estimate_is_told_and_never_refuses(chats: ChatModels) -> None:
    pot = Pot(name="session:s1", micro_usd=10_000, cap="session")

    caps = await chats.estimate(turn(pots=(pot,)), 20_000)
    async with chats.open(turn(pots=(pot,))) as chat:
        await Agent(chat.model).run("Hi.")

    assert caps == ("session",)
