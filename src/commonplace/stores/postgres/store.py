"""The PostgreSQL store: one pool of connections, and the ports over it."""

from __future__ import annotations

from typing import Self

from commonplace.ports.clock import Clock
from commonplace.stores.postgres.address import parse_address
from commonplace.stores.postgres.approvals import SqlApprovals
from commonplace.stores.postgres.channels import SqlChannels
from commonplace.stores.postgres.connection import Database
from commonplace.stores.postgres.embedder_stages import SqlEmbedderStages
from commonplace.stores.postgres.events import SqlEvents
from commonplace.stores.postgres.history import SqlHistory
from commonplace.stores.postgres.jobs import SqlJobs
from commonplace.stores.postgres.journal import SqlJournal
from commonplace.stores.postgres.keys import SqlKeys
from commonplace.stores.postgres.knowledge import SqlKnowledge
from commonplace.stores.postgres.maintenance import SqlMaintenance
from commonplace.stores.postgres.members import SqlMembers
from commonplace.stores.postgres.quotas import SqlQuotas
from commonplace.stores.postgres.recall import SqlRecall
from commonplace.stores.postgres.records import SqlRecords
from commonplace.stores.postgres.schedules import SqlSchedules
from commonplace.stores.postgres.schema import prepare
from commonplace.stores.postgres.seals import SqlSeals
from commonplace.stores.postgres.session_leases import SqlSessionLeases
from commonplace.stores.postgres.statistics import SqlStatistics
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.postgres.usage import SqlUsage
from commonplace.stores.postgres.vector_cache import SqlVectorCache


class PostgresStore:
    """
    Satisfies the port `Store`. Open it with `PostgresStore.open`.

    The address is a postgresql:// URI; `?schema=name` puts the tables in another schema than `commonplace`, so that
    several stores can share a database.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._transactions = transactions = Transactions(database, clock)
        self.records = SqlRecords(transactions)
        self.recall = SqlRecall(transactions)
        self.journal = SqlJournal(transactions)
        self.events = SqlEvents(transactions)
        self.jobs = SqlJobs(transactions)
        self.keys = SqlKeys(transactions)
        self.members = SqlMembers(transactions)
        self.approvals = SqlApprovals(transactions)
        self.quotas = SqlQuotas(transactions)
        self.usage = SqlUsage(transactions)
        self.knowledge = SqlKnowledge(transactions)
        self.history = SqlHistory(transactions)
        self.schedules = SqlSchedules(transactions)
        self.channels = SqlChannels(transactions)
        self.session_leases = SqlSessionLeases(transactions)
        self.seals = SqlSeals(transactions)
        self.statistics = SqlStatistics(transactions)
        self.maintenance = SqlMaintenance(transactions)
        self.embedder_stages = SqlEmbedderStages(transactions)
        self.vectors = SqlVectorCache(transactions)

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
        self.events.end_following()
        await self._transactions.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
