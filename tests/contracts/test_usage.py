"""What the port `UsageLedger` says, of every store."""

from datetime import timedelta
from typing import Any

import pytest

from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.usage import Usage, UsageTotal

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
HOUR = timedelta(hours=1)


def line(clock: FakeClock, **fields: Any) -> Usage:
    told: dict[str, Any] = {"session": "memory-extract:s1", "purpose": "extract", "model": "openai:small", **fields}
    return Usage(tenant=T, at=clock.now(), **told)


async def test_a_line_comes_back_as_it_was_kept(store: Store, clock: FakeClock) -> None:
    kept = line(
        clock,
        agent="bo",
        workspace="网站",
        input_tokens=1_200,
        output_tokens=80,
        cost_micro_usd=2**40,
        ok=False,
    )

    await store.usage.add_usage(kept)

    assert await store.usage.list_usage(T, 10) == [kept]


async def test_lines_come_newest_first_and_no_more_than_asked_for(store: Store, clock: FakeClock) -> None:
    first, second = line(clock, session="memory-extract:a"), line(clock, session="memory-extract:b")
    clock.advance(HOUR)
    third = line(clock, session="memory-extract:c")
    for one in (first, second, third):
        await store.usage.add_usage(one)

    assert await store.usage.list_usage(T, 10) == [third, second, first]
    assert await store.usage.list_usage(T, 2) == [third, second]


async def test_totals_are_by_purpose_and_model_the_dearest_first(store: Store, clock: FakeClock) -> None:
    for fields in (
        {"input_tokens": 10, "output_tokens": 1, "cost_micro_usd": 5},
        {"input_tokens": 20, "output_tokens": 2, "cost_micro_usd": 7, "ok": False},
        {"purpose": "dream", "input_tokens": 1, "cost_micro_usd": 100},
        {"model": "anthropic:large", "output_tokens": 3, "cost_micro_usd": 12},
    ):
        await store.usage.add_usage(line(clock, **fields))

    totals = await store.usage.usage_totals(T, clock.now(), clock.now() + HOUR)

    assert totals == [
        _total("dream", "openai:small", 1, 0, (1, 0), 100),
        _total("extract", "anthropic:large", 1, 0, (0, 3), 12),
        _total("extract", "openai:small", 2, 1, (30, 3), 12),
    ]


def _total(purpose: str, model: str, tasks: int, failed: int, tokens: tuple[int, int], cost: int) -> UsageTotal:
    return UsageTotal(
        purpose=purpose,
        model=model,
        tasks=tasks,
        failed=failed,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        cost_micro_usd=cost,
    )


async def test_totals_begin_with_a_moment_and_end_before_one(store: Store, clock: FakeClock) -> None:
    since = clock.now()
    for cost in (1, 10, 100):
        await store.usage.add_usage(line(clock, cost_micro_usd=cost))
        clock.advance(HOUR)

    totals = await store.usage.usage_totals(T, since + HOUR, since + 2 * HOUR)

    assert [total.cost_micro_usd for total in totals] == [10]


async def test_tenants_do_not_see_what_others_spend(store: Store, clock: FakeClock) -> None:
    await store.usage.add_usage(line(clock, cost_micro_usd=1))
    await store.usage.set_budget(T, 5, Entries())

    assert await store.usage.list_usage(OTHER, 10) == []
    assert await store.usage.usage_totals(OTHER, clock.now(), clock.now() + HOUR) == []
    assert await store.usage.budget(OTHER) is None


async def test_a_budget_is_set_changed_and_forgotten_with_its_audit_row(store: Store, clock: FakeClock) -> None:
    seen: list[int | None] = []
    for budget in (2_000_000, 0, None):
        row = AuditRow(id=new_id(clock.now()), at=clock.now(), tenant=T, actor="ana", action="budget.set")
        await store.usage.set_budget(T, budget, Entries(audit=(row,)))
        seen.append(await store.usage.budget(T))

    assert seen == [2_000_000, 0, None]
    assert len((await store.journal.audit(T, AuditQuery(), 10, None)).rows) == 3


async def test_usage_and_budgets_are_in_a_backup(
    store: Store, second_store: Store, clock: FakeClock, tmp_path: Any
) -> None:
    await store.usage.add_usage(line(clock, cost_micro_usd=7))
    await store.usage.set_budget(T, 9, Entries())

    await store.maintenance.backup(tmp_path / "backup")
    await second_store.maintenance.restore(tmp_path / "backup")

    assert await second_store.usage.list_usage(T, 10) == await store.usage.list_usage(T, 10)
    assert await second_store.usage.budget(T) == 9
    await second_store.usage.add_usage(line(clock, cost_micro_usd=8))
    assert [one.cost_micro_usd for one in await second_store.usage.list_usage(T, 10)] == [8, 7]
