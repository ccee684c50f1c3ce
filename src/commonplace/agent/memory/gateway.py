"""
The memory of an agent at a gateway: searched before a turn, told the turn afterwards.

What the gateway finds is reference data. It is one message of the turn, fenced like everything that is recalled, never a part of the system
prompt and never kept. What the gateway is told are two messages, what the person said and what they were answer_time, and nothing of what
happened between.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from commonplace.agent.memory.backend import RULE, FinishedTurn, HiddenEvent, Persisted, Recalled, TurnContext
from commonplace.agent.memory.gateway_client import GatewayError, GatewayMessage, GatewayResult, MemoryGatewayClient
from commonplace.text.fence import CLOSE, OPEN, POLICY, entry, name
from commonplace.values.json import Json
from commonplace.values.turn_event import RecalledMemory

SENDER: Final = "commonplace"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class MemoryGatewayBackend:
    """A `MemoryBackend`. A gateway that fails leaves the turn as it is, and an event that says so."""

    name: str = "memory_gateway"

    def __init__(self, client: MemoryGatewayClient) -> None:
        self._client = client

    async def recall_before_run(self, turn: TurnContext) -> Recalled:
        try:
            results = await self._client.search(turn.session, turn.text)
        except GatewayError as error:
            return Recalled(rule=RULE, events=(_event("recall_failed", **error.data),))
        scope = list[Json](self._client.options.scope)
        return Recalled(
            rule=RULE,
            reference=_reference(results),
            memories=tuple(_memory(result) for result in results),
            events=(_event("recall_succeeded", scope=scope, result_count=len(results)),),
        )

    async def end_session(self, turn: TurnContext) -> Persisted:
        del turn
        return Persisted()

    async def persist_after_run(self, turn: TurnContext, finished: FinishedTurn) -> Persisted:
        session = f"chat:{turn.session}"
        messages = _messages(self._client.options.user_id, turn, finished)
        try:
            await self._client.add(session, messages)
        except GatewayError as error:
            return Persisted(events=(_event("add_failed", **error.data),))
        success = _event("add_succeeded", session_id=session, message_count=len(messages))
        try:
            await self._client.flush(session)
        except GatewayError as error:
            return Persisted(events=(success, _event("flush_failed", **error.data, add_succeeded=True)))
        return Persisted(events=(success, _event("flush_succeeded", session_id=session)))

    async def aclose(self) -> None:
        await self._client.aclose()


def _event(what: str, **data: Json) -> HiddenEvent:
    return HiddenEvent(name=f"memory_gateway_{what}", data=data)


def _messages(user: str, turn: TurnContext, finished: FinishedTurn) -> list[GatewayMessage]:
    question_time = max(_milliseconds(turn.at), 1)
    # Clocks are set back now and then; an answer is never older than its question.
    answer_time = max(_milliseconds(finished.at), question_time + 1)
    return [
        GatewayMessage(sender_id=user, role="user", timestamp=question_time, content=turn.text),
        GatewayMessage(sender_id=SENDER, role="assistant", timestamp=answer_time, content=finished.reply),
    ]


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


def _reference(results: Sequence[GatewayResult]) -> str | None:
    if not results:
        return None
    return "\n".join([OPEN, POLICY, *(entry(f"{_label(result)} ", result.text) for result in results), CLOSE])


def _label(result: GatewayResult) -> str:
    """What the gateway says of it, on one line. It stands behind none of it."""
    labels = {
        "id": result.id,
        "session_id": result.session_id,
        "score": None if result.score is None else f"{result.score:g}",
        "source_scope": result.source_scope,
        "resource_uri": result.resource_uri,
    }
    parts = [f"{field} {name(value)[:255]}" for field, value in labels.items() if value]
    return f"[{', '.join([*parts, 'untrusted'])}]"


def _memory(result: GatewayResult) -> RecalledMemory:
    return RecalledMemory(
        id=result.id or "",
        text=result.text,
        relevance=result.score,
        scope=result.source_scope,
        source=result.resource_uri or result.session_id,
    )
