"""
One turn of our own agent: from what somebody said to what is learned of it.

The user's words, each tool call before it starts, each result and the reply are kept as they happen, so that a process that is
killed loses nothing it acknowledged and runs nothing twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

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
from commonplace.agent.live_session import LiveSession, Player, Prompt, Tail
from commonplace.agent.live_sessions import COMPACTED, said
from commonplace.agent.memory.backend import HiddenEvent, Recalled
from commonplace.agent.prompt import PromptParts, instructions
from commonplace.agent.rooms import profile_reader
from commonplace.agent.summarise import by_model
from commonplace.agent.tools.calls import RETRIES, CallHandlers, make_toolset
from commonplace.agent.turn_course import Equipment, TurnCourse, TurnParts
from commonplace.errors import Forbidden, InvalidInput
from commonplace.ports.chat import ChatModel, ChatModelRegistry, ChatTask
from commonplace.text.scrub import scrub
from commonplace.values.agent_profile import APPROVAL_MODES, AgentProfile, approval_mode
from commonplace.values.json import Json
from commonplace.values.principal import Principal
from commonplace.values.session_state import SessionMode, SessionOptions
from commonplace.values.turn_event import HistoryCompacted, StopReason, TurnUsage

_LIMIT_REACHED: Final = "I stopped here: this turn has used up the requests or tokens that it may. Ask me to go on."
_TOO_MUCH: Final = "I stopped here: I was saying far more than anybody reads. Ask me for less."
MODES: Final = (
    SessionMode(id="plan", name="Plan", description="Read and plan; change nothing."),
    SessionMode(id="default", name="Ask", description="Ask before every call that changes something."),
    SessionMode(
        id="auto-edit", name="Edit", description="Edit files of the workspace unasked; ask before anything else."
    ),
    SessionMode(id="yolo", name="Never ask", description="Ask nothing. Only where the operator allows it."),
)
_STOPS: Final[dict[str, StopReason]] = {"length": "max_tokens", "content_filter": "refusal"}


MakeTask = Callable[[LiveSession, Prompt, str | None], ChatTask]


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopParts(TurnParts):
    """`task` says which model a turn has and who pays for it, `profile_of` reads an agent's row."""

    models: ChatModelRegistry
    task: MakeTask
    profile_of: Callable[[Principal, str], Awaitable[AgentProfile]]


class TurnLoop(Player):
    """Plays the turns of our own agent."""

    def __init__(self, parts: LoopParts) -> None:
        self._parts = parts

    async def play(self, live: LiveSession, prompt: Prompt) -> Tail | None:
        return await _Turn(self._parts, live, prompt).play()

    async def options(self, live: LiveSession, who: Principal) -> SessionOptions:
        profile = await self._parts.profile_of(profile_reader(who, live.session), live.session.agent)
        models = self._parts.models
        return SessionOptions(
            mode=live.mode or profile.approval,
            modes=MODES,
            model=models.name_of(live.session.model, profile.model),
            models=tuple(models.names),
            context=self._parts.limits.window,
        )

    async def configure(self, live: LiveSession, who: Principal, *, mode: str | None, model: str | None) -> None:
        if model is not None:
            self._parts.models.name_of(model)
        if mode is None:
            return
        if (approval := approval_mode(mode)) is None:
            raise InvalidInput(f"The mode of a session is one of: {', '.join(APPROVAL_MODES)}.")
        profile = await self._parts.profile_of(profile_reader(who, live.session), live.session.agent)
        if profile.approval == "plan" and approval != "plan" and who.role != "admin":
            raise Forbidden("This agent only plans. An admin can change that in the agent's settings.")
        live.permissions_of(who).mode = approval


class _Turn(TurnCourse):
    def __init__(self, parts: LoopParts, live: LiveSession, prompt: Prompt) -> None:
        super().__init__(parts, live, prompt)
        self._loop = parts

    async def _played(self) -> Tail:
        loop, live, prompt = self._loop, self._live, self._prompt
        await self._record.keep(said(prompt))
        async with (
            loop.equip(live, prompt) as equipment,
            loop.models.open(loop.task(live, prompt, equipment.model)) as chat,
        ):
            self._usage = TurnUsage(model=chat.name)
            self._tell_start(chat.name)
            recalled = await self._recall(equipment)
            try:
                messages = await self._messages(equipment, recalled, chat)
                reply, stop = await self._run(chat, equipment, recalled, messages)
            finally:
                self._count(chat)
            await self._finish(reply, stop)
        return self._tail(equipment, reply)

    async def _stopped(self) -> None:
        """The model is asked in this task: it has stopped with it."""

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
            rules=self._rules,
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
                        messages = event.result.new_messages()
                        self._context_tokens = _last_tokens(messages)
                        return event.result.output, _stop_reason(messages)
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

    def _count(self, chat: ChatModel) -> None:
        spent = chat.spent
        self._usage = TurnUsage(
            model=chat.name,
            requests=spent.calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_tokens=spent.cached_tokens,
            thought_tokens=spent.thought_tokens,
            cost_micro_usd=spent.cost_micro_usd,
        )


def _last_tokens(messages: Sequence[ModelMessage]) -> int:
    """What the last call to the model took: about what the next one begins with."""
    last = messages[-1] if messages else None
    return last.usage.input_tokens + last.usage.output_tokens if isinstance(last, ModelResponse) else 0


def _stop_reason(messages: Sequence[ModelMessage]) -> StopReason:
    last = messages[-1] if messages else None
    return _STOPS.get(last.finish_reason or "", "end_turn") if isinstance(last, ModelResponse) else "end_turn"
