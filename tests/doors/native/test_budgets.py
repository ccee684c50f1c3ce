"""What models cost, over HTTP."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.errors import InvalidInput, SpendingCapReached
from commonplace.llms.purse import ChatPurse
from commonplace.service.lanes import memory_queues
from commonplace.testing.callers import operator
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, served
from commonplace.testing.models import question
from commonplace.testing.vendor import Vendor, answering, completion, running_vendor
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, 22, tzinfo=UTC)
FACT = answering(text="Ana lives in Kyiv", confidence=0.9)
COST = 0.00012  # 50 tokens read and 7 written, at 1 and 10 dollars for a million.


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
async def vendor() -> AsyncGenerator[Vendor]:
    with running_vendor() as running:
        running.replies = [FACT]
        yield running


@pytest.fixture
async def running(home: Path, clock: FakeClock, vendor: Vendor) -> AsyncGenerator[InProcess]:
    prices = ["small=1/10"]
    async with served(home, clock=clock, llm_model="openai:small", llm_base_url=vendor.url, llm_prices=prices) as begun:
        yield begun


async def ask(running: InProcess) -> None:
    model = running.services.desk.model
    assert model is not None
    await model.answer(question())


async def test_a_day_without_a_call_has_its_whole_budget(http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/budgets")

    assert answer.json() == {
        "model": "openai:small",
        "daily_usd": 1.0,
        "standard_usd": 1.0,
        "own": False,
        "spent_usd": 0.0,
        "left_usd": 1.0,
        "resets_at": "2026-03-02T00:00:00.000Z",
        "since": "2026-03-01T00:00:00.000Z",
        "totals": [],
        "latest": [],
        "chat": {"daily_usd": 5.0, "spent_usd": 0.0, "left_usd": 5.0, "estimated_usd": 0.0},
    }


async def test_what_was_spent_is_told_by_purpose_and_task(running: InProcess, http: httpx.AsyncClient) -> None:
    await ask(running)
    await ask(running)

    told = (await http.get("/v1/budgets", params={"limit": 1})).json()

    assert (told["spent_usd"], told["left_usd"]) == (2 * COST, 1 - 2 * COST)
    assert told["totals"] == [
        {
            "purpose": "extract",
            "model": "openai:small",
            "tasks": 2,
            "failed": 0,
            "input_tokens": 100,
            "output_tokens": 14,
            "cost_usd": 2 * COST,
        }
    ]
    assert told["latest"] == [
        {
            "tenant": "default/default",
            "at": "2026-03-01T22:00:00.000Z",
            "session": "memory-extract:s1",
            "purpose": "extract",
            "model": "openai:small",
            "agent": "bo",
            "workspace": "web",
            "input_tokens": 50,
            "output_tokens": 7,
            "cost_usd": COST,
            "ok": True,
        }
    ]


async def test_yesterday_is_told_where_it_is_asked_for(
    running: InProcess, http: httpx.AsyncClient, clock: FakeClock
) -> None:
    await ask(running)
    clock.advance(timedelta(hours=3))

    today = (await http.get("/v1/budgets")).json()
    both = (await http.get("/v1/budgets", params={"days": 2})).json()

    assert (today["spent_usd"], today["totals"]) == (0.0, [])
    assert [total["cost_usd"] for total in both["totals"]] == [COST]


async def test_an_admin_turns_models_off_and_on_again(running: InProcess, http: httpx.AsyncClient, keyed: Any) -> None:
    admin = await keyed("admin")

    off = await http.put("/v1/budgets", json={"daily_usd": 0}, headers=admin)
    with pytest.raises(SpendingCapReached):
        await ask(running)
    on = await http.put("/v1/budgets", json={"daily_usd": None}, headers=admin)
    await ask(running)

    assert (off.json()["daily_usd"], off.json()["own"]) == (0.0, True)
    assert (on.json()["daily_usd"], on.json()["own"]) == (1.0, False)


async def test_only_the_operator_allows_more_than_the_daemon_is_set_to(http: httpx.AsyncClient, keyed: Any) -> None:
    admin = await keyed("admin")

    refused = await http.put("/v1/budgets", json={"daily_usd": 1.01}, headers=admin)
    allowed = await http.put("/v1/budgets", json={"daily_usd": 5})

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert (allowed.json()["daily_usd"], allowed.json()["standard_usd"]) == (5.0, 1.0)


async def test_an_admin_of_some_scopes_sees_no_budget(http: httpx.AsyncClient, keyed: Any) -> None:
    answer = await http.get("/v1/budgets", headers=await keyed("admin", "workspace:web"))

    assert answer.status_code == 403


async def test_a_change_of_the_budget_is_in_the_audit(http: httpx.AsyncClient) -> None:
    await http.put("/v1/budgets", json={"daily_usd": 0.25})

    [row] = (await http.get("/v1/audit", params={"action": "budget.set"})).json()["rows"]
    assert (row["outcome"], row["details"]) == ("ok", {"daily_usd": 0.25})


@pytest.mark.parametrize(
    "body", [{}, {"daily_usd": -1}, {"daily_usd": 1e9}, {"daily_usd": "1"}, {"daily_usd": 1, "x": 1}]
)
async def test_a_budget_that_is_none_is_400(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.put("/v1/budgets", json=body)

    assert answer.status_code == 400


@pytest.mark.parametrize("query", ["days=0", "days=367", "limit=1001", "limit=-1", "month=1"])
async def test_a_question_that_cannot_be_answered_is_400(http: httpx.AsyncClient, query: str) -> None:
    answer = await http.get(f"/v1/budgets?{query}")

    assert answer.status_code == 400


async def test_a_daemon_without_a_model_has_a_budget_all_the_same(home: Path) -> None:
    async with served(home / "other", llm_daily_budget_usd=2.5) as begun:
        answer = await begun.client.get("/v1/budgets")

        assert begun.services.desk.model is None
        assert (answer.json()["model"], answer.json()["daily_usd"]) == (None, 2.5)


async def test_a_daemon_whose_model_is_not_known_does_not_start(home: Path) -> None:
    with pytest.raises(InvalidInput):
        async with served(home / "other", llm_model="oracle:delphi"):
            pass


@pytest.mark.parametrize(
    ("budget", "asked", "method", "fallback"),
    [(0.01, 0, "rules", "dream_budget_reached"), (0.5, 1, "model", None)],
)
async def test_one_dream_costs_no_more_than_its_own_budget(
    home: Path, vendor: Vendor, budget: float, asked: int, method: str, fallback: str | None
) -> None:
    vendor.replies = [completion(text="All is well.")]
    told: dict[str, Any] = {"llm_model": "openai:small", "llm_base_url": vendor.url, "llm_prices": ["small=1/10"]}
    async with served(home, llm_dream_budget_usd=budget, **told) as running:
        for name in ("ship", "lunch"):
            file = {"text": f"---\nname: {name}\ndescription: {name}\ntype: project\n---\nAll about {name}.\n"}
            place = f"/v1/managed/project/project/{name}.md"
            (await running.client.put(place, json=file, headers={"If-None-Match": "*"})).raise_for_status()
        store, lanes = running.services.desk.store, running.services.lanes

        task = await lanes.dream(operator(DEFAULT_TENANT))
        job = await store.jobs.job(DEFAULT_TENANT, task.id)
        result = await memory_queues(lanes)["dream"].run(job, lambda _done, _total: None)

    assert (len(vendor.requests), result["method"], result["fallback"]) == (asked, method, fallback)


async def test_what_chat_cost_is_told_apart_and_takes_nothing_from_the_rest(
    running: InProcess, http: httpx.AsyncClient, clock: FakeClock
) -> None:
    purse = ChatPurse(running.services.desk.store, clock, 5_000_000)
    await purse.reserve(DEFAULT_TENANT, 2_000_000)
    await purse.estimate(DEFAULT_TENANT, 500_000)

    told = (await http.get("/v1/budgets")).json()

    assert told["chat"] == {"daily_usd": 5.0, "spent_usd": 2.0, "left_usd": 3.0, "estimated_usd": 0.5}
    assert told["left_usd"] == 1.0
