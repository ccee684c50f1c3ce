"""
A line to an agent for a program that blocks: the client lives in a loop of its own, and what happens in a session comes out of a queue.

The thread of the person's terminal is then free for the keyboard and for signals.
"""

import asyncio
import queue
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from commonplace.compose.background_loop import BackgroundLoop
from commonplace.errors import CommonplaceError, StoreClosed
from commonplace.ports.agent_client import AgentClient
from commonplace.values.turn_event import SessionEvent

if TYPE_CHECKING:
    from commonplace.agent.local_agent import LocalAgent
    from commonplace.ports.memory_client import MemoryClient

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Partner:
    """
    Who is talked to: an agent, and the memory it has. `model` is who answers unless somebody else is asked for; None if only an
    answer tells. `place` says where both are; `here`: they see the folders of this machine. `local`: the agent, if it is in this process.
    """

    agent: AgentClient
    memory: "MemoryClient"
    model: str | None
    place: str
    here: bool = True
    local: "LocalAgent | None" = None


OpenPartner = Callable[[], AbstractAsyncContextManager[Partner]]
Heard = SessionEvent | CommonplaceError


class AgentLine:
    """Enter it with `with`. `ask` waits for an answer, `begin` does not."""

    def __init__(self, open_partner: OpenPartner) -> None:
        self._open = open_partner
        self._loop = BackgroundLoop()
        self._events: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ear: asyncio.Task[None] | None = None
        self.partner: Partner

    def __enter__(self) -> Self:
        try:
            self.partner = self._loop.run(self._enter())
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._loop.run(self._leave())
        finally:
            self._loop.stop()

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have it done; what becomes of it is told by events."""
        self._loop.run(self._begin(work))

    def listen(self, session: str, after: int | None) -> None:
        """From now on hear what happens in this session, from behind the event `after` (None: the last one), and in no other."""
        self._loop.run(self._listen(session, after))

    def hear(self, seconds: float) -> Heard | None:
        """What happened next; None if nothing did for so long. An error is the end of what is heard."""
        try:
            return self._events.get(timeout=seconds)
        except queue.Empty:
            return None

    # ---- in the loop

    async def _enter(self) -> Partner:
        ready: asyncio.Future[Partner] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        # Whatever was entered by a task has to be left by the same one.
        self._keeper = asyncio.create_task(self._keep(ready))
        await asyncio.wait({self._keeper, ready}, return_when=asyncio.FIRST_COMPLETED)
        if self._keeper.done():
            await self._keeper
        return await ready

    async def _keep(self, ready: asyncio.Future[Partner]) -> None:
        async with self._open() as partner:
            ready.set_result(partner)
            await self._over.wait()
            await self._hush()

    async def _leave(self) -> None:
        self._over.set()
        await self._keeper

    async def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _listen(self, session: str, after: int | None) -> None:
        await self._hush()
        self._ear = asyncio.create_task(self._hear(session, after))

    async def _hear(self, session: str, after: int | None) -> None:
        try:
            async for event in self.partner.agent.hear(session, after=after):
                self._events.put(event)
            self._events.put(StoreClosed("The session was closed."))
        except CommonplaceError as error:
            self._events.put(error)

    async def _hush(self) -> None:
        if self._ear is not None:
            self._ear.cancel()
            await asyncio.wait({self._ear})
        self._ear = None
        with suppress(queue.Empty):
            while True:
                self._events.get_nowait()


async def _quietly(work: Coroutine[Any, Any, Any]) -> None:
    with suppress(CommonplaceError):
        await work
