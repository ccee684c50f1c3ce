"""
A session somebody uses: its turns one after the other, its listeners, and what waits for a person.

A turn can be cancelled at any moment; the session is usable afterwards. What a turn leaves in the memory is kept in its tail, after
the reply is whole, so that nobody waits for it; tails keep their order, too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from commonplace.agent.activity_watch import ActivityWatch
from commonplace.agent.attendance import Attendance
from commonplace.agent.mediator import MediatorCallbacks, MediatorOptions, PermissionMediator
from commonplace.agent.permissions import Permissions
from commonplace.agent.summary import Summary
from commonplace.agent.supplies import SessionSupplies
from commonplace.errors import Forbidden
from commonplace.events.ring import Ring
from commonplace.ports.clock import Clock
from commonplace.values.json import Json
from commonplace.values.permission import PermissionAnswer, PermissionRequest
from commonplace.values.permission_entry import PermissionEntry
from commonplace.values.principal import Principal
from commonplace.values.session import MessageDraft, Session, SessionMessage, TurnQueueFull
from commonplace.values.session_state import LiveSessionSummary, QueuedPrompt, SessionOptions
from commonplace.values.turn_event import PromptWithdrawn, TurnEvent

if TYPE_CHECKING:
    # An extra, and slow to load.
    from commonplace.agent.mcp_servers import McpServers

MOST_WAITING: Final = 5
STOP_SECONDS: Final = 2.0
TAIL_SECONDS: Final = 15.0
_NOBODY_THERE: Final = "a scheduled turn has nobody to ask"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What somebody said, and what is made of it: the `run`. `scheduled` is the schedule that said it by itself, in their name."""

    who: Principal
    run: str
    text: str
    at: datetime
    model: str | None = None
    scheduled: str | None = None


MakePermissions: TypeAlias = Callable[[Principal, Session], Permissions]
NotePermissions: TypeAlias = Callable[[str, Session, Sequence[PermissionEntry]], Awaitable[None]]
"""It is given the tenant, the session, and what to write."""


async def note_nothing(tenant: str, session: Session, entries: Sequence[PermissionEntry]) -> None:
    """For sessions that nobody keeps an audit of."""
    del tenant, session, entries


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionParts:
    """
    `rules` makes what a session remembers of the answers of one person; `options` say how requests are decided; `note` writes to the audit
    what became of them.
    """

    rules: MakePermissions
    clock: Clock
    options: MediatorOptions = field(default_factory=MediatorOptions)
    note: NotePermissions = note_nothing
    options_of: Callable[[str, Session, MediatorOptions], MediatorOptions] | None = None
    """What of the options is different for a session of a tenant, such as that of a room."""


Tail: TypeAlias = Callable[[], Awaitable[None]]


class Player(Protocol):
    """Who does the work of sessions: our own loop (`agent/turn.TurnLoop`), or an agent that we host."""

    def play(self, live: LiveSession, prompt: Prompt) -> Coroutine[Any, Any, Tail | None]:
        """Play one turn, and answer what is left to do when its reply is told. It raises nothing but cancellations."""
        ...

    async def options(self, live: LiveSession, who: Principal) -> SessionOptions:
        """What the session is set to, and what it may be set to."""
        ...

    async def configure(self, live: LiveSession, who: Principal, *, mode: str | None, model: str | None) -> None:
        """
        Have the next turns played so. Whoever calls keeps it and tells it.

        Raises:
            InvalidInput: it is not one of the `options`.
            Forbidden: this person may not choose it.
        """
        ...


