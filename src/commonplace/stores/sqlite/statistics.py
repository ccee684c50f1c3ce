# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Counting what the file holds, and looking back at what was recalled."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

import apsw

from commonplace.stores.outlines import text_in
from commonplace.stores.queries import load
from commonplace.stores.sqlite import reads
from commonplace.stores.sqlite.rows import Row, moment, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.census import BYS, By, Count, PastRecall, Recalls, ScopeCount, ScopeCounts, Tally, bears
from commonplace.values.moment import from_ms
from commonplace.values.query import Filter
from commonplace.values.scope import Scope, ScopeKind
from commonplace.values.tree import Outline

SQL = load("commonplace.stores.sqlite", "sql/statistics.sql")
_FIELDS = {by: SQL[f"by_{by}"].replace("{state}", reads.STATE) for by in BYS}


def tally(db: apsw.Connection, tenant: str, filter: Filter, by: Sequence[By], limit: int, now: int) -> Tally:
    where = reads.where(db, tenant, filter, now)
    bound = where.bound | {"first": by[0], "second": by[1] if len(by) > 1 else None, "limit": limit + 1}
    parts = {"first": _FIELDS[by[0]], "second": _FIELDS[by[1]] if len(by) > 1 else "NULL"}
    result = rows(db, SQL["tally"].format(where=" AND ".join(where.conditions), **parts), bound)
    counts = tuple(Count(by=dict(zip(by, row[:2], strict=False)), records=row[2]) for row in result[:limit])
    return Tally(counts=counts, total=result[0][3] if result else 0, truncated=len(result) > limit)


class SqlStatistics:
    """Satisfies the port `StoreStatistics`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def tally(self, tenant: str, filter: Filter, by: Sequence[By], limit: int) -> Tally:
        return await self._transactions.read(lambda db: tally(db, tenant, filter, by, limit, self._transactions.now()))

    async def scopes(
        self, tenant: str, among: Sequence[Scope] | None, text: str, kinds: Sequence[ScopeKind], limit: int
    ) -> ScopeCounts:
        bound = {
            "tenant": tenant,
            "kinds": json.dumps(list(kinds)),
            "limit": limit + 1,
            "now": self._transactions.now(),
        }

        def work(db: apsw.Connection) -> ScopeCounts:
            numbers = None if among is None and not text else json.dumps(_named(db, tenant, among, text.casefold()))
            result = rows(db, SQL["scopes"], bound | {"among": numbers})
            counted = [
                ScopeCount(scope=Scope(kind, id), records=records, updated_at=moment(updated))
                for kind, id, updated, records in result[:limit]
            ]
            return ScopeCounts(scopes=tuple(counted), more=len(result) > limit)

        return await self._transactions.read(work)

    async def outlines(self, tenant: str, scope: Scope, limit: int) -> tuple[list[Outline], int]:
        bound = {"tenant": tenant, "kind": scope.kind, "id": scope.id}

        def work(db: apsw.Connection) -> tuple[list[Outline], int]:
            outlines = [_outline(row) for row in rows(db, SQL["outlines"], bound | {"limit": limit})]
            size: int = db.execute(SQL["size"], bound).get if len(outlines) == limit else len(outlines)
            return outlines, size - len(outlines)

        return await self._transactions.read(work)

    async def recalls(self, tenant: str, record: str, searches: int, limit: int) -> Recalls:
        # One more tells whether there are others.
        bound = {"tenant": tenant, "searches": searches + 1}

        def work(db: apsw.Connection) -> Recalls:
            there: int = db.execute(SQL["searches"], bound).get
            result = rows(db, SQL["recalls"], bound | {"searches": searches, "record": record, "limit": limit})
            recalls = [
                PastRecall(at=from_ms(at), by=actor, action=action, door=door, run=run, client=client, rank=rank)
                for at, actor, action, door, run, client, rank in result
            ]
            return Recalls(recalls=tuple(recalls), searched=min(there, searches), complete=there <= searches)

        return await self._transactions.read(work)


def _named(db: apsw.Connection, tenant: str, among: Sequence[Scope] | None, text: str) -> list[int]:
    """The numbers of the scopes with `text` in their names. SQLite itself knows the case of ASCII letters only."""
    pairs = None if among is None else {(scope.kind, scope.id) for scope in among}
    return [
        number
        for number, kind, id in rows(db, SQL["names"], (tenant,))
        if (pairs is None or (kind, id) in pairs) and bears(kind, id, text)
    ]


def _outline(row: Row) -> Outline:
    (id, kind, beginning, created, updated, live, key, metadata, provenance, session, position, speaker, pinned,
     importance, expires) = row  # fmt: skip
    return Outline(
        id=str(uuid.UUID(bytes=id)),
        kind=kind,
        beginning=beginning,
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        is_live=bool(live),
        key=key,
        title=text_in(metadata, "title"),
        file=text_in(provenance, "file"),
        session=session,
        position=position,
        speaker=speaker,
        pinned=bool(pinned),
        importance=importance,
        expires_at=moment(expires),
    )
