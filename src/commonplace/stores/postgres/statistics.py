"""Counting what the store holds, and looking back at what was recalled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.stores.outlines import text_in
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.reads import filter_params
from commonplace.stores.postgres.rows import moment
from commonplace.stores.postgres.transactions import Transactions
from commonplace.values.census import By, Count, PastRecall, Recalls, ScopeCount, ScopeCounts, Tally, bears
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.query import Filter
from commonplace.values.scope import Scope, ScopeKind
from commonplace.values.tree import Outline

_SQL = statements("sql/statistics.sql")
_RECORDS = statements("sql/records.sql")
# A file of SQL knows its own blocks only: these two are those of the listings.
_TALLY = (
    _SQL["tally"]
    .replace(b"{fields}", _SQL["fields"])
    .replace(b"{state}", _RECORDS["state"])
    .replace(b"{fits}", _RECORDS["fits"])
)


class SqlStatistics:
    """Satisfies the port `StoreStatistics`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def tally(self, tenant: str, filter: Filter, by: Sequence[By], limit: int) -> Tally:
        async def work(connection: Connection) -> Tally:
            params = await filter_params(connection, tenant, filter, self._transactions.now())
            if params is None:
                return Tally()
            params |= {"first": by[0], "second": by[1] if len(by) > 1 else None, "limit": limit + 1}
            result = await rows(connection, _TALLY, params)
            counts = tuple(Count(by=dict(zip(by, row[:2], strict=False)), records=row[2]) for row in result[:limit])
            return Tally(counts=counts, total=result[0][3] if result else 0, truncated=len(result) > limit)

        return await self._transactions.read(work)

    async def scopes(
        self, tenant: str, among: Sequence[Scope] | None, text: str, kinds: Sequence[ScopeKind], limit: int
    ) -> ScopeCounts:
        params: dict[str, Any] = {
            "tenant": tenant,
            "kinds": list(kinds) or None,
            "limit": limit + 1,
            "now": to_ms(self._transactions.now()),
        }

        async def work(connection: Connection) -> ScopeCounts:
            numbers = None if among is None and not text else await _named(connection, tenant, among, text.casefold())
            result = await rows(connection, _SQL["scopes"], {**params, "among": numbers})
            counted = [
                ScopeCount(scope=Scope(kind, id), records=records, updated_at=moment(updated))
                for kind, id, updated, records in result[:limit]
            ]
            return ScopeCounts(scopes=tuple(counted), more=len(result) > limit)

        return await self._transactions.read(work)

    async def outlines(self, tenant: str, scope: Scope, limit: int) -> tuple[list[Outline], int]:
        params = {"tenant": tenant, "kind": scope.kind, "id": scope.id}

        async def work(connection: Connection) -> tuple[list[Outline], int]:
            outlines = [_outline(row) for row in await rows(connection, _SQL["outlines"], {**params, "limit": limit})]
            size = len(outlines)
            if size == limit:
                [(size,)] = await rows(connection, _SQL["size"], params)
            return outlines, size - len(outlines)

        return await self._transactions.read(work)

    async def recalls(self, tenant: str, record: str, searches: int, limit: int) -> Recalls:
        async def work(connection: Connection) -> Recalls:
            # One more tells whether there are others.
            [(there,)] = await rows(connection, _SQL["searches"], {"tenant": tenant, "searches": searches + 1})
            params = {"tenant": tenant, "searches": searches, "record": record, "limit": limit}
            recalls = [
                PastRecall(at=from_ms(at), by=actor, action=action, door=door, run=run, client=client, rank=rank)
                for at, actor, action, door, run, client, rank in await rows(connection, _SQL["recalls"], params)
            ]
            return Recalls(recalls=tuple(recalls), searched=min(there, searches), complete=there <= searches)

        return await self._transactions.read(work)


async def _named(connection: Connection, tenant: str, among: Sequence[Scope] | None, text: str) -> list[int]:
    """The numbers of the scopes with `text` in their names. What the database calls the same letter depends on its locale."""
    pairs = None if among is None else {(scope.kind, scope.id) for scope in among}
    return [
        number
        for number, kind, id in await rows(connection, _SQL["names"], {"tenant": tenant})
        if (pairs is None or (kind, id) in pairs) and bears(kind, id, text)
    ]


def _outline(row: tuple[Any, ...]) -> Outline:
    (id, kind, beginning, created, updated, live, key, metadata, file, session, position, speaker, pinned, importance,
     expires) = row  # fmt: skip
    return Outline(
        id=str(id),
        kind=kind,
        beginning=beginning,
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        is_live=live,
        key=key,
        title=text_in(metadata, "title"),
        file=file,
        session=session,
        position=position,
        speaker=speaker,
        pinned=pinned,
        importance=importance,
        expires_at=moment(expires),
    )
