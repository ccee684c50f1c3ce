"""The history as a model is told it: within its window, calls with their results, the latest turn whole."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from commonplace.agent.compaction import INTERRUPTED, compact, fit
from commonplace.agent.summary import Summary
from commonplace.text.tokens import estimate
from commonplace.values.session import MessageKind, MessageRole, SessionMessage

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 18, tzinfo=UTC)


class Talk:
    """A session in the making."""

    def __init__(self) -> None:
        self.messages: list[SessionMessage] = []

    def add(
        self, run: str, role: MessageRole, kind: MessageKind, text: str, call: str | None = None, visible: bool = True
    ) -> None:
        position = len(self.messages) + 1
        self.messages.append(
            SessionMessage(
                session="s",
                position=position,
                id=f"m{position}",
                at=NOW,
                role=role,
                kind=kind,
                text=text,
                data={"tool": "read_file", "arguments": {"path": "a"}} if kind == "tool_call" else {},
                run=run,
                call=call,
                context_visible=visible,
            )
        )

    def turn(self, number: int, *, words: int = 5, calls: int = 0, results: bool = True) -> None:
        run = f"r{number}"
        self.add(run, "user", "text", f"question {number} " + "word " * words)
        for place in range(calls):
            self.add(run, "assistant", "tool_call", "Read a", f"{run}c{place}")
            if results:
                self.add(run, "tool", "tool_result", "line " * words, f"{run}c{place}")
        self.add(run, "assistant", "text", f"answer {number} " + "word " * words)


def tokens(messages: Sequence[ModelMessage]) -> int:
    parts = [part for message in messages for part in message.parts]
    return sum(estimate(str(getattr(part, "content", ""))) for part in parts)


def texts(messages: Sequence[ModelMessage]) -> str:
    return ModelMessagesTypeAdapter.dump_json(list(messages)).decode()


async def test_a_short_history_is_told_whole_and_in_order() -> None:
    talk = Talk()
    talk.turn(1, calls=1)
    talk.turn(2)

    history = await compact(talk.messages, 10_000)

    kinds = [part.part_kind for message in history.messages for part in message.parts]
    assert kinds == ["user-prompt", "tool-call", "tool-return", "text", "user-prompt", "text"]
    assert history.summary is None


async def test_what_is_hidden_or_thought_is_not_told() -> None:
    talk = Talk()
    talk.turn(1)
    talk.add("r1", "event", "event", "memory_gateway_add_failed", visible=False)
    talk.add("r1", "assistant", "thinking", "a secret thought")

    history = await compact(talk.messages, 10_000)

    assert "gateway" not in texts(history.messages)
    assert "thought" not in texts(history.messages)


async def test_a_call_without_a_result_is_told_as_interrupted() -> None:
    talk = Talk()
    talk.turn(1, calls=1, results=False)

    history = await compact(talk.messages, 10_000)

    [result] = [part for message in history.messages for part in message.parts if isinstance(part, ToolReturnPart)]
    assert result.content == INTERRUPTED


async def test_tool_results_are_shortened_before_anything_is_left_out() -> None:
    talk = Talk()
    talk.turn(1, words=2_000, calls=1)
    talk.turn(2)

    # The words of the question and the answer take 4,000.
    history = await compact(talk.messages, 4_800)

    assert history.summary is None
    assert "question 1" in texts(history.messages)
    assert "characters left out" in texts(history.messages)


async def test_the_oldest_turns_become_a_summary_which_the_next_turn_begins_with() -> None:
    talk = Talk()
    for number in range(1, 30):
        talk.turn(number, words=40)

    history = await compact(talk.messages, 600)
    assert history.summary is not None
    talk.turn(30, words=10)
    later = fit(talk.messages, 600, history.summary)

    assert history.summary.by == "rules"
    assert history.new > 0
    assert "question 29" in texts(history.messages)
    assert later is not None
    assert later.new == 0
    assert "question 30" in texts(later.messages)


async def test_a_model_makes_the_summary_if_it_can_and_rules_if_it_cannot() -> None:
    talk = Talk()
    for number in range(1, 30):
        talk.turn(number, words=40)

    async def told(text: str, most: int) -> str:
        assert "question 1 " in text
        return "They talked about questions."

    async def silent(text: str, most: int) -> str:
        return ""

    by_model = await compact(talk.messages, 600, summarise=told)
    by_rules = await compact(talk.messages, 600, summarise=silent)

    assert by_model.summary is not None
    assert (by_model.summary.by, by_model.summary.text) == ("model", "They talked about questions.")
    assert by_rules.summary is not None
    assert by_rules.summary.by == "rules"


turns = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 3), st.booleans()), min_size=1, max_size=12)


@settings(deadline=None, max_examples=60)
@given(turns, st.integers(200, 2_000), st.booleans())
async def test_whatever_was_said_the_window_holds_and_no_call_loses_its_result(
    turns: list[tuple[int, int, bool]], window: int, again: bool
) -> None:
    talk = Talk()
    for number, (words, calls, results) in enumerate(turns, 1):
        talk.turn(number, words=words, calls=calls, results=results)
    summary = Summary(upto=2, text="before", by="rules") if again and len(turns) > 1 else None

    history = await compact(talk.messages, window, summary)

    parts = [part for message in history.messages for part in message.parts]
    calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    results = [part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)]
    assert calls == results
    for before, after in zip(history.messages, history.messages[1:], strict=False):
        if isinstance(before, ModelResponse) and any(isinstance(part, ToolCallPart) for part in before.parts):
            assert isinstance(after, ModelRequest)
            assert isinstance(after.parts[0], ToolReturnPart)
    said = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    numbers = [int(text.split()[1]) for text in said if text.startswith("question")]
    assert numbers == sorted(numbers)
    # The latest turn is whole, whatever it takes; everything else gives way.
    latest = len(turns)
    assert numbers[-1] == latest
    own = sum(estimate(message.text) for message in talk.messages if message.run == f"r{latest}")
    assert tokens(history.messages) <= max(window, own + window * 0.25 + 300)
