"""
A session somebody uses: its turns one after the other, its listeners, and what waits for a person.

A turn can be cancelled at any moment; the session is usable afterwards. What a turn leaves in the memory is kept in its tail, after
the reply is whole, so that nobody waits for it; tails keep their order, too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from commonplace.agent.permissions import Permissions
from commonplace.agent.summary import Summary
from commonplace.errors import Forbidden
from commonplace.events.ring import Ring
from commonplace.values.permission import (
    PermissionAnswer,
    PermissionChoice,
    PermissionNotFound,
    PermissionRequest,
)
from commonplace.values.principal import Principal
from commonplace.values.session import MessageDraft, Session, SessionMessage, TurnQueueFull
from commonplace.values.turn_event import TurnEvent

if TYPE_CHECKING:
    # An extra, and slow to load.
    from commonplace.agent.mcp_servers import McpServers

MOST_WAITING: Final = 5
STOP_SECONDS: Final = 2.0
_TAIL_SECONDS: Final = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What somebody said, and what is made of it: the `run`."""

    who: Principal
    run: str
    text: str
    at: datetime
    model: str | None = None


MakePermissions: TypeAlias = Callable[[Principal, Session], Permissions]
Tail: TypeAlias = Callable[[], Awaitable[None]]
Play: TypeAlias = Callable[["LiveSession", Prompt], Coroutine[Any, Any, Tail | None]]
"""Plays one turn, and answers what is left to do when its reply is told. It raises nothing but cancellations."""


class LiveSession:
    def __init__(
        self,
        session: Session,
        messages: list[SessionMessage],
        *,
        ring: Ring[TurnEvent],
        permissions: MakePermissions,
        play: Play,
    ) -> None:
        self.session = session
        self.messages = messages
        self.summary: Summary | None = None
        self.skills: dict[str, str] = {}
        """Those that are active, by name: what they say stands at the head of every prompt."""
        self.late: list[MessageDraft] = []
        """What was said and had not begun when a process ended: kept before the next thing is said."""
        self.servers: McpServers | None = None
        self.farewell: Tail | None = None
        """What is left to do when the session ends."""
        self.stack = AsyncExitStack()
        """What is open for as long as the session is in use."""
        self.ring = ring
        self._make_permissions = permissions
        self._permissions: dict[str, Permissions] = {}
        self._play = play
        self._waiting: deque[Prompt] = deque()
        self._work: asyncio.Task[None] | None = None
        self._turn: asyncio.Task[Tail | None] | None = None
        self._tails: asyncio.Task[None] | None = None
        self.door = asyncio.Lock()
        """Held by whoever says something, so that what was said first is played first."""
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
            self._permissions[who.subject] = self._make_permissions(who, self.session)
        return self._permissions[who.subject]

    @property
    def permission_requests(self) -> tuple[PermissionRequest, ...]:
        return tuple(request for permissions in self._permissions.values() for request in permissions.waiting)

    def answer_permission(self, who: Principal, request: str, choice: PermissionChoice) -> PermissionAnswer:
        """
        Raises:
            Forbidden: a call has the rights of whoever speaks in its turn. Others may refuse it, and only the operator may permit it.
            PermissionNotFound, PermissionResolved: as `Permissions.answer`.
        """
        for speaker, permissions in self._permissions.items():
            if permissions.knows(request):
                if speaker != who.subject and not who.operator and choice != "reject_once":
                    raise Forbidden("Only the person who asked for this may permit it. You may refuse it.")
                return permissions.answer(request, choice, who.subject)
        raise PermissionNotFound(request=request[:100])

    @property
    def waiting(self) -> tuple[Prompt, ...]:
        """What waits for its turn."""
        return tuple(self._waiting)

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

    async def cancel(self) -> bool:
        """End the turn that is played. False: none is."""
        turn = self._turn
        if turn is None or turn.done():
            return False
        turn.cancel()
        await asyncio.wait({turn}, timeout=STOP_SECONDS)
        return True

    async def settle(self) -> None:
        """Wait until every turn is played, and what is left of it is done."""
        while self.is_busy or (self._tails is not None and not self._tails.done()):
            await asyncio.wait({task for task in (self._work, self._tails) if task is not None and not task.done()})

    async def aclose(self, *, forget: bool = False) -> None:
        """Stop, after what the last turn leaves is kept; what waits is not played. `forget`: it leaves nothing behind."""
        self._waiting.clear()
        await self.cancel()
        if forget:
            self.farewell = None
        tasks = {task for task in (self._work, self._tails) if task is not None and not task.done()}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=0 if forget else _TAIL_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=STOP_SECONDS)
        if self.farewell is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TAIL_SECONDS):
                    await self.farewell()
        self.ring.close()
        await self.stack.aclose()

    async def _turns(self) -> None:
        while self._waiting:
            self.prompt = self._waiting.popleft()
            self.used_at = asyncio.get_running_loop().time()
            self._turn = asyncio.create_task(self._play(self, self.prompt))
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
