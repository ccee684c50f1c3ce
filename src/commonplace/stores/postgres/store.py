"""The store: one pool of connections behind the four ports it satisfies."""

from __future__ import annotations

from typing import Self

from commonplace.ports.clock import Clock
from commonplace.stores.postgres.address import parse_address
from commonplace.stores.postgres.cache import Cache
from commonplace.stores.postgres.connection import Database
from commonplace.stores.postgres.keeping import Keeping
from commonplace.stores.postgres.recall import Recall
from commonplace.stores.postgres.records import Records
from commonplace.stores.postgres.schema import prepare


class PostgresStore(Records, Recall, Keeping, Cache):
    """
    Satisfies `RecordStore`, `RecallStore`, `StoreKeeper` and `VectorCache`.

    The address is a postgresql:// URI; `?schema=name` puts the tables in another schema than `commonplace`, so that
    several stores can share a database.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
