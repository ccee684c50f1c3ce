"""
What a turn leaves behind as it goes: messages in the history, events in its run, and what its listeners hear.

What must survive is kept before it is told. The ring of the listeners is in memory and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from commonplace.agent.memory.backend import HiddenEvent, TurnEntry
from commonplace.agent.run_log import TurnRun
from commonplace.agent.tools.calls import ToolCall
from commonplace.agent.tools.tool import PlanEntry, ToolResult
from commonplace.events.ring import Ring
from commonplace.ports.clock import Clock
from commonplace.values.json import Json
from commonplace.values.moment import new_id
from commonplace.values.permission import PermissionAnswer, PermissionRequest
from commonplace.values.principal import Principal
from commonplace.values.session import MessageDraft, MessageKind, MessageRole, SessionMessage
from commonplace.values.turn_event import (
    PermissionAnswered,
    PermissionAsked,
    PlanChanged,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
    TurnEvent,
)

_ARGUMENTS: Final = 20_000
"""Characters of a call's argument that a run and a listener are told; the history has it whole."""

LONGEST_REPLY: Final = 1_000_000
"""Characters that a model says and thinks in a turn. One that says more is out of its mind, and everybody who listens would have to hear it."""

_RESULT: Final = 4_000
"""Characters of a result that a run has; as above."""


class MessageLog(Protocol):
    """Where messages are kept: `service/history.History`."""

    async def append(self, who: Principal, session: str, drafts: Sequence[MessageDraft]) -> list[SessionMessage]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnPlace:
    """Where a turn is played: by whom it was asked for, in which session, and as which run."""

    who: Principal
    session: str
    run: str


