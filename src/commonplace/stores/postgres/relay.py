"""
The way of news from the outbox into the log.

Writers leave news in the outbox as part of their transactions. A relay takes what has been committed, under a lock that one
relay of all daemons holds at a time until its own commit, and gives each the next id. So ids have no gaps and are in the order
in which they can be seen: whoever has read 10 never meets a new 9. The same commit tells the listeners.

After a commit the store wakes its own relay. What a daemon left that died in between is relayed by the next one that reads or
follows the log.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from hashlib import sha256

import anyio

from commonplace.errors import StoreError, StoreReadOnly
from commonplace.stores.postgres.connection import Connection, Database, statements

_SQL = statements("sql/events.sql")
_SHARE = statements("sql/writes.sql")["share_store"]
_BATCH = 5_000
_LAST_WORDS = 1.0


def channel(schema: str) -> str:
    """What the listeners of a schema's log listen to. A schema's name may be as long as a channel's, so it is hashed."""
    return f"commonplace_{sha256(schema.encode()).hexdigest()[:32]}"


class Relay:
    """Moves news into the log: `run` now, `wake` soon."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._channel = channel(database.schema)
        self._task: asyncio.Task[None] | None = None
        self._asked = False
        self._closed = False

    def wake(self) -> None:
        """Something was written to the outbox. However many say so meanwhile, one run follows the one that is under way."""
        self._asked = True
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._run_while_asked())

    async def _run_while_asked(self) -> None:
        try:
            while self._asked and not self._closed:
                self._asked = False
                # The news are kept; the next to read or follow the log relays them.
                with suppress(StoreError):
                    await self.run()
        finally:
            self._task = None

    async def run(self) -> None:
        """Move all that is in the outbox."""
        while await self._database.write(self._move) == _BATCH:
            pass

    async def run_if_needed(self) -> None:
        """As `run`, but without a lock or a write where the outbox is empty, nor a complaint from one who may only read."""
        [(waiting,)] = await self._database.ask(_SQL["is_waiting"])
        if waiting:
            with suppress(StoreReadOnly):
                await self.run()

    async def aclose(self) -> None:
        """Give a run that is under way a moment to end."""
        self._closed = True
        task = self._task
        if task is None:
            return
        with anyio.move_on_after(_LAST_WORDS):
            await asyncio.wait({task})
        task.cancel()
        await asyncio.wait({task})

    async def _move(self, connection: Connection) -> int:
        async with connection.pipeline():
            await connection.execute(_SHARE)
            await connection.execute(_SQL["one_relay"])
            # A statement of its own, so that it sees all that was committed before the lock was had.
            moved = await connection.execute(_SQL["move"], {"limit": _BATCH, "channel": self._channel}, binary=True)
        row = await moved.fetchone()
        return int(row[0]) if row else 0
