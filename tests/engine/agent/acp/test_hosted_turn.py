"""A turn that another agent plays: what is said, asked, kept and told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest

from commonplace.testing.agents import WHO
from commonplace.testing.events import until
from commonplace.testing.host_bench import HostBench, call_change, call_step, is_running, options, said_by
from commonplace.values.session import Session, SessionMessage
from commonplace.values.turn_event import (
    PermissionAsked,
    PlanChanged,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnFailed,
)

pytestmark = pytest.mark.anyio
E = TypeVar("E")
ONCE = options(("go", "allow_once"), ("always", "allow_always"), ("no", "reject_once"))


def of(events: Sequence[TurnEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


async def kept(host: HostBench, session: Session) -> list[SessionMessage]:
    page = await host.services.history.messages(WHO, session.id, after=0, limit=500, hidden=True)
    return list(page.messages)


async def asked(host: HostBench, session: Session, text: str) -> tuple[PermissionAsked, int]:
    """Say it, and hear what is asked."""
    ticket = await host.agent.say(session.id, text)
    events = await host.hear(session, ticket.last_event, PermissionAsked)
    assert isinstance(events[-1], PermissionAsked), events
    return events[-1], ticket.last_event


async def test_what_it_thinks_and_says_is_told_and_kept(host: HostBench) -> None:
    host.play([said_by("agent_thought_chunk", "Hm."), {"text": "Good "}, {"text": "morning."}])
    session = await host.session()

    events = await host.turn(session, "Good morning!")

    assert [event.text for event in of(events, ThinkingAdded)] == ["Hm."]
    assert [event.text for event in of(events, TextAdded)] == ["Good ", "morning."]
    [ended] = of(events, TurnEnded)
    assert (ended.reply, ended.stop_reason) == ("Good morning.", "end_turn")
    visible = [(m.role, m.kind, m.text) for m in await kept(host, session) if m.context_visible]
    assert visible == [
        ("user", "text", "Good morning!"),
        ("assistant", "thinking", "Hm."),
        ("assistant", "text", "Good morning."),
    ]
    assert host.blocks()[-1] == "Good morning!"


async def test_a_permission_is_asked_and_answered_by_the_kind_of_the_option(host: HostBench) -> None:
    call = {"toolCallId": "c1", "title": "touch made", "kind": "execute", "rawInput": {"command": "touch made"}}
    host.play(
        [
            call_step("c1", title="Shell", kind="execute", status="pending"),
            {"ask": {"toolCall": call, "options": ONCE}, "id": "a-string"},
            call_change(
                "c1", status="completed", content=[{"type": "content", "content": {"type": "text", "text": "made"}}]
            ),
            {"text": "Done."},
        ]
    )
    session = await host.session()

    question, last = await asked(host, session, "Make it.")
    await host.agent.answer_permission(session.id, question.request.id, "allow_session")
    events = await host.hear(session, last)

    request = question.request
    assert (request.title, request.kind, request.rule) == ("touch made", "execute", "execute:touch made")
    [outcome] = [message["result"]["outcome"] for message in host.heard() if message.get("id") == "a-string"]
    assert outcome == {"outcome": "selected", "optionId": "go"}
    [started], [ended] = of(events, ToolStarted), of(events, ToolEnded)
    assert (started.call, started.title, ended.text, ended.failed) == ("c1", "touch made", "made", False)
    kinds = [m.kind for m in await kept(host, session) if m.context_visible]
    assert kinds == ["text", "tool_call", "tool_result", "text"]


async def test_a_rejection_is_told_to_the_agent_which_goes_on(host: HostBench) -> None:
    call = {"toolCallId": "c1", "title": "rm all", "kind": "execute"}
    host.play(
        [{"ask": {"toolCall": call, "options": ONCE}, "id": 7}, call_change("c1", status="failed"), {"text": "Well."}]
    )
    session = await host.session()

    question, last = await asked(host, session, "Remove it.")
    await host.agent.answer_permission(session.id, question.request.id, "reject_once")
    events = await host.hear(session, last)

    [outcome] = [m["result"]["outcome"] for m in host.heard() if m.get("id") == 7 and "result" in m]
    assert outcome == {"outcome": "selected", "optionId": "no"}
    assert [event.failed for event in of(events, ToolEnded)] == [True]
    assert [event.stop_reason for event in of(events, TurnEnded)] == ["end_turn"]


async def test_the_plan_is_told(host: HostBench) -> None:
    entries = [{"content": "Look", "priority": "high", "status": "in_progress"}, {"content": "Mend", "status": "odd"}]
    host.play([{"update": {"sessionUpdate": "plan", "entries": entries}}])

    events = await host.turn(await host.session(), "Plan it.")

    [plan] = of(events, PlanChanged)
    assert plan.entries == ({"text": "Look", "status": "in_progress"}, {"text": "Mend", "status": "pending"})


async def test_a_turn_that_is_cancelled_ends_and_the_session_goes_on(host: HostBench) -> None:
    host.play([{"text": "I begin."}, {"wait_for_cancel": True}, {"text": " And stop."}], [{"text": "Yes?"}])
    session = await host.session()
    ticket = await host.agent.say(session.id, "Work.")
    await host.hear(session, ticket.last_event, TextAdded)

    await host.agent.cancel_turn(session.id)
    events = await host.hear(session, ticket.last_event)
    after = await host.turn(session, "Are you there?")

    assert [event.stop_reason for event in of(events, TurnEnded)] == ["cancelled"]
    assert [event.reply for event in of(after, TurnEnded)] == ["Yes?"]
    assert len(host.pids) == 1
    partial = [m.text for m in await kept(host, session) if m.data.get("partial")]
    assert partial == ["I begin. And stop."]


async def test_a_program_that_dies_fails_the_turn_with_its_last_words_and_is_started_anew(host: HostBench) -> None:
    host.play([{"complain": "out of luck"}, {"exit": 3}])
    session = await host.session()

    failed = await host.turn(session, "Hello?")
    host.play([{"text": "Here."}])
    events = await host.turn(session, "And now?")

    [failure] = of(failed, TurnFailed)
    assert failure.code == "hosted_agent_failed"
    assert "out of luck" in failure.message
    assert "code 3" in failure.message
    assert [event.reply for event in of(events, TurnEnded)] == ["Here."]
    assert any("Hello?" in block for block in host.blocks()[:-1])


async def test_nothing_is_left_of_a_program_when_the_session_is_let_go(host: HostBench) -> None:
    host.play([{"spawn": "near"}, {"spawn": "away"}, {"text": "Done."}], stays=True)
    session = await host.session()
    await host.turn(session, "Start something.")
    assert host.sessions is not None

    await host.sessions.aclose()

    assert len(host.pids) == 3
    await until(lambda: not any(map(is_running, host.pids)))