class TurnRecord:
    """`messages` are those of the session so far, to which what is kept is added. `entries` are what happened, in order."""

    def __init__(
        self,
        place: TurnPlace,
        *,
        log: MessageLog,
        run: TurnRun,
        ring: Ring[TurnEvent],
        clock: Clock,
        messages: list[SessionMessage],
    ) -> None:
        self._place = place
        self._log = log
        self.run = run
        self._ring = ring
        self._clock = clock
        self._messages = messages
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._size = 0
        self.entries: list[TurnEntry] = []
        self.replies: list[str] = []

    @property
    def unfinished(self) -> str:
        """What was said since the last message that is kept."""
        return "".join(self._text)

    def tell(self, event: TurnEvent) -> None:
        """Let the listeners hear it."""
        self._ring.publish(event)

    @property
    def is_full(self) -> bool:
        """Whether the model has said as much as it may in a turn."""
        return self._size >= LONGEST_REPLY

    def say(self, text: str) -> None:
        """A piece of what the agent says."""
        if text := self._room(text):
            self._text.append(text)
            self.tell(TextAdded(text=text))

    def think(self, text: str) -> None:
        if text := self._room(text):
            self._thoughts.append(text)
            self.tell(ThinkingAdded(text=text))

    def close(self, text: str) -> None:
        """What we say ourselves at the end of what it said, whatever its length."""
        text = f"\n\n{text}" if self.unfinished else text
        self._text.append(text)
        self.tell(TextAdded(text=text))

    def _room(self, text: str) -> str:
        text = text[: max(0, LONGEST_REPLY - self._size)]
        self._size += len(text)
        return text

    async def keep(self, *drafts: MessageDraft) -> None:
        messages = await self._log.append(self._place.who, self._place.session, drafts)
        last = self._messages[-1].position if self._messages else 0
        # One that was kept before stands there already.
        self._messages.extend(message for message in messages if message.context_visible and message.position > last)

    async def hide(self, *events: HiddenEvent) -> None:
        """Keep what no prompt has and no search finds."""
        if events:
            await self.keep(
                *(self._draft("event", "event", event.name, data=event.data, visible=False) for event in events)
            )

    async def flush(self, *events: HiddenEvent, partial: bool = False) -> None:
        """Keep what was thought and said since the last message, and these events behind it."""
        drafts: list[MessageDraft] = []
        if thought := "".join(self._thoughts).strip():
            drafts.append(self._draft("assistant", "thinking", thought))
        if text := self.unfinished.strip():
            self.replies.append(text)
            drafts.append(self._draft("assistant", "text", text, data={"partial": True} if partial else {}))
        drafts += [self._draft("event", "event", event.name, data=event.data, visible=False) for event in events]
        self._text.clear()
        self._thoughts.clear()
        if drafts:
            await self.keep(*drafts)

    # ---- tool calls

    async def started(self, call: ToolCall) -> None:
        """Keep the call, whole, before it runs."""
        await self.flush()
        data: dict[str, Json] = {"tool": call.tool, "kind": call.kind, "arguments": dict(call.arguments)}
        await self.keep(self._draft("assistant", "tool_call", call.title, data=data, call=call.id))
        event = ToolStarted(
            call=call.id, tool=call.tool, kind=call.kind, title=call.title, arguments=_short(call.arguments)
        )
        payload: dict[str, Json] = {
            "call": call.id,
            "tool": call.tool,
            "title": call.title,
            "arguments": {**event.arguments},
        }
        self.run.note("tool_started", payload)
        self.entries.append(event)
        self.tell(event)

    async def ended(self, call: ToolCall, result: ToolResult) -> None:
        data: dict[str, Json] = {"tool": call.tool, "failed": result.failed}
        if result.diff is not None:
            data["diff"] = result.diff
        await self.keep(self._draft("tool", "tool_result", result.text, data=data, call=call.id))
        text = result.text[:_RESULT]
        self.run.note("tool_ended", {"call": call.id, "tool": call.tool, "failed": result.failed, "text": text})
        event = ToolEnded(call=call.id, tool=call.tool, text=result.text, failed=result.failed, diff=result.diff)
        self.entries.append(event)
        self.tell(event)
        if result.plan is not None:
            self.plan(result.plan)

    def plan(self, entries: tuple[PlanEntry, ...]) -> None:
        """The plan is this one from now on."""
        plan = PlanChanged(entries=entries)
        self.entries.append(plan)
        self.tell(plan)

    # ---- permissions

    async def asked(self, request: PermissionRequest) -> None:
        """Keep that somebody is asked; the mediator tells it."""
        data: dict[str, Json] = {
            "request": request.id,
            "call": request.call,
            "tool": request.tool,
            "rule": request.rule,
        }
        await self.hide(HiddenEvent(name="permission_asked", data=data))
        self.run.note("permission_asked", {**data, "title": request.title}, status="awaiting_approval")
        self.entries.append(PermissionAsked(request=request))

    async def answered(self, answer: PermissionAnswer) -> None:
        """Keep what was decided, as it holds for the speaker; the mediator has told it."""
        data: dict[str, Json] = {
            "request": answer.request,
            "choice": answer.choice,
            "voter": answer.voter,
            "reason": answer.reason,
            "decided_by": answer.decided_by,
        }
        await self.hide(HiddenEvent(name="permission_answered", data=data))
        self.run.note("permission_answered", data, status="running")
        self.entries.append(PermissionAnswered(answer=answer))

    def _draft(
        self,
        role: MessageRole,
        kind: MessageKind,
        text: str,
        *,
        data: Mapping[str, Json] | None = None,
        call: str | None = None,
        visible: bool = True,
    ) -> MessageDraft:
        return MessageDraft(
            id=new_id(self._clock.now()),
            role=role,
            kind=kind,
            text=text,
            data=data or {},
            run=self._place.run,
            call=call,
            context_visible=visible,
        )


def _short(arguments: Mapping[str, Json]) -> dict[str, Json]:
    return {
        name: f"{value[:_ARGUMENTS]}…" if isinstance(value, str) and len(value) > _ARGUMENTS else value
        for name, value in arguments.items()
    }
