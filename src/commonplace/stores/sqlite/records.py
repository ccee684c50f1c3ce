# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Records and every version of them."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from commonplace.errors import StoreFull
from commonplace.ports.journal import Beside, BesidePurge
from commonplace.stores.sqlite import reads
from commonplace.stores.sqlite.reserve import removing
from commonplace.stores.sqlite.transactions import OLD_LOG, Transactions
from commonplace.stores.sqlite.writes import Writing
from commonplace.values.query import Filter, Order, Page
from commonplace.values.record import Draft, Lineage, Record, Salvage, Written
from commonplace.values.upkeep import Purged

_PORTION = 64
_MERGED_PAGES = 200
_MERGES = 100_000
_LEFT = (
    "The disk is too full to purge: {:,} records were purged, the others are as they were. Make room (a few megabytes will do) and purge "
    "again."
)


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
        now, damage = self._transactions.now(), self._transactions.damage
        return await self._transactions.read(lambda db: reads.find(db, tenant, query, now, damage))

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        query = reads.PageRequest(filter=filter, order="oldest", limit=limit, cursor=after)
        return await self._transactions.read(lambda db: reads.lineages(db, tenant, query, self._transactions.now()))

    async def salvage(self, tenant: str, filter: Filter, after: str | None, limit: int) -> Salvage:
        query = reads.PageRequest(filter=filter, order="oldest", limit=limit, cursor=after)
        now, damage = self._transactions.now(), self._transactions.damage
        return await self._transactions.read(lambda db: reads.salvage(db, tenant, query, now, damage))

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: BesidePurge | None = None) -> Purged:
        try:
            purged, _ = await self._purge(tenant, filters, beside, None)
        except StoreFull:
            if not removing.get():
                raise
            purged = await self._purge_in_portions(tenant, filters, beside)
        self._transactions.remember_log()
        if not await self._transactions.truncate_log() and not removing.get():
            raise StoreFull(OLD_LOG)
        return purged

    async def _purge(
        self, tenant: str, filters: Sequence[Filter], beside: BesidePurge | None, most: int | None
    ) -> tuple[Purged, list[str]]:
        """Purge what fits in one transaction; at `most` so many, and then their words stay in the index for now."""

        def work(db: apsw.Connection) -> tuple[Purged, list[str]]:
            matching = {
                number
                for filter in filters
                for number in reads.matching(db, tenant, filter, self._transactions.now(), None)
            }
            numbers = sorted(matching)[:most]
            writing = Writing(db)
            ids = writing.ids(numbers)
            purged = writing.purge(numbers)
            writing.finish()
            writing.forget_scopes()
            if most is None:
                # Deleted entries stay in the word index until its segments are merged.
                db.execute("INSERT INTO words (words) VALUES ('optimize')")
            return purged, ids

        return await self._transactions.keep_beside(work, None if beside is None else lambda answer: beside(answer[1]))

    async def _purge_in_portions(self, tenant: str, filters: Sequence[Filter], beside: BesidePurge | None) -> Purged:
        """On a full disk: a few records at a time, so that the log stays small, then the word index piece by piece."""
        records = versions = 0
        portion = _PORTION
        while True:
            try:
                purged, ids = await self._purge(tenant, filters, beside, portion)
            except StoreFull:
                if portion == 1:
                    raise StoreFull(_LEFT.format(records)) from None
                portion = max(portion // 4, 1)
                continue
            if not ids:
                break
            records, versions = records + purged.records, versions + purged.versions
            self._transactions.remember_log()
            await self._transactions.truncate_log()
        await self._merge_words()
        return Purged(records, versions)

    async def _merge_words(self) -> None:
        """What `optimize` does at once. A step that changes next to nothing was the last."""
        step = -_MERGED_PAGES
        for _ in range(_MERGES):

            def merge(db: apsw.Connection, pages: int = step) -> int:
                before = db.total_changes()
                db.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
                return db.total_changes() - before

            changes = await self._transactions.write(merge)
            await self._transactions.truncate_log()
            if changes < 2 and step > 0:
                return
            step = _MERGED_PAGES
