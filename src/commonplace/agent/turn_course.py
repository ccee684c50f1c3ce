"""
What every turn has in common, whoever does its work: what was said is kept, the memory is asked, an end is told and kept, and
what is to be learned follows the reply. Whatever goes wrong ends the turn, with a sentence in the stream; the session goes on.
"""

from __future__ import annotations

import asyncio
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final

import anyio

from commonplace.agent.live_session import LiveSession, Prompt, Tail
from commonplace.agent.memory.backend import FinishedTurn, HiddenEvent, MemoryBackend, Recalled, TurnContext
from commonplace.agent.record import MessageLog, TurnPlace, TurnRecord
from commonplace.agent.run_log import TurnRun
from commonplace.agent.scheduled_rules import ScheduledRules
from commonplace.agent.tools.calls import CallLimits, PermissionRules, ServerTools
from commonplace.agent.tools.tool import AgentTool
from commonplace.errors import CommonplaceError, InternalError, TimedOut
from commonplace.ports.clock import Clock
from commonplace.values.json import Json
from commonplace.values.permission import PermissionAnswer, PermissionRequest
from commonplace.values.turn_event import (
    MemoryLearned,
    MemoryRecalled,
    RecalledMemory,
    StopReason,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    TurnUsage,
    UsageChanged,
)

LOGGER: Final = logging.getLogger("commonplace")
_LAST_WORDS: Final = 1.5
"""Seconds to keep what a cancelled turn has said so far."""
_TOO_LONG: Final = "The turn took longer than it may, and was stopped. Ask for less at once."


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnLimits:
    """Of one turn: requests to the model, tokens of all of them, seconds. `window`: tokens of history that a prompt may have."""

    requests: int = 50
    tokens: int | None = 1_000_000
    seconds: float = 900.0
    window: int = 32_000
    calls: CallLimits = field(default_factory=CallLimits)


@dataclass(frozen=True, kw_only=True, slots=True)
class Equipment:
    """What the agent of a turn has: the texts of its prompt, its tools and servers, and its memory."""

    context: TurnContext
    backends: tuple[MemoryBackend, ...]
    tools: tuple[AgentTool, ...] = ()
    servers: tuple[ServerTools, ...] = ()
    persona: str | None = None
    model: str | None = None
    skills: tuple[str, ...] = ()
    active_skills: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


Equip = Callable[[LiveSession, Prompt], AbstractAsyncContextManager[Equipment]]


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnParts:
    """`equip` makes what a turn needs, `open_run` begins its run."""

    log: MessageLog
    clock: Clock
    equip: Equip
    open_run: Callable[[LiveSession, Prompt], TurnRun]
    limits: TurnLimits = field(default_factory=TurnLimits)


