# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Records and every version of them."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from commonplace.ports.journal import Beside, BesidePurge
from commonplace.stores.sqlite import reads
from commonplace.stores.sqlite.connection import patiently
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.stores.sqlite.writes import Writing
from commonplace.values.query import Filter, Order, Page
from commonplace.values.record import Draft, Lineage, Record, Written
from commonplace.values.upkeep import Purged


class SqlRecords:
    """Satisfies the port `RecordStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def put(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Written]:
        def work(db: apsw.Connection) -> list[Written]:
            writing = Writing(db, len(drafts))
            outcomes = [writing.put(draft) for draft in drafts]
            writing.finish()
            return outcomes

        return await self._transactions.keep_beside(work, beside)

    async def revise(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Record]:
        def work(db: apsw.Connection) -> list[Written]:
            writing = Writing(db)
            revised = [Written(writing.revise(draft), "updated") for draft in drafts]
            writing.finish()
            return revised

        return [outcome.record for outcome in await self._transactions.keep_beside(work, beside)]

    async def load(self, lineages: Sequence[Lineage], *, beside: Beside | None = None) -> list[Written]:
        def work(db: apsw.Connection) -> list[Written]:
            writing = Writing(db, len(lineages))
            loaded = [writing.load(lineage) for lineage in lineages]
            writing.finish()
            return loaded

        return await self._transactions.keep_beside(work, beside)

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Record]:
        return await self._transactions.read(lambda db: reads.get(db, tenant, ids))

    async def history(self, tenant: str, id: str) -> list[Record]:
        return await self._transactions.read(lambda db: reads.history(db, tenant, id))

    async def find(self, tenant: str, filter: Filter, order: Order, limit: int, cursor: str | None) -> Page:
        query = reads.PageRequest(filter=filter, order=order, limit=limit, cursor=cursor)
        return await self._transactions.read(lambda db: reads.find(db, tenant, query, self._transactions.now()))

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        query = reads.PageRequest(filter=filter, order="oldest", limit=limit, cursor=after)
        return await self._transactions.read(lambda db: reads.lineages(db, tenant, query, self._transactions.now()))

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: BesidePurge | None = None) -> Purged:
        def work(db: apsw.Connection) -> tuple[Purged, list[str]]:
            numbers = {
                number for filter in filters for number in reads.matching(db, tenant, filter, self._transactions.now())
            }
            writing = Writing(db)
            ids = writing.ids(sorted(numbers))
            purged = writing.purge(sorted(numbers))
            writing.finish()
            writing.forget_scopes()
            # Deleted entries stay in the word index until its segments are merged.
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            return purged, ids

        purged, _ = await self._transactions.keep_beside(
            work, None if beside is None else lambda answer: beside(answer[1])
        )
        # The write-ahead log still holds the pages as they were.
        await self._transactions.write(
            lambda db: patiently(lambda: db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)), alone=True
        )
        return purged
