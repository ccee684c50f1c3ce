"""The SQLite store: one file, one writer thread, a few readers, and the ports over them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import StoreFull, StoreUnavailable
from commonplace.ports.clock import Clock
from commonplace.stores.sqlite.approvals import SqlApprovals
from commonplace.stores.sqlite.channels import SqlChannels
from commonplace.stores.sqlite.connection import Readers, WriterThread
from commonplace.stores.sqlite.embedder_stages import SqlEmbedderStages
from commonplace.stores.sqlite.events import SqlEvents
from commonplace.stores.sqlite.history import SqlHistory
from commonplace.stores.sqlite.jobs import SqlJobs
from commonplace.stores.sqlite.journal import SqlJournal
from commonplace.stores.sqlite.keys import SqlKeys
from commonplace.stores.sqlite.knowledge import SqlKnowledge
from commonplace.stores.sqlite.maintenance import SqlMaintenance
from commonplace.stores.sqlite.members import SqlMembers
from commonplace.stores.sqlite.quotas import SqlQuotas
from commonplace.stores.sqlite.recall import SqlRecall
from commonplace.stores.sqlite.records import SqlRecords
from commonplace.stores.sqlite.reserve import Reserve
from commonplace.stores.sqlite.schedules import SqlSchedules
from commonplace.stores.sqlite.schema import open_writer
from commonplace.stores.sqlite.seals import SqlSeals
from commonplace.stores.sqlite.session_leases import SqlSessionLeases
from commonplace.stores.sqlite.statistics import SqlStatistics
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.stores.sqlite.usage import SqlUsage
from commonplace.stores.sqlite.vector_cache import SqlVectorCache

if TYPE_CHECKING:
    import apsw


class SqliteStore:
    """Satisfies the port `Store`. Open it with `SqliteStore.open`."""

    def __init__(
        self, path: Path, writer: WriterThread, readers: Readers, clock: Clock, reserve: Reserve | None = None
    ) -> None:
        self._transactions = transactions = Transactions(writer, readers, clock, reserve or Reserve(path))
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
        self.maintenance = SqlMaintenance(transactions, path)
        self.embedder_stages = SqlEmbedderStages(transactions)
        self.vectors = SqlVectorCache(transactions)

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> SqliteStore:
        """Open the file, created where there is none. Raises NotAStore, StoreTooNew, StoreReadOnly."""
        reserve = Reserve(path)
        writing = await asyncio.to_thread(_open_writer, path, reserve)
        return cls(path, WriterThread(writing), Readers(path), clock, reserve)

    async def aclose(self) -> None:
        await self._transactions.aclose()


def _open_writer(path: Path, reserve: Reserve) -> apsw.Connection:
    """The files that SQLite makes beside an open store need room, too."""
    try:
        return open_writer(path)
    except (StoreFull, StoreUnavailable):
        if not (reserve.file.exists() and reserve.is_scarce()):
            raise
        reserve.give_up()
        return open_writer(path)
