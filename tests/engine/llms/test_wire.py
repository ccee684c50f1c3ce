"""Against a server on this machine that speaks the protocol of OpenAI: what comes back, and what a failure is called."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from commonplace.errors import (
    CommonplaceError,
    InvalidInput,
    ModelMalformed,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
)
from commonplace.llms.choose import ModelOptions, make_language_model, make_model
from commonplace.llms.language_model import PydanticAiModel
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.testing.models import MovedFact, question, task
from commonplace.testing.vendor import INPUT_TOKENS, OUTPUT_TOKENS, Reply, Vendor, answering, completion
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
KEY = "sk-" + "a1b2c3d4e5f6g7h8i9"
COST = INPUT_TOKENS * 1 + OUTPUT_TOKENS * 10
FACT = answering(text="Ana lives in Kyiv", confidence=0.9)
Metering = Callable[..., PydanticAiModel]
Spent = Callable[[Store], Awaitable[int]]


@asynccontextmanager
async def asking(
    vendor: Vendor, metered: Metering, store: Store, *, patience: float = 5.0
) -> AsyncGenerator[PydanticAiModel]:
    model = make_model("openai:small", api_key=KEY, base_url=vendor.url, timeout=patience)
    async with metered(store, model) as made:
        yield made


async def test_a_question_is_answered_in_the_form_asked_for(vendor: Vendor, metered: Metering, store: Store) -> None:
    vendor.replies = [FACT]

    async with asking(vendor, metered, store) as model:
        answer = await model.answer(question())

    assert answer.value == MovedFact(text="Ana lives in Kyiv", confidence=0.9)
    assert (answer.spent.calls, answer.spent.input_tokens, answer.spent.output_tokens) == (1, 50, 7)
    assert (answer.spent.cost_micro_usd, answer.spent.model) == (COST, "openai:small")
    [sent] = vendor.requests
    assert (sent["model"], sent.get("max_tokens") or sent.get("max_completion_tokens")) == ("small", 100)
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]
    assert vendor.keys == [f"Bearer {KEY}"]


async def test_tools_are_used_until_the_model_is_done(vendor: Vendor, metered: Metering, store: Store) -> None:
    files = {"a.md": "Lunch is at noon"}

    async def read(path: str) -> str:
        """Read a file."""
        return files[path]

    async def write(path: str, text: str) -> str:
        """Write a file."""
        files[path] = text
        return "written"

    vendor.replies = [
        completion(calls=(("read", '{"path": "a.md"}'),)),
        completion(calls=(("write", '{"path": "a.md", "text": "Lunch is at one"}'),)),
        completion(text="Lunch was moved."),
    ]

    async with asking(vendor, metered, store) as model:
        done = await model.act(task(), [read, write])

    assert (done.text, done.finished, files) == ("Lunch was moved.", True, {"a.md": "Lunch is at one"})
    assert (done.spent.calls, done.spent.cost_micro_usd) == (3, 3 * COST)
    assert [one["function"]["name"] for one in vendor.requests[0]["tools"]] == ["read", "write"]
    assert vendor.requests[1]["messages"][-1]["content"] == "Lunch is at noon"
    [line] = await store.usage.list_usage(T, 10)
    assert (line.purpose, line.session, line.cost_micro_usd, line.ok) == (
        "remember",
        "memory-remember:t1",
        3 * COST,
        True,
    )


@pytest.mark.parametrize("fault", [Reply(status=429, body={}), Reply(status=503, body={}), Reply(status=0)])
async def test_what_fails_for_a_moment_is_sent_again(
    vendor: Vendor, metered: Metering, store: Store, pauses: list[float], fault: Reply
) -> None:
    vendor.replies = [fault, FACT]

    async with asking(vendor, metered, store) as model:
        answer = await model.answer(question())

    assert answer.value.text == "Ana lives in Kyiv"
    assert (len(vendor.requests), pauses) == (2, [0.5])


async def test_a_server_that_says_how_long_to_wait_is_listened_to(
    vendor: Vendor, metered: Metering, store: Store, pauses: list[float]
) -> None:
    vendor.replies = [Reply(status=429, body={}, headers={"Retry-After": "3"}), FACT]

    async with asking(vendor, metered, store) as model:
        await model.answer(question())

    assert pauses == [3.0]


async def test_a_long_wait_is_the_callers(vendor: Vendor, metered: Metering, store: Store, pauses: list[float]) -> None:
    vendor.replies = [Reply(status=429, body={}, headers={"Retry-After": "120"})]

    async with asking(vendor, metered, store) as model:
        with pytest.raises(ModelUnavailable) as refused:
            await model.answer(question())

    assert (refused.value.details["retry_after"], len(vendor.requests), pauses) == (120.0, 1, [])


FAILURES: list[tuple[Reply, type[CommonplaceError], int]] = [
    (Reply(status=429, body={}), ModelUnavailable, 3),
    (Reply(status=500, body={}), ModelUnavailable, 3),
    (Reply(status=529, body={}), ModelUnavailable, 3),
    (Reply(status=0), ModelUnavailable, 3),
    (Reply(status=401, body={}), ModelRefused, 1),
    (Reply(status=403, body={}), ModelRefused, 1),
    (Reply(status=404, body={}), ModelRefused, 1),
    (Reply(status=400, body={}), ModelRefused, 1),
    (Reply(status=402, body={}), ModelRefused, 1),
    (Reply(status=429, body={"error": {"message": "x", "code": "insufficient_quota"}}), ModelRefused, 1),
    (completion(refusal="I would rather not."), ModelRefused, 1),
    (Reply(body="not JSON at all"), ModelMalformed, 1),
    (Reply(body={"hello": "world"}), ModelMalformed, 1),
    (completion(text="Just words, not the form."), ModelMalformed, 2),
    (completion(calls=(("final_result", '{"text": "cut o'),)), ModelMalformed, 2),
    (completion(calls=(("final_result", '{"text": "a", "confidence": "very"}'),)), ModelMalformed, 2),
    (completion(calls=(("no_such_tool", "{}"),)), ModelMalformed, 2),
    (Reply(hang=True), ModelTimeout, 1),
]


@pytest.mark.parametrize(("reply", "error", "requests"), FAILURES)
async def test_every_failure_has_a_name(
    vendor: Vendor, metered: Metering, store: Store, reply: Reply, error: type[CommonplaceError], requests: int
) -> None:
    vendor.replies = [reply]

    async with asking(vendor, metered, store, patience=0.3) as model:
        with pytest.raises(CommonplaceError) as raised:
            await model.answer(question())

    assert (type(raised.value), len(vendor.requests)) == (error, requests)
    assert KEY not in str(raised.value)


async def test_a_server_that_is_not_there_is_unavailable(metered: Metering, store: Store, spent: Spent) -> None:
    model = make_model("openai:small", base_url="http://127.0.0.1:9/v1")

    async with metered(store, model) as asked:
        with pytest.raises(ModelUnavailable):
            await asked.answer(question())

    assert await spent(store) == 0


async def test_a_task_ends_with_its_time(vendor: Vendor, metered: Metering, store: Store, spent: Spent) -> None:
    vendor.replies = [Reply(hang=True)]

    with anyio.fail_after(5):
        async with asking(vendor, metered, store, patience=30.0) as model:
            with pytest.raises(ModelTimeout):
                await model.answer(question(seconds=0.2))

    # Whether it was charged for nobody knows, so all that was reserved is gone, and the ledger says so.
    [line] = await store.usage.list_usage(T, 10)
    assert (line.ok, line.input_tokens, line.cost_micro_usd) == (False, 0, await spent(store))
    assert line.cost_micro_usd > 0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
async def test_what_was_refused_costs_nothing_and_leaves_no_line(
    vendor: Vendor, metered: Metering, store: Store, spent: Spent, status: int
) -> None:
    vendor.replies = [Reply(status=status, body={})]

    async with asking(vendor, metered, store) as model:
        with pytest.raises(CommonplaceError):
            await model.answer(question())

    assert (await spent(store), await store.usage.list_usage(T, 10)) == (0, [])


async def test_an_answer_that_is_of_no_use_is_paid_for(
    vendor: Vendor, metered: Metering, store: Store, spent: Spent
) -> None:
    vendor.replies = [completion(text="No form.")]

    async with asking(vendor, metered, store) as model:
        with pytest.raises(ModelMalformed):
            await model.answer(question())

    [line] = await store.usage.list_usage(T, 10)
    assert (line.ok, line.cost_micro_usd, await spent(store)) == (False, 2 * COST, 2 * COST)


async def test_a_server_that_does_not_count_is_paid_all_that_was_reserved(
    vendor: Vendor, metered: Metering, store: Store, spent: Spent
) -> None:
    vendor.replies = [answering(counted=False, text="Ana lives in Kyiv", confidence=0.9)]

    async with asking(vendor, metered, store) as model:
        answer = await model.answer(question())

    assert answer.spent.cost_micro_usd == await spent(store) > 100 * 10


async def test_no_secret_is_sent(vendor: Vendor, metered: Metering, store: Store) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0"

    async def look() -> str:
        """Look."""
        return f"The file says {secret}"

    vendor.replies = [completion(calls=(("look", "{}"),)), completion(text="Seen.")]
    asked = task(f"Use {secret} for it")

    async with asking(vendor, metered, store) as model:
        await model.act(asked, [look])

    sent = json.dumps(vendor.requests)
    assert secret not in sent
    assert sent.count("[redacted:github_token]") == 3  # The prompt twice, what the tool said once.


async def test_a_model_by_settings_is_asked_and_paid_for(
    vendor: Vendor, store: Store, clock: FakeClock, spent: Spent
) -> None:
    vendor.replies = [FACT]
    asked = ModelOptions(model="openai:small", base_url=vendor.url, prices=["small=1/10"])

    model = make_language_model(asked, store, clock)

    assert model is not None
    async with model:
        answer = await model.answer(question())
    assert (answer.spent.cost_micro_usd, await spent(store)) == (COST, COST)


async def test_the_key_of_openai_is_not_sent_to_another_server(
    vendor: Vendor, metered: Metering, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    vendor.replies = [FACT]
    model = make_model("openai:small", base_url=vendor.url)

    async with metered(store, model) as asked:
        await asked.answer(question())

    assert KEY not in str(vendor.keys)


async def test_a_model_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidInput):
        make_model("oracle:delphi")
