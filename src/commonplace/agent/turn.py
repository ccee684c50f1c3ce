"""
One turn: from what somebody said to what is learned of it.

The user's words, each tool call before it starts, each result and the reply are kept as they happen, so that a process that is
killed loses nothing it acknowledged and runs nothing twice. Whatever goes wrong ends the turn, with a sentence in the stream; the
session goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Final

import anyio
from pydantic_ai import Agent, UsageLimitExceeded, UsageLimits
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    UserPromptPart,
)
from pydantic_ai.run import AgentRunResultEvent

from commonplace.agent.compaction import compact
from commonplace.agent.live_session import LiveSession, Prompt, Tail
from commonplace.agent.live_sessions import COMPACTED, said
from commonplace.agent.memory.backend import FinishedTurn, HiddenEvent, MemoryBackend, Recalled, TurnContext
from commonplace.agent.prompt import PromptParts, instructions
from commonplace.agent.record import MessageLog, TurnPlace, TurnRecord
from commonplace.agent.run_log import TurnRun
from commonplace.agent.summarise import by_model
from commonplace.agent.tools.calls import RETRIES, CallHandlers, CallLimits, ServerTools, make_toolset
from commonplace.agent.tools.tool import AgentTool
from commonplace.errors import CommonplaceError, InternalError, TimedOut
from commonplace.ports.chat import ChatModel, ChatModelRegistry, ChatTask
from commonplace.ports.clock import Clock
from commonplace.text.scrub import scrub
from commonplace.values.json import Json
from commonplace.values.permission import PermissionAnswer, PermissionRequest
from commonplace.values.turn_event import (
    HistoryCompacted,
    MemoryLearned,
    MemoryRecalled,
    RecalledMemory,
    StopReason,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    TurnUsage,
)

LOGGER: Final = logging.getLogger("commonplace")
_LAST_WORDS: Final = 1.5
"""Seconds to keep what a cancelled turn has said so far."""
_LIMIT_REACHED: Final = "I stopped here: this turn has used up the requests or tokens that it may. Ask me to go on."
_TOO_MUCH: Final = "I stopped here: I was saying far more than anybody reads. Ask me for less."
_TOO_LONG: Final = "The turn took longer than it may, and was stopped. Ask for less at once."
_STOPS: Final[dict[str, StopReason]] = {"length": "max_tokens", "content_filter": "refusal"}


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
MakeTask = Callable[[LiveSession, Prompt, str | None], ChatTask]


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopParts:
    """`equip` makes what a turn needs, `task` says which model and who pays for it, `open_run` begins its run."""

    log: MessageLog
    clock: Clock
    models: ChatModelRegistry
    equip: Equip
    task: MakeTask
    open_run: Callable[[LiveSession, Prompt], TurnRun]
    limits: TurnLimits = field(default_factory=TurnLimits)


class TurnLoop:
    """`play` is what a `LiveSession` plays its turns with."""

    def __init__(self, parts: LoopParts) -> None:
        self._parts = parts

    async def play(self, live: LiveSession, prompt: Prompt) -> Tail | None:
        return await _Turn(self._parts, live, prompt).play()


class _Turn:
    def __init__(self, parts: LoopParts, live: LiveSession, prompt: Prompt) -> None:
        self._parts = parts
        self._live = live
        self._prompt = prompt
        self._permissions = live.permissions_of(prompt.who)
        self._usage = TurnUsage(model="none")
        self._record = TurnRecord(
            TurnPlace(who=prompt.who, session=live.session.id, run=prompt.run),
            log=parts.log,
            run=parts.open_run(live, prompt),
            ring=live.ring,
            clock=parts.clock,
            messages=live.messages,
        )

    async def play(self) -> Tail | None:
        """The whole turn. Whatever goes wrong is told; nothing is raised."""
        try:
            try:
                async with asyncio.timeout(self._parts.limits.seconds):
                    return await self._converse()
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

    # ---- the way of a turn

    async def _converse(self) -> Tail:
        parts, live, prompt, record = self._parts, self._live, self._prompt, self._record
        await record.keep(said(prompt))
        async with (
            parts.equip(live, prompt) as equipment,
            parts.models.open(parts.task(live, prompt, equipment.model)) as chat,
        ):
            self._usage = TurnUsage(model=chat.name)
            started: dict[str, Json] = {"model": chat.name, "text": prompt.text, "speaker": prompt.who.subject}
            record.run.note("session_run_started", started, status="running")
            record.tell(
                TurnStarted(
                    run=prompt.run,
                    session=live.session.id,
                    text=prompt.text,
                    model=chat.name,
                    speaker=prompt.who.subject,
                )
            )
            recalled = await self._recall(equipment)
            try:
                messages = await self._messages(equipment, recalled, chat)
                reply, stop = await self._run(chat, equipment, recalled, messages)
            finally:
                self._count(chat)
            await self._finish(reply, stop)
        return self._tail(equipment, reply)

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

    async def _messages(
        self, equipment: Equipment, recalled: Sequence[Recalled], chat: ChatModel
    ) -> list[ModelMessage]:
        """Skill activations, the recalled block, history."""
        live, limits = self._live, self._parts.limits
        earlier = [message for message in live.messages if message.run != self._prompt.run]
        history = await compact(earlier, limits.window, live.summary, summarise=by_model(chat))
        if history.new and history.summary is not None:
            live.summary = history.summary
            data: dict[str, Json] = {
                "upto": history.summary.upto,
                "text": history.summary.text,
                "by": history.summary.by,
            }
            await self._record.hide(HiddenEvent(name=COMPACTED, data=data))
            self._record.tell(HistoryCompacted(messages=history.new, by=history.summary.by))
        head = [scrub(text).text for text in equipment.active_skills]
        head += [part.reference for part in recalled if part.reference]
        return [*(ModelRequest(parts=[UserPromptPart(content=text)]) for text in head), *history.messages]

    async def _run(
        self, chat: ChatModel, equipment: Equipment, recalled: Sequence[Recalled], messages: Sequence[ModelMessage]
    ) -> tuple[str, StopReason]:
        """The model and its tools, until it has answered."""
        limits, record = self._parts.limits, self._record
        handlers = CallHandlers(
            started=record.started,
            ended=record.ended,
            ask=self._ask,
            rules=self._permissions,
            limits=limits.calls,
        )
        agent = Agent(
            chat.model,
            name="commonplace",
            instructions=instructions(
                PromptParts(
                    persona=equipment.persona,
                    rules=tuple(dict.fromkeys(part.rule for part in recalled if part.rule)),
                    sections=tuple(section for part in recalled for section in part.sections),
                    skills=equipment.skills,
                    resources=equipment.resources,
                )
            ),
            toolsets=[make_toolset(equipment.tools, handlers, equipment.servers)],
            retries=RETRIES,
        )
        usage = UsageLimits(request_limit=limits.requests, total_tokens_limit=limits.tokens)
        with agent.parallel_tool_call_execution_mode("sequential"), suppress(UsageLimitExceeded):
            async with agent.run_stream_events(
                self._prompt.text, message_history=messages, usage_limits=usage
            ) as events:
                async for event in events:
                    if isinstance(event, AgentRunResultEvent):
                        return event.result.output, _stop_reason(event.result.new_messages())
                    self._hear(event)
                    if record.is_full:
                        break
        record.close(_TOO_MUCH if record.is_full else _LIMIT_REACHED)
        return record.unfinished, "max_tokens" if record.is_full else "max_turn_requests"

    def _hear(self, event: AgentStreamEvent) -> None:
        """A piece of text or of thought; calls are told where they are made."""
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._record.say(text)
            case (
                PartStartEvent(part=ThinkingPart(content=text))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text)))
            ):
                self._record.think(text)
            case _:
                pass

    async def _ask(self, request: PermissionRequest) -> PermissionAnswer:
        await self._record.flush()
        await self._record.asked(request)
        answer = await self._permissions.ask(request)
        await self._record.answered(answer)
        return answer

    # ---- its end

    def _count(self, chat: ChatModel) -> None:
        spent = chat.spent
        self._usage = TurnUsage(
            model=chat.name,
            requests=spent.calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_micro_usd=spent.cost_micro_usd,
        )

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
            self._permissions.cancel()
            reply = self._record.unfinished
            await self._record.flush(HiddenEvent(name="turn_ended", data={"stop_reason": "cancelled"}), partial=True)
            self._record.run.note("run_cancelled", {"status": "cancelled"}, status="cancelled")
            await self._record.run.settle()
            self._record.tell(TurnEnded(run=self._prompt.run, reply=reply, stop_reason="cancelled", usage=self._usage))

    async def _fail(self, error: CommonplaceError) -> None:
        failure = self._failure(error)
        data: dict[str, Json] = {"code": failure.code, "message": failure.message}
        try:
            await self._record.flush(HiddenEvent(name="turn_failed", data=data), partial=True)
            self._record.run.note("session_run_finished", {**data, "status": "failed"}, status="failed")
            await self._record.run.settle()
        except CommonplaceError as fault:
            LOGGER.warning("the failure of a turn could not be kept: %s", fault.code)
        self._record.tell(failure)

    def _failure(self, error: CommonplaceError) -> TurnFailed:
        return TurnFailed(run=self._prompt.run, code=error.code, message=error.message, usage=self._usage)


async def _kept_going(work: Tail, run: str) -> None:
    """The top of a worker: the reply stands, whatever becomes of what it leaves behind."""
    try:
        await work()
    except Exception as error:
        LOGGER.error("unexpected", exc_info=error, extra={"told": {"run": run}})


def _stop_reason(messages: Sequence[ModelMessage]) -> StopReason:
    last = messages[-1] if messages else None
    return _STOPS.get(last.finish_reason or "", "end_turn") if isinstance(last, ModelResponse) else "end_turn"
