"""The log of events: read, followed and trimmed. How news get into it is told in `relay`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from datetime import datetime

from commonplace.errors import StoreClosed, StoreError
from commonplace.stores.groups import first_events
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.notifications import NotificationListener
from commonplace.stores.postgres.relay import channel
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.rows import stored_news_of
from commonplace.values.event import Event
from commonplace.values.moment import to_ms

_SQL = statements("sql/events.sql")
_BATCH = 500
_TICK = 1.0


class SqlEvents:
    """Satisfies the port `EventLog`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._listeners: set[NotificationListener] = set()
        self._closed = False

    async def read_events(self, after: int, limit: int, *, tenant: str | None = None) -> list[Event]:
        await self._transactions.relay.run_if_needed()
        return await self._read(after, limit, tenant)

    async def event_range(self) -> tuple[int, int]:
        await self._transactions.relay.run_if_needed()
        [(earliest, latest)] = await self._transactions.ask(_SQL["range"])
        return earliest, latest

    async def follow_events(self, after: int) -> AsyncGenerator[Sequence[Event]]:
        """A follower has a connection of its own: let one follow for all who listen to this daemon."""
        if self._closed:
            return
        listener = NotificationListener(
            self._transactions.database.conninfo, channel(self._transactions.database.schema)
        )
        self._listeners.add(listener)
        try:
            # What ends it is the closing of the store, which the listener tells wherever it is met.
            with suppress(StoreClosed):
                clock, relayed = asyncio.get_running_loop().time, 0.0
                while not listener.closed:
                    await listener.listen()
                    late = clock() - relayed >= _TICK
                    events = await listener.unless_closed(self._news(after, relay=late))
                    relayed = clock() if late else relayed
                    if events:
                        after = events[-1].id
                        yield events
                    if len(events) < _BATCH:
                        await listener.wait(_TICK)
        finally:
            self._listeners.discard(listener)
            listener.close()

    async def trim_events(self, *, before: datetime, keep: int) -> int:
        await self._transactions.relay.run_if_needed()
        params = {"before": to_ms(before), "keep": max(keep, 0)}

        async def work(connection: Connection) -> int:
            return sum(many for (many,) in await rows(connection, _SQL["trim"], params))

        return await self._transactions.write(work)

    def end_following(self) -> None:
        """Whoever follows the log is told the end."""
        self._closed = True
        for listener in list(self._listeners):
            listener.close()

    async def _news(self, after: int, *, relay: bool) -> list[Event]:
        """The next events; none where the store is away. Now and then also what a daemon left in the outbox that died."""
        try:
            if relay:
                await self._transactions.relay.run_if_needed()
            return await self._read(after, _BATCH, None)
        except StoreClosed:
            raise
        except StoreError:
            return []

    async def _read(self, after: int, limit: int, tenant: str | None) -> list[Event]:
        limit = max(limit, 0)
        params = {"after": after, "limit": limit, "tenant": tenant}
        return first_events(map(stored_news_of, await self._transactions.ask(_SQL["read"], params)), after, limit)
