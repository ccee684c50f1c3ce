# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What every part of the store works with, and how a write keeps its entries beside it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw

from commonplace.ports.clock import Clock
from commonplace.ports.journal import Entries
from commonplace.stores.sqlite import entries as writing
from commonplace.stores.sqlite.connection import Job, Readers, WriterThread
from commonplace.values.moment import to_ms

T = TypeVar("T")


class Bell:
    """Wakes whoever waits for events of this process, in whichever loop that is."""

    def __init__(self) -> None:
        self._hung: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._hanging = threading.Lock()

    @contextlib.contextmanager
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
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(heard.set)


class Part:
    """One aggregate of the store. They are put together in `SqliteStore`."""

    def __init__(self, path: Path, writer: WriterThread, readers: Readers, clock: Clock) -> None:
        self._path = path
        self._writer = writer
        self._readers = readers
        self._clock = clock
        self._bell = Bell()

    def _now(self) -> int:
        return to_ms(self._clock.now())

    async def _keep_beside(self, work: Job[T], beside: Callable[[T], Entries] | None) -> T:
        """Do `work` in a transaction, and keep there what `beside` makes of its answer."""
        told = False

        def job(db: apsw.Connection) -> T:
            nonlocal told
            answer = work(db)
            if beside is not None:
                entries = beside(answer)
                writing.keep(db, entries, self._now())
                told = bool(entries.events)
            return answer

        answer = await self._writer.run(job)
        if told:
            self._bell.ring()
        return answer

    async def _keep(self, work: Job[T], entries: Entries) -> T:
        return await self._keep_beside(work, lambda _: entries)

    async def _change(self, sql: str, bindings: Sequence[Any] | dict[str, Any]) -> int:
        """Run one statement. How many rows it changed."""

        def job(db: apsw.Connection) -> int:
            db.execute(sql, bindings)
            return db.changes()

        return await self._writer.run(job)
