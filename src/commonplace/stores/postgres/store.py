"""The store: one pool of connections behind all the ports it satisfies."""

from __future__ import annotations

from typing import Self

from commonplace.ports.clock import Clock
from commonplace.stores.postgres.address import parse_address
from commonplace.stores.postgres.connection import Database
from commonplace.stores.postgres.events import Log
from commonplace.stores.postgres.jobs import Jobs
from commonplace.stores.postgres.journal import Notes
from commonplace.stores.postgres.keys import Known
from commonplace.stores.postgres.knowledge import Knowledge
from commonplace.stores.postgres.maintenance import Keeping
from commonplace.stores.postgres.quotas import Counted
from commonplace.stores.postgres.recall import Recall
from commonplace.stores.postgres.records import Records
from commonplace.stores.postgres.schema import prepare
from commonplace.stores.postgres.statistics import Counting
from commonplace.stores.postgres.usage import Spending
from commonplace.stores.postgres.vector_cache import Cache


class PostgresStore(Records, Recall, Keeping, Cache, Notes, Log, Jobs, Known, Counted, Knowledge, Spending, Counting):
    """
    Satisfies `RecordStore`, `RecallStore`, `StoreKeeper` and `VectorCache`, and what a daemon needs beside them: `Journal`,
    `EventLog`, `JobQueue`, `Registry`, `Quotas`, `KnowledgeStore`, `UsageLedger` and `Census`.

    The address is a postgresql:// URI; `?schema=name` puts the tables in another schema than `commonplace`, so that
    several stores can share a database.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        # One relay for all parts; what each of them sets besides, the log sets too.
        Log.__init__(self, database, clock)

    @classmethod
    async def open(cls, address: str, clock: Clock, *, pool_size: int = 10, patience: float = 10.0) -> Self:
        """
        Connect, and make the tables or bring them up to date.

        Raises:
            InvalidInput: the address is not one.
            StoreUnavailable: the server does not answer within `patience` seconds, or refuses the user.
            NotAStore, StoreTooNew: the tables are not ours, or not ours to understand. They were left untouched.
        """
        where = parse_address(address)
        ready = await prepare(where)
        database = await Database.open(where, ready.halfvec, ready.path, size=pool_size, patience=patience)
        return cls(database, clock)

    async def aclose(self) -> None:
        self._end_following()
        await self._relay.aclose()
        await self._database.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
