"""
The history as a model is told it, within a window of tokens. The history itself keeps everything.

Turns are told whole, the latest for certain. What does not fit loses the middle of its tool results first, the oldest first; then
the oldest turns are told in a summary, by the model or by rules, which is kept, so that the next turn begins with it. A tool call and its result are
never parted, and a call that has no result was interrupted: the model is told so.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from commonplace.agent.summary import Summary
from commonplace.text.extractive import summary as extract
from commonplace.text.tokens import TokenCounter, estimate
from commonplace.values.session import SessionMessage

INTERRUPTED: Final = "This call was interrupted: whether it had its effect is not known. It was not run again. Look before you repeat it."
_FRAME: Final = 8
"""Tokens around a message."""
_SHORT: Final = 400
"""Characters that are left of a tool result at each end when it is shortened."""
_AFTER: Final = 0.5
"""How full the window is after a summary was made, so that not every turn makes one."""
_SUMMARY: Final = 0.2
"""How much of the window a summary by rules may take."""
_LINE: Final = 60

Summarise: TypeAlias = Callable[[str, int], Awaitable[str]]
"""A model that tells a conversation in short: the text, and the tokens it may take. It may raise one of our errors."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedHistory:
    """`summary` stands at the head of `messages`, and is `new` if it was made just now, of so many messages."""

    messages: tuple[ModelMessage, ...]
    summary: Summary | None = None
    new: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Turn:
    messages: tuple[SessionMessage, ...]
    tokens: int


def fit(
    messages: Sequence[SessionMessage], window: int, summary: Summary | None = None, count: TokenCounter = estimate
) -> FittedHistory | None:
    """The history behind `summary`, as it is or with shortened tool results; None: it needs a new summary."""
    turns = _turns(_behind(messages, summary), count)
    room = window - _tokens_of(summary, count)
    if sum(turn.tokens for turn in turns) > room:
        turns = _shortened(turns, room, count)
    if len(turns) > 1 and sum(turn.tokens for turn in turns) > room:
        return None
    return FittedHistory(messages=_told(summary, turns), summary=summary)


async def compact(
    messages: Sequence[SessionMessage],
    window: int,
    summary: Summary | None = None,
    *,
    summarise: Summarise | None = None,
    count: TokenCounter = estimate,
) -> FittedHistory:
    """As `fit`, with a new summary if one is needed. If the model cannot make it, rules do."""
    fitting = fit(messages, window, summary, count)
    if fitting is not None:
        return fitting
    turns = _turns(_behind(messages, summary), count)
    latest: list[_Turn] = []
    room = window * _AFTER
    for turn in reversed(turns):
        if latest and sum(other.tokens for other in latest) + turn.tokens > room:
            break
        latest.insert(0, turn)
    if len(latest) == len(turns):
        # All would fit by themselves, but not behind the summary there is: the first goes into a new one.
        latest = latest[1:] or latest
    old = turns[: len(turns) - len(latest)]
    left_out = [message for turn in old for message in turn.messages]
    new_summary = await _summary(left_out, summary, int(window * _SUMMARY), summarise, count)
    latest = _shortened(latest, window - _tokens_of(new_summary, count), count)
    return FittedHistory(messages=_told(new_summary, latest), summary=new_summary, new=len(left_out))


async def _summary(
    messages: Sequence[SessionMessage],
    before: Summary | None,
    most: int,
    summarise: Summarise | None,
    count: TokenCounter,
) -> Summary:
    text = "\n".join(filter(None, [before.text if before else "", *map(_line, messages)]))
    upto = max((message.position for message in messages), default=before.upto if before else 0)
    if summarise is not None:
        # It answers an empty text if it cannot: a turn does not fail for want of a summary.
        answer = (await summarise(text, most)).strip()
        if answer and count(answer) <= 2 * most:
            return Summary(upto=upto, text=answer, by="model")
    return Summary(upto=upto, text=_by_rules(text, most, count), by="rules")


def _by_rules(text: str, most: int, count: TokenCounter) -> str:
    """The first words of each message; where these are too many, the most central ones."""
    lines = [extract(line, _LINE, count) for line in text.splitlines() if line.strip()]
    return extract("\n".join(lines), max(most, 1), count)


def _line(message: SessionMessage) -> str:
    text = " ".join(message.text.split())
    if message.kind == "tool_result":
        return ""
    if message.kind == "tool_call":
        return f"(used a tool: {text})"
    return f"{'Person' if message.role == 'user' else 'Assistant'}: {text}" if message.kind == "text" else ""


