"""A turn of the agent as notes for the memory of its session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.agent.memory.backend import AuthChallenge, FinishedTurn, QuestionPrompt, TurnContext, TurnEntry
from commonplace.text.scrub import scrub
from commonplace.values.ingestion import RETENTION, Capture, IngestedKind
from commonplace.values.note import Note
from commonplace.values.permission import PermissionAnswer, PermissionRequest
from commonplace.values.record import Provenance, Trust
from commonplace.values.scope import Scope
from commonplace.values.turn_event import PermissionAnswered, PermissionAsked, PlanChanged, ToolEnded, ToolStarted

MOST_TEXT: Final = 8_000
MOST_EVENTS: Final = 200
_LINE: Final = 200
_ARGUMENTS: Final = 3_000
_RESULT: Final = 4_000
_MILLISECOND: Final = timedelta(milliseconds=1)
# A person's words are theirs, a model's are a model's, and what a tool brought came from outside.
_TRUST: Final[dict[IngestedKind, Trust]] = {"user_message": "system_generated", "tool_event": "connector_sourced"}


@dataclass(frozen=True, slots=True)
class _Event:
    kind: IngestedKind
    text: str
    speaker: str | None = None


def notes_of(turn: TurnContext, finished: FinishedTurn, capture: Capture) -> list[Note]:
    """What is to be kept of the turn, in the order it happened; nothing if it is `off`."""
    if capture == "off":
        return []
    happened = list(_events(finished.messages, full=capture == "full"))[-MOST_EVENTS:]
    events = [
        _Event("user_message", turn.text, turn.speaker),
        *happened,
        _Event("assistant_final", finished.reply, turn.agent),
    ]
    end = max(finished.at, turn.at)
    last = len(events) - 1
    # Nobody noted when each of them was; it was between the question and the answer, one after the other.
    times = [end if place == last else min(turn.at + place * _MILLISECOND, end) for place in range(len(events))]
    return [_note(turn, event, at) for event, at in zip(events, times, strict=True) if event.text.strip()]


def _note(turn: TurnContext, event: _Event, at: datetime) -> Note:
    retention = RETENTION[event.kind]
    return Note(
        # Here and not in the store: one secret must not keep all others out.
        text=_cut(scrub(_cut(event.text, 4 * MOST_TEXT)).text, MOST_TEXT),
        scope=Scope("session", turn.session),
        kind=event.kind,
        source=event.kind,
        trust=_TRUST.get(event.kind, "model_generated"),
        at=at,
        expires_at=None if retention is None else at + retention,
        session=turn.session,
        speaker=event.speaker,
        provenance=Provenance(run=turn.run),
    )


def _events(messages: Sequence[TurnEntry], *, full: bool) -> Iterator[_Event]:
    calls = {message.call: message for message in messages if isinstance(message, ToolStarted)}
    requests = {message.request.id: message.request for message in messages if isinstance(message, PermissionAsked)}
    for message in messages:
        match message:
            case ToolEnded():
                yield _Event("tool_event", _tool_text(calls.get(message.call), message, full=full))
            case PermissionAsked(request=request):
                yield _Event("approval_request", f"tool={request.tool} title={_line(request.title)}")
            case PermissionAnswered(answer=answer):
                yield _Event("approval_decision", _decision(requests.get(answer.request), answer))
            case QuestionPrompt():
                yield _Event("question_prompt", "\n".join([message.text, *(f"- {way}" for way in message.options)]))
            case AuthChallenge():
                yield _Event("auth_challenge", f"service={_line(message.service)}")
            case _:
                pass
    yield from _at_the_end(messages, calls)


def _at_the_end(messages: Sequence[TurnEntry], calls: Mapping[str, ToolStarted]) -> Iterator[_Event]:
    """Calls that were cut off, of which nobody knows how they ended, and the plan as it is by now."""
    ends = {message.call for message in messages if isinstance(message, ToolEnded)}
    for call in calls.values():
        if call.call not in ends:
            yield _Event("tool_event", f"tool={call.tool} outcome=error title={_line(call.title)} interrupted")
    plans = [message.entries for message in messages if isinstance(message, PlanChanged)]
    if plans:
        rows = [f"- [{step.get('status', 'pending')}] {_line(step.get('text', ''))}" for step in plans[-1]]
        yield _Event("plan_todos", "\n".join(rows))


def _decision(request: PermissionRequest | None, answer: PermissionAnswer) -> str:
    parts = [f"tool={request.tool if request else 'unknown'}", f"choice={answer.choice}"]
    parts += [f"by={_line(answer.voter)}"] if answer.voter else []
    parts += [f"reason={_line(answer.reason)}"] if answer.reason else []
    return " ".join(parts)


def _tool_text(call: ToolStarted | None, end: ToolEnded, *, full: bool) -> str:
    head = f"tool={end.tool} outcome={'error' if end.failed else 'ok'}"
    head += f" title={_line(call.title)}" if call is not None and call.title.strip() else ""
    if end.failed and not full:
        return f"{head} error={_line(end.text)}"
    if not full:
        return head
    arguments = (
        "" if call is None else json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True, default=str)
    )
    return f"{head}\narguments={_cut(arguments, _ARGUMENTS)}\nresult={_cut(end.text, _RESULT)}"


def _line(text: str) -> str:
    return _cut(" ".join(text[: 4 * _LINE].split()), _LINE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]} …"
