"""What the parts of the store that keep a journal share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from commonplace.errors import CommonplaceError
from commonplace.ports.clock import Clock
from commonplace.ports.journal import Entries
from commonplace.stores.postgres.connection import Connection, Database, Params, statements
from commonplace.stores.postgres.entries import Entering, pipelined
from commonplace.stores.postgres.relay import Relay

SHARE = statements("sql/writes.sql")["share_store"]
T = TypeVar("T")


class Part:
    """A part of the store whose writes keep entries beside them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._relay = Relay(database)

    async def _write(self, work: Callable[[Connection], Awaitable[tuple[T, Entries]]]) -> T:
        """A transaction that also says which entries it kept. News among them are on their way when this returns."""
        result, entries = await self._database.write(work)
        if entries.events:
            self._relay.wake()
        return result

    async def _keep(self, connection: Connection, entries: Entries, *commands: tuple[bytes, Params]) -> None:
        """Run these commands and keep these entries, in one round trip."""
        entering = Entering(entries, self._clock.now())
        if entering.nothing and not commands:
            return
        async with pipelined(connection, few=entering.few):
            await connection.execute(SHARE)
            for sql, params in commands:
                await connection.execute(sql, params)
            await entering.write(connection)
        entering.check()

    async def _change(
        self, sql: bytes, params: Params, entries: Entries, refused: CommonplaceError
    ) -> list[tuple[Any, ...]]:
        """
        One statement, and its entries if it wrote something: the rows it returns.

        Raises:
            refused: it returned none. Nothing was kept.
        """

        async def work(connection: Connection) -> tuple[list[tuple[Any, ...]], Entries]:
            entering = Entering(entries, self._clock.now())
            async with pipelined(connection, few=entering.few):
                await connection.execute(SHARE)
                cursor = await connection.execute(sql, params, binary=True)
                await entering.write(connection)
            found = await cursor.fetchall()
            if not found:
                raise refused
            entering.check()
            return found, entries

        return await self._write(work)
