# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""The log of events. SQLite has one writer at a time, so ids are given in the order of the commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing, suppress
from datetime import datetime

import apsw

from commonplace.errors import StoreBusy, StoreClosed, StoreUnavailable
from commonplace.stores.groups import first_events
from commonplace.stores.queries import load
from commonplace.stores.rows import stored_news_of
from commonplace.stores.sqlite.rows import one, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.event import Event
from commonplace.values.moment import to_ms

SQL = load("commonplace.stores.sqlite", "sql/events.sql")
_BATCH = 500
# Another process may write to the file, and nobody tells us.
_LOOK_EVERY = 0.1


def _read(db: apsw.Connection, after: int, limit: int, tenant: str | None) -> list[Event]:
    name, values = ("read_events", (after, limit)) if tenant is None else ("read_events_of", (tenant, after, limit))
    with closing(db.execute(SQL[name], values)) as stored:
        return first_events(map(stored_news_of, stored), after, limit)


def _trim(db: apsw.Connection, before: int, keep: int) -> int:
    return sum(many for (many,) in rows(db, SQL["trim_events"], {"before": before, "keep": keep}))


class SqlEvents:
    """Satisfies the port `EventLog`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def read_events(self, after: int, limit: int, *, tenant: str | None = None) -> list[Event]:
        return await self._transactions.read(lambda db: _read(db, after, limit, tenant))

    async def event_range(self) -> tuple[int, int]:
        earliest, latest = await self._transactions.read(lambda db: one(db, SQL["event_range"])) or (1, 0)
        return earliest, latest

    async def follow_events(self, after: int) -> AsyncGenerator[Sequence[Event]]:
        with self._transactions.bell.hung() as rung:
            while True:
                rung.clear()
                events = await self._look(after)
                if events is None:
                    return
                if events:
                    after = events[-1].id
                    yield events
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_EVERY):
                        await rung.wait()

    async def _look(self, after: int) -> list[Event] | None:
        """What is new; None where the store is closed."""
        try:
            return await self.read_events(after, _BATCH)
        except StoreClosed:
            return None
        except (StoreBusy, StoreUnavailable):
            return []

    async def trim_events(self, *, before: datetime, keep: int) -> int:
        return await self._transactions.write(lambda db: _trim(db, to_ms(before), keep))
