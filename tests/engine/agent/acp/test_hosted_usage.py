"""What a turn of a hosted agent took: five ways of saying it, and none; and what our budgets make of it."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.agent.acp.host.usage import HostedSpending, HostedUsage
from commonplace.testing.agents import WHO
from commonplace.testing.host_bench import HostBench, said_by
from commonplace.values.turn_event import TurnEnded, TurnEvent, TurnFailed, TurnUsage

ANSWER = {"stopReason": "end_turn"}


def spending(*updates: dict[str, Any], answer: dict[str, Any] | None = None, before: int = 0) -> HostedSpending:
    usage = HostedUsage(before)
    for update in updates:
        usage.hear_chunk(update)
        usage.hear_meta(update)
        if "used" in update:
            usage.hear_context(update)
    usage.hear_answer({**ANSWER, **(answer or {})})
    return usage.spending(400, 80)


def chunk(sent_tokens: int, back: int) -> dict[str, Any]:
    return {"_meta": {"usage": {"inputTokens": sent_tokens, "outputTokens": back}}}


def test_behind_each_call_to_the_model() -> None:
    took = spending(chunk(100, 7), {}, chunk(120, 9))

    assert (took.requests, took.input_tokens, took.output_tokens, took.estimated) == (2, 220, 16, False)


def test_what_was_read_before_and_thought_is_counted_once() -> None:
    usage = {"inputTokens": 100, "outputTokens": 7, "cachedReadTokens": 40, "thoughtTokens": 3}

    took = spending({"_meta": {"usage": usage}}, {"_meta": {"usage": usage}}, answer={"usage": usage})

    assert (took.cached_tokens, took.thought_tokens, took.input_tokens) == (80, 6, 200)


def test_in_the_answer_to_the_prompt() -> None:
    took = spending(answer={"usage": {"inputTokens": 200, "outputTokens": 14, "totalTokens": 214}})

    assert (took.input_tokens, took.output_tokens, took.cost_micro_usd, took.estimated) == (200, 14, None, False)


def test_in_a_field_of_the_vendors_own() -> None:
    took = spending(answer={"_meta": {"quota": {"token_count": {"input_tokens": 200, "output_tokens": 14}}}})

    assert (took.input_tokens, took.output_tokens, took.estimated) == (200, 14, False)


def status_line(text: object) -> dict[str, Any]:
    return {"openhands.dev/metrics": {"status_line": text}}


@pytest.mark.parametrize("is_deeper", [True, False])
def test_as_a_line_of_text_that_grows_with_the_turn(is_deeper: bool) -> None:
    lines = [status_line(text) for text in ("120 in, 7 out (0.1%)", "1,340 in, 16 out, 2 tools (1.3%)")]
    metas: list[dict[str, Any]] = [{"field_meta": line} if is_deeper else line for line in lines]

    took = spending(*({"_meta": meta} for meta in metas), answer={"_meta": metas[-1]})

    assert (took.requests, took.input_tokens, took.output_tokens, took.estimated) == (1, 1_340, 16, False)


@pytest.mark.parametrize("line", [None, 7, "", "lots in, few out", "9" * 40 + " in, 1 out", "-1 in, -1 out"])
def test_a_line_of_text_that_says_nothing_is_none(line: object) -> None:
    took = spending({"_meta": status_line(line)}, answer={"_meta": {"field_meta": [line]}})

    assert took.estimated


def test_with_what_the_session_has_cost_so_far() -> None:
    cost = {"used": 107, "size": 1_000, "cost": {"amount": 0.05, "currency": "USD"}}

    took = spending(cost, answer={"usage": {"inputTokens": 100, "outputTokens": 7}}, before=20_000)

    assert (took.cost_micro_usd, took.used, took.size, took.estimated) == (30_000, 107, 1_000, False)


def test_a_cost_in_other_money_is_not_taken_for_dollars() -> None:
    took = spending({"used": 1, "size": 2, "cost": {"amount": 5, "currency": "EUR"}})

    assert took.cost_micro_usd is None


def test_only_how_full_the_context_is() -> None:
    took = spending({"used": 107, "size": 258_400})

    assert (took.input_tokens, took.output_tokens, took.estimated) == (100, 20, True)


def test_nothing_at_all() -> None:
    took = spending()

    assert (took.input_tokens, took.output_tokens, took.estimated) == (100, 20, True)


# ---- in our budgets


async def turn(host: HostBench) -> TurnEnded | TurnFailed:
    events: list[TurnEvent] = await host.turn(await host.session(), "Hello?")
    [end] = [event for event in events if isinstance(event, TurnEnded | TurnFailed)]
    return end


@pytest.mark.anyio
async def test_what_it_reports_is_charged_and_stands_in_the_ledger(host: HostBench) -> None:
    host.price = "2/10"
    usage = {"inputTokens": 1_000, "outputTokens": 100}
    host.play([{"text": "Hello."}, {"end": {**ANSWER, "usage": usage}}])

    end = await turn(host)
    [line] = await host.services.desk.store.usage.list_usage(WHO.tenant, 5)

    assert end.usage == TurnUsage(
        model=line.model, requests=1, input_tokens=1_000, output_tokens=100, cost_micro_usd=3_000
    )
    assert (line.purpose, line.input_tokens, line.cost_micro_usd, line.ok) == ("chat", 1_000, 3_000, True)


@pytest.mark.anyio
async def test_what_stands_beside_an_update_is_charged_as_what_stands_in_it(host: HostBench) -> None:
    host.price = "2/10"
    meta = {"field_meta": status_line("1,000 in, 100 out (0.5%)")}
    host.play([{"text": "Hello."}, {"status": meta}, {"end": ANSWER}])

    end = await turn(host)

    assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.estimated) == (1_000, 100, False)
    assert end.usage.cost_micro_usd == 3_000


@pytest.mark.anyio
async def test_a_used_up_budget_refuses_the_next_turn(host: HostBench) -> None:
    host.price, host.chat_micro_usd = "2/10", 2_000
    host.play([{"text": "Hello."}, {"end": {**ANSWER, "usage": {"inputTokens": 1_500, "outputTokens": 0}}}])

    ends = [await turn(host) for _ in range(2)]

    assert isinstance(ends[0], TurnEnded)
    assert isinstance(ends[1], TurnFailed)
    assert ends[1].code == "spending_cap_reached"
    assert len(host.heard("session/prompt")) == 1


@pytest.mark.anyio
async def test_an_estimate_is_shown_as_one_and_refuses_nothing(
    host: HostBench, caplog: pytest.LogCaptureFixture
) -> None:
    host.price, host.chat_micro_usd = "1000/1000", 1_000
    host.play([said_by("agent_message_chunk", "word " * 100)])

    ends = [await turn(host) for _ in range(2)]

    assert [isinstance(end, TurnEnded) for end in ends] == [True, True]
    assert all(end.usage.estimated and end.usage.cost_micro_usd > 1_000 for end in ends)
    assert any("passed a budget" in message for message in caplog.messages)