class LiveSession:
    def __init__(
        self,
        session: Session,
        messages: list[SessionMessage],
        *,
        tenant: str,
        ring: Ring[TurnEvent],
        permissions: PermissionParts,
        player: Player,
    ) -> None:
        self.tenant = tenant
        self.session = session
        self.messages = messages
        self.mode: str | None = None
        """The mode that somebody chose for this session; None: the agent's own."""
        self.summary: Summary | None = None
        self.skills: dict[str, str] = {}
        """Those that are active, by name: what they say stands at the head of every prompt."""
        self.hosted: Mapping[str, Json] = {}
        """The conversation that a hosted agent knows this session as, and where it knows it."""
        self.late: list[MessageDraft] = []
        """What was said and had not begun when a process ended: kept before the next thing is said."""
        self.supplies = SessionSupplies()
        self.servers: McpServers | None = None
        self.farewell: Tail | None = None
        """What is left to do when the session ends."""
        self.stack = AsyncExitStack()
        """What is open for as long as the session is in use."""
        self.ring = ring
        self.watch: ActivityWatch | None = None
        """Sees what it does now."""
        self.attendance = Attendance()
        """Who is present: whoever listens or is attached enters it, a room adds its members."""
        self._permission_parts = permissions
        self._permissions: dict[str, Permissions] = {}
        callbacks = MediatorCallbacks(tell=ring.publish, present=lambda: self.attendance.present, note=self._note)
        self.mediator = PermissionMediator(self._permission_options(), callbacks, permissions.clock)
        """What waits for a permission, and who decides it."""
        self.player = player
        self._waiting: deque[Prompt] = deque()
        self._work: asyncio.Task[None] | None = None
        self._turn: asyncio.Task[Tail | None] | None = None
        self._stopped: asyncio.Task[Tail | None] | None = None
        """The turn that was told to end."""
        self._tails: asyncio.Task[None] | None = None
        self.door = asyncio.Lock()
        """Held by whoever says something, so that what was said first is played first."""
        self.is_stopped = False
        """Nothing that is said from now on would be played."""
        self.prompt: Prompt | None = None
        self.used_at = asyncio.get_running_loop().time()

    def is_of(self, session: Session) -> bool:
        """Whether this is that session, and not an earlier one of its id."""
        return (self.session.owner, self.session.created_at) == (session.owner, session.created_at)

    @property
    def is_busy(self) -> bool:
        return self._work is not None and not self._work.done()

    @property
    def is_idle(self) -> bool:
        """Nobody would notice if it were gone."""
        tails = self._tails
        is_used = self.is_busy or self.door.locked() or self.ring.listeners > 0
        return not is_used and (tails is None or tails.done())

    def permissions_of(self, who: Principal) -> Permissions:
        """What is remembered of the answers of one person: nobody's answer holds for what another one asks for."""
        if who.subject not in self._permissions:
            self._permissions[who.subject] = self._permission_parts.rules(who, self.session)
        return self._permissions[who.subject]

    async def ask(self, request: PermissionRequest, speaker: Principal | None = None) -> PermissionAnswer:
        """
        Have a person decide, as `PermissionMediator.ask`. Whoever plays a turn calls it with who speaks in it, and has looked before
        whether anybody needs to be asked. In a scheduled turn nobody is: it is refused.
        """
        if self.prompt is not None and self.prompt.scheduled is not None:
            answer = PermissionAnswer(
                request=request.id, choice="reject_once", reason=_NOBODY_THERE, decided_by="scheduled_turn"
            )
            details: dict[str, Json] = {
                "permission": request.id,
                "sender": self.prompt.who.subject,
                "tool": request.tool,
                "rule": request.rule,
                "choice": answer.choice,
                "decided_by": answer.decided_by,
            }
            entry = PermissionEntry(
                action="permission.resolved", who=self.prompt.who, run=self.prompt.run, details=details
            )
            await self._note([entry])
            return answer
        self.mediator.options = self._permission_options()
        return await self.mediator.ask(request, speaker=speaker, run=self.prompt.run if self.prompt else None)

    def _permission_options(self) -> MediatorOptions:
        """As they are now: a room may decide otherwise since its session was opened."""
        parts = self._permission_parts
        return parts.options if parts.options_of is None else parts.options_of(self.tenant, self.session, parts.options)

    async def _note(self, entries: Sequence[PermissionEntry]) -> None:
        await self._permission_parts.note(self.tenant, self.session, entries)

    @property
    def prompts(self) -> tuple[QueuedPrompt, ...]:
        """What is played now, and what waits for its turn."""
        running = () if self.prompt is None else (_queued(self.prompt, "running"),)
        return (*running, *(_queued(prompt, "queued") for prompt in self._waiting))

    def tell_activity(self) -> None:
        """Somebody came, or went."""
        if self.watch is not None:
            self.watch.tell_again()

    def activity(self, session: Session) -> LiveSessionSummary:
        """What it does now. `session` is how it is kept."""
        watch = self.watch
        return LiveSessionSummary(
            session=session,
            state=watch.state if watch else "idle",
            tool=watch.tool if watch else None,
            prompts=self.prompts,
            permissions=self.mediator.waiting,
            listeners=self.ring.listeners,
        )

    def require_room(self) -> None:
        """Raises TurnQueueFull."""
        if len(self._waiting) >= MOST_WAITING:
            raise TurnQueueFull(limit=MOST_WAITING, retry_after=5)

    def say(self, prompt: Prompt) -> int:
        """Take it on; answers how many turns come before it."""
        self.require_room()
        before = len(self._waiting) + (self.prompt is not None)
        self._waiting.append(prompt)
        if not self.is_busy:
            self._work = asyncio.create_task(self._turns())
        return before

    def withdraw(self, who: Principal, run: str) -> bool:
        """Take a prompt back that waits. False: it does not. Raises Forbidden: somebody else said it."""
        for prompt in self._waiting:
            if prompt.run == run:
                if who.subject not in (prompt.who.subject, self.session.owner) and who.role != "admin":
                    raise Forbidden("Somebody else said it. Only they and the owner of the session take it back.")
                self._waiting.remove(prompt)
                return True
        return False

    def require_cancel(self, who: Principal) -> None:
        """Raises Forbidden: a scheduled turn is ended by who set it, the owner of the session and admins."""
        prompt = self.prompt
        if prompt is None or prompt.scheduled is None or who.role == "admin":
            return
        if who.subject not in (prompt.who.subject, self.session.owner):
            raise Forbidden("This turn was scheduled. Only who set it, the owner of the session and admins end it.")

    async def cancel(self, run: str | None = None) -> bool:
        """End the turn that is played; with a `run` only if it is that one. False: none is."""
        turn = self._turn
        if turn is None or turn.done() or (run is not None and (self.prompt is None or self.prompt.run != run)):
            return False
        # A second one would cut off its last words, which tell that it ended.
        if self._stopped is not turn:
            self._stopped = turn
            # A task that has not begun ends without a word.
            await asyncio.sleep(0)
            turn.cancel()
        await asyncio.wait({turn}, timeout=STOP_SECONDS)
        return True

    async def settle(self) -> None:
        """Wait until every turn is played, and what is left of it is done."""
        while self.is_busy or (self._tails is not None and not self._tails.done()):
            await asyncio.wait({task for task in (self._work, self._tails) if task is not None and not task.done()})

    async def stop(self) -> None:
        """End the turn that is played; what waits is not played. A second time it does nothing more."""
        self.is_stopped = True
        with suppress(TimeoutError):
            # Who says something now is withdrawn with the others.
            async with asyncio.timeout(STOP_SECONDS), self.door:
                pass
        waiting = tuple(self._waiting)
        self._waiting.clear()
        self.mediator.close()
        try:
            await self.cancel()
        finally:
            # In the order in which they were said.
            for prompt in waiting:
                self.ring.publish(PromptWithdrawn(run=prompt.run, reason="session_closed"))

    async def aclose(self, *, forget: bool = False, patience: float = TAIL_SECONDS) -> None:
        """Stop, after what the last turn leaves is kept. `forget`: it leaves nothing behind. `patience`: seconds for each of what it leaves."""
        await self.stop()
        if forget:
            self.farewell = None
        tasks = {task for task in (self._work, self._tails) if task is not None and not task.done()}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=0 if forget else patience)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=STOP_SECONDS)
        if self.farewell is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self.farewell()
        await self.mediator.settle()
        self.ring.close()
        await self.stack.aclose()

    async def _turns(self) -> None:
        while self._waiting:
            self.prompt = self._waiting.popleft()
            self.used_at = asyncio.get_running_loop().time()
            self._turn = asyncio.create_task(self.player.play(self, self.prompt))
            try:
                await asyncio.wait({self._turn})
            finally:
                if not self._turn.done():
                    self._turn.cancel()
            self.prompt = None
            if not self._turn.cancelled() and (tail := self._turn.result()) is not None:
                self._tails = asyncio.create_task(self._after(self._tails, tail))
            self.used_at = asyncio.get_running_loop().time()

    async def _after(self, before: asyncio.Task[None] | None, tail: Tail) -> None:
        if before is not None and not before.done():
            await asyncio.wait({before})
        await tail()


def _queued(prompt: Prompt, state: Literal["running", "queued"]) -> QueuedPrompt:
    who = prompt.who
    return QueuedPrompt(
        run=prompt.run,
        text=prompt.text,
        at=prompt.at,
        state=state,
        speaker=who.subject,
        client=who.client,
        scheduled=prompt.scheduled,
    )
