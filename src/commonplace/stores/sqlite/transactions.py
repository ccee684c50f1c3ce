# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""How every port of the store reads and writes, and how a write keeps its entries beside it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final, TypeVar

import apsw

from commonplace.errors import StoreFull
from commonplace.ports.clock import Clock
from commonplace.ports.journal import Entries
from commonplace.stores.damage import DamageLog
from commonplace.stores.sqlite.connection import Job, Readers, WriterThread, patiently
from commonplace.stores.sqlite.entries import write_entries
from commonplace.stores.sqlite.reserve import Reserve, removing
from commonplace.values.moment import to_ms

T = TypeVar("T")
OLD_LOG: Final = (
    "The records are purged, but the disk is too full to empty the log beside the store, which still holds them. Make room, then purge "
    "anything, or stop every program that uses the store: the log is emptied then."
)


class Bell:
    """Wakes whoever waits for events of this process, in whichever loop that is."""

    def __init__(self) -> None:
        self._hung: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._hanging = threading.Lock()

    @contextmanager
    def hung(self) -> Generator[asyncio.Event]:
        """An event that is set whenever the bell rings."""
        heard = asyncio.Event()
        with self._hanging:
            self._hung[heard] = asyncio.get_running_loop()
        try:
            yield heard
        finally:
            with self._hanging:
                del self._hung[heard]

    def ring(self) -> None:
        with self._hanging:
            hung = list(self._hung.items())
        for heard, loop in hung:
            # A loop that was closed under a waiter's hands has nobody left to wake.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(heard.set)


class Transactions:
    """What the ports of one store share. The bell rings when events were committed. `reserve`: room for who removes something."""

    def __init__(self, writer: WriterThread, readers: Readers, clock: Clock, reserve: Reserve | None = None) -> None:
        self._writer = writer
        self._reserve = reserve
        self._removers = 0
        self._has_old_log = False
        self._readers = readers
        self._clock = clock
        self.bell = Bell()
        self.damage = DamageLog()

    def now(self) -> int:
        return to_ms(self._clock.now())

    async def read(self, job: Job[T]) -> T:
        """Run `job` on one snapshot."""
        return await self._readers.run(job)

    async def write(self, job: Job[T], *, alone: bool = False) -> T:
        """
        Run `job` in a transaction. `alone`: outside any, for what SQLite does only there. On a full disk, work that removes something is
        tried again with the room that is reserved for it; meanwhile other work is refused.
        """
        reserve = self._reserve
        if reserve is not None and reserve.is_given_up and not removing.get():
            await asyncio.to_thread(self._restore, reserve)
            if reserve.is_given_up:
                raise StoreFull
        try:
            return await self._writer.run(job, alone=alone)
        except StoreFull:
            if not removing.get():
                raise
            await self._use_reserve()
            return await self._writer.run(job, alone=alone)

    # ---- a full disk

    async def keep_reserve(self) -> None:
        """See that there is room for who removes something."""
        if self._reserve is not None:
            await asyncio.to_thread(self._restore, self._reserve)

    @asynccontextmanager
    async def removal(self) -> AsyncGenerator[None]:
        """
        What is written in this block removes something: it works on a full disk, too.

        Raises:
            StoreFull: at the end, if the log still holds what was purged.
        """
        token, self._removers = removing.set(True), self._removers + 1
        try:
            if self._reserve is not None and await asyncio.to_thread(self._reserve.is_scarce):
                await self._use_reserve()
            yield
        finally:
            self._removers -= 1
            try:
                await self._end_removal()
            finally:
                removing.reset(token)

    async def _end_removal(self) -> None:
        if self._has_old_log:
            await self.truncate_log()
            if self._has_old_log:
                raise StoreFull(OLD_LOG)
        if self._reserve is not None and self._reserve.is_given_up:
            await self.truncate_log()
            await self.keep_reserve()

    def _restore(self, reserve: Reserve) -> None:
        if not self._removers:
            reserve.make()

    async def _use_reserve(self) -> None:
        """Free what is reserved, and empty the log into the file, so that both have room again."""
        if self._reserve is not None:
            await asyncio.to_thread(self._reserve.give_up)
        await self.truncate_log()

    async def truncate_log(self) -> bool:
        """Empty the write-ahead log, which holds pages as they were. False: the disk is too full; it is tried again at the end."""

        def truncate(db: apsw.Connection) -> None:
            patiently(lambda: db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE))

        try:
            await self._writer.run(truncate, alone=True)
        except StoreFull:
            return False
        self._has_old_log = False
        return True

    def remember_log(self) -> None:
        """What was purged is in the log until that is emptied."""
        self._has_old_log = True

    async def change(self, sql: str, bindings: Sequence[Any] | dict[str, Any]) -> int:
        """Run one statement. How many rows it changed."""

        def job(db: apsw.Connection) -> int:
            db.execute(sql, bindings)
            return db.changes()

        return await self.write(job)

    async def keep(self, work: Job[T], entries: Entries) -> T:
        """Do `work` in a transaction, and keep `entries` there."""
        return await self.keep_beside(work, lambda _: entries)

    async def keep_beside(self, work: Job[T], beside: Callable[[T], Entries] | None) -> T:
        """Do `work` in a transaction, and keep there what `beside` makes of its answer."""
        has_events = False

        def job(db: apsw.Connection) -> T:
            nonlocal has_events
            answer = work(db)
            if beside is not None:
                entries = beside(answer)
                write_entries(db, entries, self.now())
                has_events = bool(entries.events)
            return answer

        answer = await self.write(job)
        if has_events:
            self.bell.ring()
        return answer

    async def aclose(self) -> None:
        """Let the reads and writes that were handed in end, then close the connections."""
        await asyncio.to_thread(self._readers.close)
        # Whoever follows the events is told the end.
        self.bell.ring()
        await asyncio.to_thread(self._writer.close)
