"""`commonplace budgets`, over a store and over a daemon."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commonplace import Client
from commonplace.cli.plain import money, spending
from commonplace.compose.stores import SystemClock
from commonplace.errors import Forbidden
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.values.usage import Budget, ChatBudget, Usage, UsageTotal

BOTH = pytest.mark.parametrize("cli", ["store", "url"], indirect=True)


@BOTH
def test_a_memory_without_a_call_has_its_whole_budget(cli: Any) -> None:
    told = cli.json("budgets")

    assert (told["daily"], told["spent"], told["totals"], told["model"]) == (1_000_000, 0, [], None)
    assert (told["chat"]["daily"], told["chat"]["spent"]) == (5_000_000, 0)
    learning, chat = cli("budgets").out.splitlines()
    assert learning.split("\t")[-2:] == ["$1.00", "$1.00"]
    assert chat.split("\t") == ["all chat", "-", "0", "0", "$0.00", "$5.00", "$5.00"]


@BOTH
def test_a_budget_is_set_and_given_back(cli: Any) -> None:
    lower = cli.json("budgets", "--daily", "0.25")
    again = cli.json("budgets", "--standard")

    assert (lower["daily"], lower["own"]) == (250_000, True)
    assert (again["daily"], again["own"]) == (1_000_000, False)


def test_both_at_once_are_refused(cli: Any) -> None:
    assert cli("budgets", "--daily", "1", "--standard", "--json").error == "invalid_input"


@BOTH
@pytest.mark.parametrize("amount", ["inf", "nan", "-1", "1000001"])
def test_an_amount_that_is_none_is_refused(cli: Any, amount: str) -> None:
    assert cli("budgets", "--daily", amount).code == 2


def test_what_was_spent_is_told_by_purpose(cli: Any, tmp_path: Path) -> None:
    async def spend() -> None:
        store = await SqliteStore.open(tmp_path / "memory.db", SystemClock())
        line = Usage(
            tenant="default/default",
            at=datetime.now(UTC),
            session="memory-extract:s1",
            purpose="extract",
            model="openai:small",
            input_tokens=1_000,
            output_tokens=234,
            cost_micro_usd=1_500,
        )
        await store.usage.add_usage(line)
        await store.aclose()

    asyncio.run(spend())

    first, last, _ = cli("budgets").out.splitlines()
    assert first.split("\t") == ["extract", "openai:small", "1", "1,234", "$0.0015", "-", "-"]
    assert last.split("\t")[:5] == ["all learning", "-", "1", "1,234", "$0.0015"]


def test_a_person_gets_a_table(cli: Any, wide: None) -> None:
    del wide

    shown = cli("budgets").out

    assert "purpose" in shown
    assert "left today" in shown


@pytest.mark.parametrize(
    ("micro", "shown"), [(0, "$0.00"), (1_000_000, "$1.00"), (120, "$0.00012"), (1_250_000, "$1.25")]
)
def test_money_is_told_to_the_cent_and_further_where_it_is_less(micro: int, shown: str) -> None:
    assert money(micro) == shown


def test_the_last_rows_are_all_of_it_and_chat_apart() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    total = UsageTotal(
        purpose="extract", model="m", tasks=2, failed=1, input_tokens=10, output_tokens=5, cost_micro_usd=20_000
    )
    chat = replace(total, purpose="chat", tasks=1)
    budget = Budget(
        model="m", daily=500_000, standard=500_000, own=False, spent=40_000, resets_at=now, since=now,
        totals=(total, total, chat), latest=(), chat=ChatBudget(daily=2_000_000, spent=20_000),
    )  # fmt: skip

    assert spending(budget)[-2] == ("all learning", "m", "4", "30", "$0.04", "$0.50", "$0.46")
    assert spending(budget)[-1] == ("all chat", "-", "1", "15", "$0.02", "$2.00", "$1.98")


def test_the_client_reads_and_sets_it_and_a_writer_does_not(shared_daemon: Any) -> None:
    with Client(shared_daemon.url, shared_daemon.token, tenant="test/budgets") as client:
        before = client.budgets(days=7, limit=5)
        lower = client.set_budget(0.5)
        after = client.set_budget(None)
        _, secret = client.create_key("w", "writer")

    assert (before.daily, lower.daily, lower.own, after.daily) == (1_000_000, 500_000, True, 1_000_000)
    with Client(shared_daemon.url, secret) as writer, pytest.raises(Forbidden):
        writer.budgets()
