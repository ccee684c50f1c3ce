# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What recall reads from a SQLite store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import apsw

from commonplace.ports.recall import Entry, IndexChanges, Mark
from commonplace.stores.queries import load
from commonplace.stores.sqlite import reads
from commonplace.stores.sqlite.rows import CURRENT, PAST, Row, one, record, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.text.postings import written_hash
from commonplace.values.moment import to_ms
from commonplace.values.query import Filter
from commonplace.values.record import Record
from commonplace.values.scope import Scope

SQL = load("commonplace.stores.sqlite", "sql/recall.sql")


class SqlRecall:
    """Satisfies the port `RecallStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def marks(self, tenant: str, scopes: Sequence[Scope] | None) -> list[Mark]:
        return await self._transactions.read(lambda db: _marks(db, tenant, scopes))

    async def changes(self, mark: Mark, after: int, embedders: Sequence[str]) -> IndexChanges:
        return await self._transactions.read(lambda db: _changes(db, mark, after, embedders))

    async def as_of(self, mark: Mark, moment: datetime, embedders: Sequence[str]) -> list[Entry]:
        return await self._transactions.read(lambda db: _as_of(db, mark, to_ms(moment), embedders))

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        return await self._transactions.read(lambda db: _words(db, marks, terms, cap, among))

    async def near(
        self, marks: Sequence[Mark], embedder: str, vector: bytes, limit: int, among: Sequence[int] | None = None
    ) -> list[int]:
        return await self._transactions.read(lambda db: _near(db, marks, embedder, vector, limit, among))

    async def entries(self, passages: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        return await self._transactions.read(lambda db: _entries_and_neighbours(db, passages, embedders))

    async def entries_of(self, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        return await self._transactions.read(lambda db: _entries_of(db, records, embedders))

    async def matching(self, tenant: str, filter: Filter) -> list[int]:
        return await self._transactions.read(lambda db: reads.matching(db, tenant, filter, self._transactions.now()))

    async def fetch(self, versions: Sequence[tuple[int, int]]) -> list[Record | None]:
        return await self._transactions.read(lambda db: _fetch(db, versions))


def _marks(db: apsw.Connection, tenant: str, scopes: Sequence[Scope] | None) -> list[Mark]:
    if scopes is None:
        return [_mark(row) for row in rows(db, SQL["marks"], (tenant,))]
    unique_scopes = dict.fromkeys(scopes)
    return [_mark(row) for scope in unique_scopes for row in rows(db, SQL["mark"], (tenant, scope.kind, scope.id))]


def _mark(row: Row) -> Mark:
    kind, id, *rest = row
    return Mark(Scope(kind, id), *rest)


def _changes(db: apsw.Connection, mark: Mark, after: int, embedders: Sequence[str]) -> IndexChanges:
    row = one(db, SQL["mark_again"], (mark.number,))
    now = _mark(row) if row else mark
    gone = [number for (number,) in rows(db, SQL["changed"], (mark.number, after))] if after else []
    if after and not gone:
        return IndexChanges(now, [], [])
    entry_rows = rows(db, SQL["changed_entries"], {"scope": mark.number, "after": after})
    return IndexChanges(now, gone, _entries(db, entry_rows, embedders, None if after else mark.number))


def _as_of(db: apsw.Connection, mark: Mark, moment: int, embedders: Sequence[str]) -> list[Entry]:
    entry_rows = rows(db, SQL["past_entries"], {"scope": mark.number, "moment": moment})
    return _entries(db, entry_rows, embedders, None)


def _words(
    db: apsw.Connection, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
) -> tuple[list[int], list[int]]:
    queries = [" OR ".join(f'"{mark.number:x}z{written_hash(term)}"' for mark in marks) for term in terms]
    counts = [int(db.execute(SQL["how_many"], (match,)).get) if match else 0 for match in queries]
    term_counts = [(count, match) for count, match in zip(counts, queries, strict=True) if count]
    passages: set[int] = set()
    for count, match in term_counts:
        if count <= cap:
            passages.update(number for (number,) in rows(db, SQL["having"], (match,)))
    if among is not None:
        counted = set(among)
        owners = rows(db, SQL["owners"], (json.dumps(list(passages)),))
        passages = {number for number, record in owners if record in counted}
    for count, match in sorted(term_counts):
        if count > cap and not passages:
            passages.update(_newest(db, match, cap, among))
    return counts, sorted(passages)


def _newest(db: apsw.Connection, match: str, cap: int, among: Sequence[int] | None) -> list[int]:
    if among is None:
        return [number for (number,) in rows(db, SQL["newest_having"], (match, cap))]
    bound = {"match": match, "limit": cap, "among": json.dumps(list(among))}
    return [number for (number,) in rows(db, SQL["newest_having_among"], bound)]


def _near(
    db: apsw.Connection,
    marks: Sequence[Mark],
    embedder: str,
    vector: bytes,
    limit: int,
    among: Sequence[int] | None = None,
) -> list[int]:
    number = _embedder(db, embedder)
    if number is None:
        return []
    scopes = json.dumps([mark.number for mark in marks])
    bound = {"embedder": number, "scopes": scopes, "vector": vector, "limit": limit}
    if among is None:
        return [passage for (passage,) in rows(db, SQL["nearest"], bound)]
    params = {**bound, "among": json.dumps(list(among))}
    return [passage for (passage,) in rows(db, SQL["nearest_among"], params)]


def _entries_and_neighbours(db: apsw.Connection, passages: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
    records = [number for (number,) in rows(db, SQL["records_with"], (json.dumps(list(passages)),))]
    wider = [number for (number,) in rows(db, SQL["with_neighbours"], {"records": json.dumps(records)})]
    beside, passage_set = set(wider) - set(records), set(passages)
    return [
        entry for entry in _entries_of(db, wider, embedders) if entry.passage in passage_set or entry.record in beside
    ]


def _entries_of(db: apsw.Connection, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
    entry_rows = rows(db, SQL["entries_of"], {"records": json.dumps(list(records))})
    return _entries(db, entry_rows, embedders, None)


def _fetch(db: apsw.Connection, versions: Sequence[tuple[int, int]]) -> list[Record | None]:
    """All current ones in one go; what is past by now, one by one."""
    numbers = json.dumps([number for number, _ in versions])
    current = f"{CURRENT} WHERE v.number IN (SELECT value FROM json_each(?))"
    current_rows = {(row[0], row[6]): row for row in rows(db, current, (numbers,))}
    records: list[Record | None] = []
    for number, version in versions:
        row = current_rows.get((number, version))
        if row is None:
            row = one(db, f"{PAST} WHERE v.number = ? AND v.version = ?", (number, version))
        records.append(record(row) if row else None)
    return records


def _entries(db: apsw.Connection, entry_rows: list[Row], embedders: Sequence[str], scope: int | None) -> list[Entry]:
    """Rows with their vectors; where `scope` is given the rows are all of it, and its vectors are read in one go."""
    columns: list[list[bytes | None]] = []
    for embedder in embedders:
        number = _embedder(db, embedder)
        stored: dict[int, bytes] = {}
        if number is not None and scope is not None:
            stored = dict[int, bytes](rows(db, SQL["scope_vectors"], (number, scope)))
        elif number is not None:
            stored = _vectors(db, number, entry_rows)
        columns.append([stored.get(row[2]) for row in entry_rows])
    if not embedders:
        return [Entry._make((*row, ())) for row in entry_rows]
    return [Entry._make((*row, vectors)) for row, vectors in zip(entry_rows, zip(*columns, strict=True), strict=True)]


def _vectors(db: apsw.Connection, embedder: int, entry_rows: list[Row]) -> dict[int, bytes]:
    """The vectors of these passages. They stand where their records do now, live or not."""
    homes = dict[int, int](rows(db, SQL["homes_of"], (json.dumps(list({row[0] for row in entry_rows})),)))
    by_home: dict[int, list[int]] = {}
    for row in entry_rows:
        by_home.setdefault(homes[row[0]], []).append(row[2])
    stored: dict[int, bytes] = {}
    for home, passages in by_home.items():
        bound = {"embedder": embedder, "scope": home, "passages": json.dumps(passages)}
        stored.update(rows(db, SQL["passage_vectors"], bound))
    return stored


def _embedder(db: apsw.Connection, name: str) -> int | None:
    row = one(db, "SELECT number FROM embedders WHERE name = ?", (name,))
    return row[0] if row else None
