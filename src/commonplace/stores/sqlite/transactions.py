# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""How every port of the store reads and writes, and how a write keeps its entries beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apsw

from commonplace.ports.clock import Clock
from commonplace.ports.journal import Entries
from commonplace.stores.sqlite.bell import Bell
from commonplace.stores.sqlite.connection import Job, Readers, WriterThread
from commonplace.stores.sqlite.entries import write_entries
from commonplace.values.moment import to_ms

T = TypeVar("T")


class Transactions:
    """What the ports of one store share. The bell rings when events were committed."""

    def __init__(self, writer: WriterThread, readers: Readers, clock: Clock) -> None:
        self._writer = writer
        self._readers = readers
        self._clock = clock
        self.bell = Bell()

    def now(self) -> int:
        return to_ms(self._clock.now())

    async def read(self, job: Job[T]) -> T:
        """Run `job` on one snapshot."""
        return await self._readers.run(job)

    async def write(self, job: Job[T], *, alone: bool = False) -> T:
        """Run `job` in a transaction. `alone`: outside any, for what SQLite does only there."""
        return await self._writer.run(job, alone=alone)

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
