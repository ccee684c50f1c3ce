"""How every port of the store reads and writes, and how a write keeps its entries beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from commonplace.errors import CommonplaceError
from commonplace.ports.clock import Clock
from commonplace.ports.journal import Entries
from commonplace.stores.damage import DamageLog
from commonplace.stores.postgres.connection import Connection, Database, Params, statements
from commonplace.stores.postgres.entries import Entering, pipelined
from commonplace.stores.postgres.relay import Relay

SHARE = statements("sql/writes.sql")["share_store"]
T = TypeVar("T")


class Transactions:
    """What the ports of one store share. The relay is woken when events were committed."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._clock = clock
        self.database = database
        self.relay = Relay(database)
        self.damage = DamageLog()

    def now(self) -> datetime:
        return self._clock.now()

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` on one snapshot."""
        return await self.database.read(work)

    async def ask(self, sql: bytes, params: Params = None) -> list[tuple[Any, ...]]:
        """One statement that reads, a snapshot of its own."""
        return await self.database.ask(sql, params)

    async def write(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` in a transaction, again from its start where it lost to another writer."""
        return await self.database.write(work)

    async def count(self, sql: bytes, params: Params) -> int:
        """Run one statement. How many rows it changed."""

        async def work(connection: Connection) -> int:
            return (await connection.execute(sql, params)).rowcount

        return await self.write(work)

    async def write_beside(self, work: Callable[[Connection], Awaitable[tuple[T, Entries]]]) -> T:
        """A transaction that also says which entries it kept. News among them are on their way when this returns."""
        result, entries = await self.write(work)
        if entries.events:
            self.relay.wake()
        return result

    async def keep(self, connection: Connection, entries: Entries, *commands: tuple[bytes, Params]) -> None:
        """Run these commands and keep these entries, in one round trip."""
        entering = Entering(entries, self.now())
        if entering.nothing and not commands:
            return
        async with pipelined(connection, few=entering.few):
            await connection.execute(SHARE)
            for sql, params in commands:
                await connection.execute(sql, params)
            await entering.write(connection)
        entering.check()

    async def change(
        self, sql: bytes, params: Params, entries: Entries, refused: CommonplaceError, *, lock: bytes | None = None
    ) -> list[tuple[Any, ...]]:
        """
        One statement, and its entries if it wrote something: the rows it returns. `lock` comes before it, so that it sees what those
        did who had the lock before.

        Raises:
            refused: it returned none. Nothing was kept.
        """

        async def work(connection: Connection) -> tuple[list[tuple[Any, ...]], Entries]:
            entering = Entering(entries, self.now())
            async with pipelined(connection, few=entering.few):
                await connection.execute(SHARE)
                if lock is not None:
                    await connection.execute(lock)
                cursor = await connection.execute(sql, params, binary=True)
                await entering.write(connection)
            returned = await cursor.fetchall()
            if not returned:
                raise refused
            entering.check()
            return returned, entries

        return await self.write_beside(work)

    async def aclose(self) -> None:
        """Let the relay end, then close the connections."""
        await self.relay.aclose()
        await self.database.aclose()