class TurnCourse(ABC):
    """One turn. Who does its work says how it is `_played`, and what becomes of that work on a cancel."""

    def __init__(self, parts: TurnParts, live: LiveSession, prompt: Prompt) -> None:
        self._parts = parts
        self._live = live
        self._prompt = prompt
        permissions = live.permissions_of(prompt.who)
        self._rules: PermissionRules = permissions if prompt.scheduled is None else ScheduledRules(permissions)
        self._usage = TurnUsage(model="none")
        self._context_tokens = 0
        self._context_size = parts.limits.window
        self._record = TurnRecord(
            TurnPlace(who=prompt.who, session=live.session.id, run=prompt.run),
            log=parts.log,
            run=parts.open_run(live, prompt),
            ring=live.ring,
            clock=parts.clock,
            messages=live.messages,
        )

    @abstractmethod
    async def _played(self) -> Tail | None:
        """From what was said to the reply; what is left to do then."""

    @abstractmethod
    async def _stopped(self) -> None:
        """The turn was cancelled: stop what does its work, within a second."""

    def _tell_start(self, model: str) -> None:
        prompt = self._prompt
        started: dict[str, Json] = {"model": model, "text": prompt.text, "speaker": prompt.who.subject}
        if prompt.scheduled is not None:
            started["scheduled"] = prompt.scheduled
        self._record.run.note("session_run_started", started, status="running")
        self._record.tell(
            TurnStarted(
                run=prompt.run,
                session=self._live.session.id,
                text=prompt.text,
                model=model,
                speaker=prompt.who.subject,
                client=prompt.who.client,
                scheduled=prompt.scheduled,
            )
        )

    async def play(self) -> Tail | None:
        """The whole turn. Whatever goes wrong is told; nothing is raised."""
        try:
            try:
                async with asyncio.timeout(self._parts.limits.seconds):
                    return await self._played()
            except TimeoutError:
                await self._fail(TimedOut(_TOO_LONG))
            except CommonplaceError as error:
                await self._fail(error)
        except asyncio.CancelledError:
            await self._cancelled()
        except Exception as error:
            # The top of a worker: a fault of ours costs this turn, not the session.
            LOGGER.error("unexpected", exc_info=error, extra={"told": {"run": self._prompt.run}})
            self._record.tell(self._failure(InternalError()))
        return None

    async def _recall(self, equipment: Equipment) -> list[Recalled]:
        """What the memory has to say, before the prompt is built."""
        recalled = [await backend.recall_before_run(equipment.context) for backend in equipment.backends]
        await self._record.hide(*(event for part in recalled for event in part.events))
        memories = tuple(memory for part in recalled for memory in part.memories)
        block = "\n\n".join(part.reference for part in recalled if part.reference)
        hits: list[Json] = [
            {
                "id": memory.id,
                "relevance": memory.relevance,
                "scope": memory.scope,
                "source": memory.source,
                "why": memory.why,
            }
            for memory in memories
        ]
        self._record.run.note("memory_recalled", {"hits": hits, "block": block})
        names = "+".join(backend.name for backend in equipment.backends)
        self._record.tell(MemoryRecalled(memories=memories, block=block, backend=names))
        return recalled

    async def _ask(self, request: PermissionRequest) -> PermissionAnswer:
        self._live.mediator.require_room()
        await self._record.flush()
        await self._record.asked(request)
        answer = await self._live.ask(request, self._prompt.who)
        await self._record.answered(answer)
        return answer

    # ---- its end

    async def _finish(self, reply: str, stop: StopReason) -> None:
        record, usage = self._record, self._usage
        cost: dict[str, Json] = {
            "stop_reason": stop,
            "model": usage.model,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_micro_usd": usage.cost_micro_usd,
        }
        await record.flush(HiddenEvent(name="turn_ended", data=cost))
        record.run.note("session_run_finished", {**cost, "reply": reply, "status": "completed"}, status="completed")
        record.tell(UsageChanged(usage=usage, used=self._context_tokens, size=self._context_size))
        record.tell(TurnEnded(run=self._prompt.run, reply=reply, stop_reason=stop, usage=usage))

    def _tail(self, equipment: Equipment, reply: str) -> Tail:
        finished = FinishedTurn(reply=reply, at=self._parts.clock.now(), messages=tuple(self._record.entries))

        memories: list[RecalledMemory] = []

        async def persist() -> None:
            events: list[HiddenEvent] = []
            for backend in equipment.backends:
                persisted = await backend.persist_after_run(equipment.context, finished)
                memories.extend(persisted.memories)
                events += persisted.events
            await self._record.hide(*events)
            learned: list[Json] = [{"id": memory.id, "text": memory.text} for memory in memories]
            self._record.run.note("memory_learned", {"memories": learned})
            await self._record.run.settle()

        async def end() -> None:
            for backend in equipment.backends:
                await self._record.hide(*(await backend.end_session(equipment.context)).events)

        async def tail() -> None:
            await _kept_going(persist, self._prompt.run)
            self._record.tell(MemoryLearned(memories=tuple(memories)))

        async def farewell() -> None:
            await _kept_going(end, self._prompt.run)

        self._live.farewell = farewell
        return tail

    async def _cancelled(self) -> None:
        with anyio.move_on_after(_LAST_WORDS, shield=True):
            self._live.mediator.cancel()
            try:
                await self._stopped()
            except CommonplaceError as fault:
                LOGGER.warning("the last words of a turn could not be kept: %s", fault.code)
            reply = self._record.unfinished
            try:
                ended = HiddenEvent(name="turn_ended", data={"stop_reason": "cancelled"})
                await self._record.flush(ended, partial=True)
                self._record.run.note("run_cancelled", {"status": "cancelled"}, status="cancelled")
                await self._record.run.settle()
            except CommonplaceError as fault:
                LOGGER.warning("the end of a turn could not be kept: %s", fault.code)
            self._record.tell(TurnEnded(run=self._prompt.run, reply=reply, stop_reason="cancelled", usage=self._usage))

    async def _fail(self, error: CommonplaceError) -> None:
        failure = self._failure(error)
        data: dict[str, Json] = {"code": failure.code, "message": failure.message, "retry_after": failure.retry_after}
        try:
            await self._record.flush(HiddenEvent(name="turn_failed", data=data), partial=True)
            self._record.run.note("session_run_finished", {**data, "status": "failed"}, status="failed")
            await self._record.run.settle()
        except CommonplaceError as fault:
            LOGGER.warning("the failure of a turn could not be kept: %s", fault.code)
        self._record.tell(failure)

    def _failure(self, error: CommonplaceError) -> TurnFailed:
        wait = error.details.get("retry_after")
        return TurnFailed(
            run=self._prompt.run,
            code=error.code,
            message=error.message,
            usage=self._usage,
            retry_after=math.ceil(wait) if isinstance(wait, (int, float)) else None,
        )


async def _kept_going(work: Tail, run: str) -> None:
    """The top of a worker: the reply stands, whatever becomes of what it leaves behind."""
    try:
        await work()
    except Exception as error:
        LOGGER.error("unexpected", exc_info=error, extra={"told": {"run": run}})
