# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""The SQLite store: one file, one writer thread, a few readers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import apsw

from commonplace.ports.clock import Clock
from commonplace.ports.journal import Beside, BesidePurge
from commonplace.ports.maintenance import Content, Progress
from commonplace.ports.recall import Changes, Entry, Mark
from commonplace.stores.sqlite import maintenance, reads, recall
from commonplace.stores.sqlite.connection import Readers, WriterThread, patiently
from commonplace.stores.sqlite.events import Events
from commonplace.stores.sqlite.jobs import Jobs
from commonplace.stores.sqlite.journal import Journal
from commonplace.stores.sqlite.keys import Quotas, Registry
from commonplace.stores.sqlite.knowledge import Knowledge
from commonplace.stores.sqlite.schema import open_writer
from commonplace.stores.sqlite.statistics import Census
from commonplace.stores.sqlite.usage import Spending
from commonplace.stores.sqlite.writes import Writing
from commonplace.values.moment import to_ms
from commonplace.values.query import Filter, Order, Page
from commonplace.values.record import Draft, Lineage, Passage, Record, Written
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Finding, Purged, Rule, Stats, Upkeep


class SqliteStore(Journal, Events, Jobs, Registry, Quotas, Knowledge, Spending, Census):
    """
    Satisfies RecordStore, RecallStore, StoreKeeper and VectorCache, and what its parts satisfy. Open it with
    `SqliteStore.open`.
    """

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> SqliteStore:
        """Open the file, created where there is none. Raises NotAStore, StoreTooNew, StoreReadOnly."""
        writing = await asyncio.to_thread(open_writer, path)
        return cls(path, WriterThread(writing), Readers(path), clock)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._readers.close)
        # Whoever follows the events is told the end.
        self._bell.ring()
        await asyncio.to_thread(self._writer.close)

    # ---- RecordStore

    async def put(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Written]:
        def work(db: apsw.Connection) -> list[Written]:
            writing = Writing(db, len(drafts))
            written = [writing.put(draft) for draft in drafts]
            writing.finish()
            return written

        return await self._keep_beside(work, beside)

    async def revise(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Record]:
        def work(db: apsw.Connection) -> list[Written]:
            writing = Writing(db)
            revised = [Written(writing.revise(draft), "updated") for draft in drafts]
            writing.finish()
            return revised

        return [written.record for written in await self._keep_beside(work, beside)]

    async def load(self, lineages: Sequence[Lineage], *, beside: Beside | None = None) -> list[Written]:
        def work(db: apsw.Connection) -> list[Written]:
            writing = Writing(db, len(lineages))
            loaded = [writing.load(lineage) for lineage in lineages]
            writing.finish()
            return loaded

        return await self._keep_beside(work, beside)

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Record]:
        return await self._readers.run(lambda db: reads.get(db, tenant, ids))

    async def history(self, tenant: str, id: str) -> list[Record]:
        return await self._readers.run(lambda db: reads.history(db, tenant, id))

    async def find(self, tenant: str, filter: Filter, order: Order, limit: int, cursor: str | None) -> Page:
        listing = reads.Listing(filter=filter, order=order, limit=limit, cursor=cursor)
        return await self._readers.run(lambda db: reads.find(db, tenant, listing, self._now()))

    async def lineages(self, tenant: str, filter: Filter, after: str | None, limit: int) -> list[Lineage]:
        listing = reads.Listing(filter=filter, order="oldest", limit=limit, cursor=after)
        return await self._readers.run(lambda db: reads.lineages(db, tenant, listing, self._now()))

    async def purge(self, tenant: str, filters: Sequence[Filter], *, beside: BesidePurge | None = None) -> Purged:
        def work(db: apsw.Connection) -> tuple[Purged, list[str]]:
            numbers = {number for filter in filters for number in reads.matching(db, tenant, filter, self._now())}
            writing = Writing(db)
            ids = writing.ids(sorted(numbers))
            purged = writing.purge(sorted(numbers))
            writing.finish()
            writing.forget_scopes()
            # Deleted entries stay in the word index until its segments are merged.
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            return purged, ids

        purged, _ = await self._keep_beside(work, None if beside is None else lambda done: beside(done[1]))
        # The write-ahead log still holds the pages as they were.
        await self._writer.run(
            lambda db: patiently(lambda: db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)), alone=True
        )
        return purged

    # ---- RecallStore

    async def marks(self, tenant: str, scopes: Sequence[Scope] | None) -> list[Mark]:
        return await self._readers.run(lambda db: recall.marks(db, tenant, scopes))

    async def changes(self, mark: Mark, after: int, embedders: Sequence[str]) -> Changes:
        return await self._readers.run(lambda db: recall.changes(db, mark, after, embedders))

    async def as_of(self, mark: Mark, moment: datetime, embedders: Sequence[str]) -> list[Entry]:
        return await self._readers.run(lambda db: recall.as_of(db, mark, to_ms(moment), embedders))

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        return await self._readers.run(lambda db: recall.words(db, marks, terms, cap, among))

    async def near(
        self, marks: Sequence[Mark], embedder: str, vector: bytes, limit: int, among: Sequence[int] | None = None
    ) -> list[int]:
        return await self._readers.run(lambda db: recall.near(db, marks, embedder, vector, limit, among))

    async def entries(self, passages: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        return await self._readers.run(lambda db: recall.entries(db, passages, embedders))

    async def entries_of(self, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        return await self._readers.run(lambda db: recall.entries_of(db, records, embedders))

    async def matching(self, tenant: str, filter: Filter) -> list[int]:
        return await self._readers.run(lambda db: reads.matching(db, tenant, filter, self._now()))

    async def fetch(self, versions: Sequence[tuple[int, int]]) -> list[Record | None]:
        return await self._readers.run(lambda db: recall.fetch(db, versions))

    # ---- StoreKeeper

    async def stats(self, tenant: str) -> Stats:
        return await self._readers.run(lambda db: maintenance.stats(db, self._path, tenant, self._now()))

    async def check(self) -> list[Finding]:
        return await self._writer.run(lambda db: maintenance.check(db, self._path), alone=True)

    async def embedders(self) -> dict[str, int]:
        return await self._readers.run(maintenance.embedders)

    async def set_embedders(self, embedders: Mapping[str, int]) -> None:
        await self._writer.run(lambda db: maintenance.set_embedders(db, embedders))

    async def contents(self, after: int, limit: int) -> list[Content]:
        return await self._readers.run(lambda db: maintenance.contents(db, after, limit))

    async def index(self, contents: Mapping[int, Sequence[Passage]]) -> None:
        await self._writer.run(lambda db: maintenance.index(db, contents))

    async def backup(self, target: Path, progress: Progress | None = None) -> None:
        await self._readers.run(lambda db: maintenance.backup(db, target, progress))

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        await self._writer.run(lambda db: maintenance.restore(db, source, progress), alone=True)

    async def rules(self, tenant: str) -> list[Rule]:
        return await self._readers.run(lambda db: maintenance.rules(db, tenant))

    async def set_rule(self, tenant: str, rule: Rule) -> None:
        await self._writer.run(lambda db: maintenance.set_rule(db, tenant, rule))

    async def log(self, tenant: str, entries: Sequence[Upkeep]) -> None:
        await self._writer.run(lambda db: maintenance.log(db, tenant, entries))

    async def read_log(self, tenant: str, since: datetime | None, limit: int) -> list[Upkeep]:
        moment = 0 if since is None else to_ms(since)
        return await self._readers.run(lambda db: maintenance.read_log(db, tenant, moment, limit))

    # ---- VectorCache

    async def cached(self, embedder: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        return await self._readers.run(lambda db: maintenance.cached(db, embedder, hashes))

    async def cache(self, embedder: str, vectors: dict[bytes, bytes]) -> None:
        await self._writer.run(lambda db: maintenance.cache(db, embedder, vectors))

    async def uncache(self, hashes: Sequence[bytes]) -> None:
        await self._writer.run(lambda db: maintenance.uncache(db, hashes))
