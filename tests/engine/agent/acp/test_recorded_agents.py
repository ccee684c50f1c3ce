"""What five published agents said once, played again: one command of the shell, with one question, allowed once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from commonplace.testing.host_bench import HostBench
from commonplace.values.session_state import SessionOptions
from commonplace.values.turn_event import PermissionAsked, ToolEnded, ToolStarted, TurnEnded, TurnEvent

pytestmark = pytest.mark.anyio
E = TypeVar("E")
TRACES = Path(__file__).with_name("traces")


@dataclass(frozen=True)
class Expected:
    """What a person is asked, which option the agent is told, what the turn took, and the modes that there are."""

    title: str
    rule: str
    option: str
    tokens: tuple[int, int, int]
    """Read, written, and how many of those that were read had been read before."""
    modes: tuple[str, ...]
    model: str
    mode: str = "default"
    estimated: bool = False


AGENTS = {
    "qwen-code": Expected(
        title="touch /workspace/made (make a file)",
        rule="run_shell_command:touch /workspace/made",
        option="proceed_once",
        tokens=(200, 14, 80),
        modes=("plan", "default", "auto-edit", "auto", "yolo"),
        model="$runtime|openai|fake-model(openai)",
    ),
    "gemini-cli": Expected(
        title="touch /workspace/made",
        rule="execute:touch /workspace/made",
        option="proceed_once",
        tokens=(200, 14, 0),
        modes=("default", "autoEdit", "yolo", "plan"),
        model="gemini-2.5-flash",
    ),
    "codex": Expected(
        title="touch /workspace/made",
        rule="execute:touch /workspace/made",
        option="approved",
        tokens=(0, 0, 0),
        modes=(),
        model="fake-model",
        estimated=True,
    ),
    "mistral-vibe": Expected(
        title="bash: touch /workspace/made",
        rule="bash:touch /workspace/made",
        option="allow_once",
        tokens=(200, 14, 80),
        modes=("ask", "accept-edits", "auto-approve"),
        mode="ask",
        model="fake",
    ),
    "kimi-code": Expected(
        title="Bash: touch /workspace/made",
        rule="execute:touch /workspace/made",
        option="approve_once",
        tokens=(0, 0, 0),
        modes=("default", "plan", "auto", "yolo"),
        model="fake",
        estimated=True,
    ),
}


@pytest.mark.parametrize("name", sorted(AGENTS))
async def test_what_it_said_is_asked_kept_told_and_counted(host: HostBench, name: str) -> None:
    expected = AGENTS[name]
    host.play([], trace=str(TRACES / f"acp-{name}.jsonl"))
    session = await host.session()

    ticket = await host.agent.say(session.id, "Make a file.")
    before = await host.hear(session, ticket.last_event, PermissionAsked)
    question = before[-1]
    assert isinstance(question, PermissionAsked), before
    await host.agent.answer_permission(session.id, question.request.id, "allow_once")
    events = await host.hear(session, ticket.last_event)

    assert (question.request.title, question.request.kind) == (expected.title, "execute")
    assert question.request.rule == expected.rule
    [outcome] = [message["result"]["outcome"] for message in host.heard() if "outcome" in message.get("result", {})]
    assert outcome == {"outcome": "selected", "optionId": expected.option}
    [started], [ended] = of(events, ToolStarted), of(events, ToolEnded)
    assert (started.call, ended.failed) == (ended.call, False)
    [end] = of(events, TurnEnded)
    assert end.stop_reason == "end_turn"
    assert "Done: tool answered" in end.reply
    assert end.usage.estimated is expected.estimated
    if not expected.estimated:
        assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.cached_tokens) == expected.tokens
    options = (await host.agent.session_state(session.id)).options
    check(options, expected)


def of(events: list[TurnEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def check(options: SessionOptions, expected: Expected) -> None:
    if expected.modes:
        assert tuple(mode.id for mode in options.modes) == expected.modes
        assert options.mode == expected.mode
    if expected.model:
        assert options.model == expected.model
