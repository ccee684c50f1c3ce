"""An agent that does what a test wrote for it, for the tests of whatever talks to one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from commonplace.compose.stores import SystemClock
from commonplace.errors import NotFound
from commonplace.events.ring import Ring, RingEvent
from commonplace.ports.agent_client import AgentClient
from commonplace.values.permission import (
    PermissionAnswer,
    PermissionRequest,
    PermissionVote,
    PermissionVoteChoice,
)
from commonplace.values.session_state import LiveSessionSummary, QueuedPrompt, SessionMode, SessionOptions, SessionState
from commonplace.values.turn_event import (
    MemoryLearned,
    ModeChanged,
    ModelChanged,
    PermissionAnswered,
    PermissionAsked,
    SessionEvent,
    TextAdded,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    TurnTicket,
    TurnUsage,
)

HANG: Final = "hang"
"""The turn goes on until somebody cancels it."""

Step: TypeAlias = "TurnEvent | Literal['hang']"


class ScriptedAgentClient(AgentClient):
    """
    The script has the steps of each turn, between its beginning and its end; a `MemoryLearned` is told after the end, and a
    `TurnFailed` is the end. `prompts` are what it was told, with the model that was asked for; `answers` the permissions it got.
    """

    model: Final = "scripted"

    def __init__(self, *script: Sequence[Step]) -> None:
        self._script = list(script)
        self._rings: dict[str, Ring[TurnEvent]] = {}
        self._waiting: dict[str, tuple[PermissionRequest, asyncio.Future[PermissionAnswer]]] = {}
        self._turn: asyncio.Task[None] | None = None
        self._running: TurnStarted | None = None
        self.options = SessionOptions(
            mode="default",
            modes=(SessionMode(id="default", name="Ask"), SessionMode(id="plan", name="Plan")),
            model=self.model,
            models=(self.model, "other"),
        )
        self.prompts: list[tuple[str, str | None]] = []
        self.answers: list[PermissionAnswer] = []

    async def say(self, session: str, text: str, *, model: str | None = None) -> TurnTicket:
        assert self._script, "The script has no turn left."
        self.prompts.append((text, model))
        run = f"run-{len(self.prompts)}"
        last = self._ring(session).position
        started = TurnStarted(run=run, session=session, text=text, model=model or self.model, speaker="local")
        before = self._turn if self._turn is not None and not self._turn.done() else None
        self._turn = asyncio.create_task(self._play(self._ring(session), started, self._script.pop(0), before))
        return TurnTicket(run=run, before=int(before is not None), last_event=last)

    async def hear(self, session: str, *, after: int | None = None) -> AsyncGenerator[SessionEvent]:
        async for entry in self._ring(session).follow(after):
            if isinstance(entry, RingEvent):
                yield SessionEvent(id=entry.id, event=entry.event)

    async def cancel_turn(self, session: str) -> bool:
        del session
        if self._turn is None or self._turn.done():
            return False
        self._turn.cancel()
        return True

    async def withdraw_turn(self, session: str, run: str) -> bool:
        del session, run
        return False

    async def live_sessions(self, *, everyone: bool = False) -> Sequence[LiveSessionSummary]:
        del everyone
        return ()

    async def session_state(self, session: str) -> SessionState:
        running = self._running
        prompt = running and QueuedPrompt(
            run=running.run, text=running.text, at=SystemClock().now(), state="running", speaker="local"
        )
        return SessionState(
            session=session,
            options=self.options,
            prompts=(prompt,) if prompt else (),
            permissions=tuple(request for request, _ in self._waiting.values()),
        )

    async def configure_session(
        self, session: str, *, mode: str | None = None, model: str | None = None
    ) -> SessionState:
        before = self.options
        self.options = replace(before, mode=mode or before.mode, model=model or before.model)
        if mode not in (None, before.mode):
            self._ring(session).publish(ModeChanged(mode=self.options.mode, previous=before.mode, by="local"))
        if model not in (None, before.model):
            self._ring(session).publish(ModelChanged(model=self.options.model, previous=before.model, by="local"))
        return await self.session_state(session)

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        del session
        return [request for request, _ in self._waiting.values()]

    async def answer_permission(self, session: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        del session
        if request not in self._waiting:
            raise NotFound("Nothing of that id waits for an answer.")
        if choice == "cancel":
            answer = PermissionAnswer(request=request, choice="reject_once", voter="local", decided_by="cancelled")
        else:
            answer = PermissionAnswer(request=request, choice=choice, voter="local", votes={"local": choice})
        self._waiting.pop(request)[1].set_result(answer)
        return PermissionVote(request=request, outcome="resolved", choice=choice, answer=answer)

    def _ring(self, session: str) -> Ring[TurnEvent]:
        return self._rings.setdefault(session, Ring(SystemClock()))

    async def _play(
        self, ring: Ring[TurnEvent], started: TurnStarted, steps: Sequence[Step], before: asyncio.Task[None] | None
    ) -> None:
        if before is not None:
            await asyncio.wait({before})
        usage = TurnUsage(model=started.model, requests=1, input_tokens=10, output_tokens=5)
        reply: list[str] = []
        self._running = started
        ring.publish(started)
        try:
            for step in steps:
                if isinstance(step, TurnFailed):
                    self._running = None
                    ring.publish(step)
                    return
                if not isinstance(step, MemoryLearned):
                    await self._do(ring, step)
                reply += [step.text] if isinstance(step, TextAdded) else []
        except asyncio.CancelledError:
            cut = TurnEnded(run=started.run, reply="".join(reply), stop_reason="cancelled", usage=usage)
            self._running = None
            ring.publish(cut)
            return
        self._running = None
        ring.publish(TurnEnded(run=started.run, reply="".join(reply), stop_reason="end_turn", usage=usage))
        learned = [step for step in steps if isinstance(step, MemoryLearned)]
        ring.publish(learned[0] if learned else MemoryLearned())

    async def _do(self, ring: Ring[TurnEvent], step: Step) -> None:
        if step == HANG:
            await asyncio.Event().wait()
        elif isinstance(step, PermissionAsked):
            answer: asyncio.Future[PermissionAnswer] = asyncio.get_running_loop().create_future()
            self._waiting[step.request.id] = (step.request, answer)
            ring.publish(step)
            self.answers.append(await answer)
            ring.publish(PermissionAnswered(answer=self.answers[-1]))
        elif not isinstance(step, str):
            ring.publish(step)
