"""An agent for tests: its model plays a script, its store is a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from pydantic_ai.models import Model

from commonplace.agent.live_session import LiveSession, PermissionParts, Player, Prompt
from commonplace.agent.live_sessions import LiveSessions, SessionParts
from commonplace.agent.local_agent import LocalAgent
from commonplace.agent.mediator import MediatorOptions
from commonplace.agent.memory.backend import MemoryBackend, TurnContext
from commonplace.agent.permissions import Permissions
from commonplace.agent.rooms import RoomRegistry
from commonplace.agent.run_log import TurnRun
from commonplace.agent.session_claims import ClaimedHistory, SessionClaims
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.turn import LoopParts, TurnLoop
from commonplace.agent.turn_course import Equipment, TurnLimits
from commonplace.jobs.leases import worker_name
from commonplace.llms.chat import ChatModels
from commonplace.llms.choose import ModelOptions
from commonplace.llms.librarian.model import Librarian
from commonplace.ports.chat import ChatTask
from commonplace.service.local import LocalMemory
from commonplace.service.services import Services
from commonplace.testing.chat import ScriptedChatModel
from commonplace.values.permission_entry import PermissionEntry
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.run import RunDraft
from commonplace.values.session import Session
from commonplace.values.session_lease import LeaseHolder
from commonplace.values.turn_event import MemoryLearned, TurnEnded, TurnEvent, TurnFailed

WHO = Principal(subject=LOCAL, tenant="default/default", role="admin", operator=True, loopback=True)
_PATIENCE = 30.0


@dataclass
class TurnBench:
    """A session with a scripted model. Change what it has before the first turn."""

    services: Services
    model: Model = field(default_factory=lambda: ScriptedChatModel(then="Done."))
    tools: Sequence[AgentTool] = ()
    backends: tuple[MemoryBackend, ...] = ()
    limits: TurnLimits = field(default_factory=TurnLimits)
    permissions: Callable[[], Permissions] = Permissions
    rooms: RoomRegistry = field(default_factory=RoomRegistry)
    mediator: MediatorOptions = field(default_factory=MediatorOptions)
    sessions: LiveSessions | None = None
    claims: SessionClaims | None = None
    """As another bench over the same store has it that stands for another process."""
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def memory(self) -> LocalMemory:
        return LocalMemory(self.services, WHO)

    @property
    def agent(self) -> LocalAgent:
        if self.sessions is None:
            self.sessions = LiveSessions(
                SessionParts(
                    history=self.history,
                    permissions=PermissionParts(
                        rules=self._permissions,
                        clock=self.services.desk.clock,
                        options=self.mediator,
                        note=self._note,
                        options_of=self.rooms.permission_options,
                    ),
                    load=self.load,
                    clock=self.services.desk.clock,
                    claims=self.led,
                ),
            )
        return LocalAgent(self.sessions, WHO)

    @property
    def led(self) -> SessionClaims:
        """The sessions that this bench leads, as a process of its own."""
        if self.claims is None:
            desk = self.services.desk
            holder = LeaseHolder(process=worker_name(), url="http://127.0.0.1:4170")
            self.claims = SessionClaims(desk.store.session_leases, desk.clock, holder)
        return self.claims

    @property
    def history(self) -> ClaimedHistory:
        return ClaimedHistory(self.services.history, self.led)

    async def _note(self, tenant: str, session: Session, entries: Sequence[PermissionEntry]) -> None:
        room = self.rooms.scope(tenant, session.id)
        await self.services.permission_log.note(tenant, session, entries, room=room)

    def _permissions(self, who: Principal, session: Session) -> Permissions:
        del who, session
        return self.permissions()

    def _make(self, name: str, options: ModelOptions) -> Model:
        del name, options
        return self.model

    async def load(self) -> Player:
        desk = self.services.desk
        models = ChatModels(
            ModelOptions(model="openai:scripted"),
            desk.store,
            desk.clock,
            lambda _: Librarian(),
            make=self._make,
        )
        await self.stack.enter_async_context(models)
        parts = LoopParts(
            log=self.history,
            clock=desk.clock,
            models=models,
            equip=self.equip,
            task=_task,
            open_run=self.run,
            profile_of=self.services.owners.profile,
            limits=self.limits,
        )
        return TurnLoop(parts)

    def run(self, live: LiveSession, prompt: Prompt) -> TurnRun:
        draft = RunDraft(objective=prompt.text[:1_000], run_id=prompt.run, session=live.session.id)
        return TurnRun(self.services.runs, prompt.who, draft)

    @asynccontextmanager
    async def equip(self, live: LiveSession, prompt: Prompt) -> AsyncGenerator[Equipment]:
        session = live.session
        context = TurnContext(
            session=session.id,
            run=prompt.run,
            agent=session.agent,
            workspace=session.workspace,
            speaker=prompt.who.subject,
            text=prompt.text,
            at=prompt.at,
            memory=self.memory,
        )
        yield Equipment(context=context, backends=self.backends, tools=tuple(self.tools))

    async def session(self) -> Session:
        return await self.memory.create_session("assistant")

    async def turn(self, session: Session, text: str) -> list[TurnEvent]:
        """Say it, and hear all of the turn."""
        ticket = await self.agent.say(session.id, text)
        return await self.hear(session, ticket.last_event)

    async def hear(self, session: Session, after: int, until: type[TurnEvent] = MemoryLearned) -> list[TurnEvent]:
        """What is told from behind `after`, up to the end of a turn or an event of the type `until`."""
        events: list[TurnEvent] = []
        async with asyncio.timeout(_PATIENCE):
            async for heard in self.agent.hear(session.id, after=after):
                events.append(heard.event)
                ended = isinstance(heard.event, TurnEnded) and heard.event.stop_reason == "cancelled"
                if ended or isinstance(heard.event, TurnFailed | until):
                    break
        return events

    async def aclose(self) -> None:
        if self.sessions is not None:
            await self.sessions.aclose()
        await self.stack.aclose()


def _task(live: LiveSession, prompt: Prompt, model: str | None) -> ChatTask:
    return ChatTask(tenant=prompt.who.tenant, session=live.session.id, model_name=prompt.model or model)