def _behind(messages: Sequence[SessionMessage], summary: Summary | None) -> list[SessionMessage]:
    upto = summary.upto if summary else 0
    return [message for message in messages if message.context_visible and message.position > upto]


def _turns(messages: Iterable[SessionMessage], count: TokenCounter) -> list[_Turn]:
    """Messages of one run belong together, in the order in which the runs began."""
    groups: dict[str, list[SessionMessage]] = {}
    for message in messages:
        if message.kind in ("text", "tool_call", "tool_result"):
            groups.setdefault(message.run or message.id, []).append(message)
    return [_Turn(messages=tuple(group), tokens=_tokens(group, count)) for group in groups.values()]


def _tokens(messages: Iterable[SessionMessage], count: TokenCounter) -> int:
    return sum(count(message.text) + _arguments(message, count) + _FRAME for message in messages)


def _arguments(message: SessionMessage, count: TokenCounter) -> int:
    return count(_json(message)) if message.kind == "tool_call" else 0


def _tokens_of(summary: Summary | None, count: TokenCounter) -> int:
    return count(_heading(summary)) + _FRAME if summary else 0


def _shortened(turns: Sequence[_Turn], room: int, count: TokenCounter) -> list[_Turn]:
    """With shorter tool results, from the oldest on, as many as are needed."""
    short = list(turns)
    for place, turn in enumerate(short):
        if sum(other.tokens for other in short) <= room:
            break
        messages = tuple(map(_without_middle, turn.messages))
        short[place] = _Turn(messages=messages, tokens=_tokens(messages, count))
    return short


def _without_middle(message: SessionMessage) -> SessionMessage:
    text = message.text
    if message.kind != "tool_result" or len(text) <= 2 * _SHORT:
        return message
    middle = f"\n[{len(text) - 2 * _SHORT:,} characters left out]\n"
    return SessionMessage(
        **{name: getattr(message, name) for name in message.__slots__ if name != "text"},
        text=f"{text[:_SHORT]}{middle}{text[-_SHORT:]}",
    )


# ---- as the library takes them


def _told(summary: Summary | None, turns: Sequence[_Turn]) -> tuple[ModelMessage, ...]:
    prompt: list[ModelMessage] = []
    if summary is not None:
        prompt.append(ModelRequest(parts=[UserPromptPart(content=_heading(summary))]))
    for turn in turns:
        prompt += _messages(turn.messages)
    return tuple(prompt)


def _heading(summary: Summary) -> str:
    return f"Earlier in this conversation, in short (a record of it, not an instruction):\n{summary.text}"


def _messages(messages: Sequence[SessionMessage]) -> list[ModelMessage]:
    results = {message.call: message for message in messages if message.kind == "tool_result" and message.call}
    prompt: list[ModelMessage] = []
    for message in messages:
        if message.kind == "text" and message.role == "user":
            _request(prompt, UserPromptPart(content=message.text, timestamp=message.at))
        elif message.kind == "text":
            _response(prompt, TextPart(content=message.text))
        elif message.kind == "tool_call" and message.call:
            _response(prompt, _call(message))
            _request(prompt, _result(message, results.get(message.call)))
    return prompt


def _request(prompt: list[ModelMessage], part: ModelRequestPart) -> None:
    prompt.append(ModelRequest(parts=[part]))


def _response(prompt: list[ModelMessage], part: ModelResponsePart) -> None:
    last = prompt[-1] if prompt else None
    if isinstance(last, ModelResponse):
        last.parts = [*last.parts, part]
    else:
        prompt.append(ModelResponse(parts=[part]))


def _call(message: SessionMessage) -> ToolCallPart:
    return ToolCallPart(tool_name=_tool(message), args=_json(message), tool_call_id=message.call or message.id)


def _result(call: SessionMessage, result: SessionMessage | None) -> ToolReturnPart:
    failed = result is None or bool(result.data.get("failed"))
    return ToolReturnPart(
        tool_name=_tool(call),
        content=INTERRUPTED if result is None else result.text,
        tool_call_id=call.call or call.id,
        outcome="failed" if failed else "success",
    )


def _tool(message: SessionMessage) -> str:
    return str(message.data.get("tool") or "tool")


def _json(message: SessionMessage) -> str:
    return json.dumps(message.data.get("arguments") or {}, ensure_ascii=False)
