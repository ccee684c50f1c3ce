# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What recall reads from a SQLite store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import apsw

from commonplace.ports.recall import Entry, IndexChanges, Mark
from commonplace.stores.damage import DamageLog
from commonplace.stores.queries import load
from commonplace.stores.rarity import rarer_terms
from commonplace.stores.sqlite import reads
from commonplace.stores.sqlite.rows import CURRENT, Row, Where, one, rows
from commonplace.stores.sqlite.salvage import DAMAGED, attempt, current, every_number, numbers, readable
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.stores.sqlite.writes import PASSAGES
from commonplace.text.postings import is_packed, written_hash
from commonplace.values.moment import to_ms
from commonplace.values.query import Filter
from commonplace.values.record import Record
from commonplace.values.scope import Scope

SQL = load("commonplace.stores.sqlite", "sql/recall.sql")
# Milliseconds: the year 9999.
_LATEST = 253_402_300_800_000


class SqlRecall:
    """Satisfies the port `RecallStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def marks(self, tenant: str, scopes: Sequence[Scope] | None) -> list[Mark]:
        return await self._transactions.read(lambda db: _marks(db, tenant, scopes))

    async def changes(self, mark: Mark, after: int, embedders: Sequence[str]) -> IndexChanges:
        damage = self._transactions.damage
        return await self._transactions.read(
            lambda db: attempt(
                lambda: _changes(db, mark, after, embedders, damage),
                lambda: _changes_by_one(db, mark, after, embedders, damage),
            )
        )

    async def whole(self, marks: Sequence[Mark], embedders: Sequence[str]) -> list[IndexChanges]:
        damage = self._transactions.damage
        return await self._transactions.read(
            lambda db: attempt(
                lambda: _whole(db, marks, embedders, damage),
                lambda: [_changes_by_one(db, mark, 0, embedders, damage) for mark in marks],
            )
        )

    async def as_of(self, mark: Mark, moment: datetime, embedders: Sequence[str]) -> list[Entry]:
        damage = self._transactions.damage
        return await self._transactions.read(
            lambda db: attempt(
                lambda: _as_of(db, mark, to_ms(moment), embedders, damage),
                lambda: _as_of_by_one(db, mark, to_ms(moment), embedders, damage),
            )
        )

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        def no_words() -> tuple[list[int], list[int]]:
            self._transactions.damage.note("words", "the word index is damaged: `commonplace reindex` makes it anew")
            return [0] * len(terms), []

        return await self._transactions.read(lambda db: attempt(lambda: _words(db, marks, terms, cap, among), no_words))

    async def near(
        self, marks: Sequence[Mark], embedder: str, vector: bytes, limit: int, among: Sequence[int] | None = None
    ) -> list[int]:
        def no_vectors() -> list[int]:
            self._transactions.damage.note("vectors", "vectors are damaged: `commonplace reindex` makes them anew")
            return []

        return await self._transactions.read(
            lambda db: attempt(lambda: _near(db, marks, embedder, vector, limit, among), no_vectors)
        )

    async def entries(self, passages: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        damage = self._transactions.damage
        records = sorted({passage // PASSAGES for passage in passages})

        def by_one(db: apsw.Connection) -> list[Entry]:
            owners = [row[0] for content in records for row in _tolerated(db, SQL["record_of"], (content,), damage)]
            passage_set = set(passages)
            entries = _entries_by_one(db, owners, embedders, damage)
            return [entry for entry in entries if entry.passage in passage_set]

        return await self._transactions.read(
            lambda db: attempt(lambda: _entries_and_neighbours(db, passages, embedders, damage), lambda: by_one(db))
        )

    async def entries_of(self, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        damage = self._transactions.damage
        return await self._transactions.read(
            lambda db: attempt(
                lambda: _entries_of(db, records, embedders, damage),
                lambda: _entries_by_one(db, records, embedders, damage),
            )
        )

    async def matching(self, tenant: str, filter: Filter) -> list[int]:
        return await self._transactions.read(
            lambda db: reads.matching(db, tenant, filter, self._transactions.now(), self._transactions.damage)
        )

    async def fetch(self, versions: Sequence[tuple[int, int]]) -> list[Record | None]:
        return await self._transactions.read(lambda db: _fetch(db, versions, self._transactions.damage))


def _marks(db: apsw.Connection, tenant: str, scopes: Sequence[Scope] | None) -> list[Mark]:
    if scopes is None:
        return [_mark(row) for row in rows(db, SQL["marks"], (tenant,))]
    unique_scopes = dict.fromkeys(scopes)
    return [_mark(row) for scope in unique_scopes for row in rows(db, SQL["mark"], (tenant, scope.kind, scope.id))]


def _mark(row: Row) -> Mark:
    kind, id, *rest = row
    return Mark(Scope(kind, id), *rest)


def _changes(db: apsw.Connection, mark: Mark, after: int, embedders: Sequence[str], damage: DamageLog) -> IndexChanges:
    row = one(db, SQL["mark_again"], (mark.number,))
    now = _mark(row) if row else mark
    gone = [number for (number,) in rows(db, SQL["changed"], (mark.number, after))] if after else []
    if after and not gone:
        return IndexChanges(now, [], [])
    entry_rows = rows(db, SQL["changed_entries"], {"scope": mark.number, "after": after})
    return IndexChanges(now, gone, _entries(db, entry_rows, embedders, None if after else mark.number, damage))


def _whole(
    db: apsw.Connection, marks: Sequence[Mark], embedders: Sequence[str], damage: DamageLog
) -> list[IndexChanges]:
    scopes = json.dumps([mark.number for mark in marks])
    scope_rows = rows(db, SQL["whole_of"], (scopes,))
    entry_rows = [row[1:] for row in scope_rows]
    homes = {row[3]: row[0] for row in scope_rows}
    by_scope: dict[int, list[Entry]] = {}
    for entry in _entries(db, entry_rows, embedders, None, damage):
        by_scope.setdefault(homes[entry.passage], []).append(entry)
    marks_now = [_mark(row) for row in rows(db, SQL["marks_again"], (scopes,))]
    return [IndexChanges(mark, [], by_scope.get(mark.number, [])) for mark in marks_now]


def _changes_by_one(
    db: apsw.Connection, mark: Mark, after: int, embedders: Sequence[str], damage: DamageLog
) -> IndexChanges:
    row = one(db, SQL["mark_again"], (mark.number,))
    now = _mark(row) if row else mark
    clause = Where(conditions=["v.scope = :scope", "v.seq > :after"], bound={"scope": mark.number, "after": after})
    records = [number for number, *_ in numbers(db, clause, (), damage)]
    return IndexChanges(now, records if after else [], _entries_by_one(db, records, embedders, damage))


def _entries_by_one(
    db: apsw.Connection, records: Sequence[int], embedders: Sequence[str], damage: DamageLog
) -> list[Entry]:
    """The entries of these records, without those that cannot be read; one whose vectors cannot be has none."""

    def look_up(number: int, some: Sequence[str]) -> list[Entry]:
        return _entries_of(db, [number], some, damage)

    return [entry for number in records for entry in _readable(number, embedders, damage, partial(look_up, number))]


def _readable(
    number: int, embedders: Sequence[str], damage: DamageLog, look_up: Callable[[Sequence[str]], list[Entry]]
) -> list[Entry]:
    """What `look_up` makes of one record with these embedders, else without any; nothing if it cannot be read."""
    for some in (embedders, ()):
        try:
            entries = look_up(some)
        except DAMAGED:
            damage.note(f"number {number}", "its passages or vectors are damaged")
            continue
        return [entry._replace(vectors=entry.vectors or (None,) * len(embedders)) for entry in entries]
    return []


def _tolerated(db: apsw.Connection, sql: str, bound: Sequence[int], damage: DamageLog) -> list[Row]:
    try:
        return rows(db, sql, bound)
    except DAMAGED:
        damage.note(f"text {bound[0]}", "its page of the file is damaged")
        return []


def _as_of(db: apsw.Connection, mark: Mark, moment: int, embedders: Sequence[str], damage: DamageLog) -> list[Entry]:
    entry_rows = rows(db, SQL["past_entries"], {"scope": mark.number, "moment": moment})
    return _entries(db, entry_rows, embedders, None, damage)


def _as_of_by_one(
    db: apsw.Connection, mark: Mark, moment: int, embedders: Sequence[str], damage: DamageLog
) -> list[Entry]:
    def look_up(number: int, some: Sequence[str]) -> list[Entry]:
        bound = {"scope": mark.number, "moment": moment, "number": number}
        row = one(db, SQL["stood_then"], (moment, number))
        if row is None:
            return []
        # Past versions are looked at only if they are needed: they may be what is damaged.
        sql = SQL["entries_now_of" if row[0] else "entries_then_of"]
        return _entries(db, rows(db, sql, bound), some, None, damage)

    return [
        entry for number in every_number(db) for entry in _readable(number, embedders, damage, partial(look_up, number))
    ]


def _words(
    db: apsw.Connection, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
) -> tuple[list[int], list[int]]:
    queries = [" OR ".join(f'"{mark.number:x}z{written_hash(term)}"' for mark in marks) for term in terms]
    counts = [int(db.execute(SQL["how_many"], (match,)).get) if match else 0 for match in queries]
    for places, limit in rarer_terms(counts, cap):
        passages = {number for place in places for number in _having(db, queries[place], limit, among)}
        if among is not None and limit is None:
            passages = _of_records(db, passages, among)
        if passages:
            return counts, sorted(passages)
    return counts, []


def _having(db: apsw.Connection, match: str, limit: int | None, among: Sequence[int] | None) -> list[int]:
    """The passages that hold a term: all, or the newest."""
    if limit is not None:
        return _newest(db, match, limit, among)
    return [number for (number,) in rows(db, SQL["having"], (match,))]


def _of_records(db: apsw.Connection, passages: set[int], among: Sequence[int]) -> set[int]:
    """Those of these passages that are of the records `among`."""
    counted = set(among)
    owners = rows(db, SQL["owners"], (json.dumps(list(passages)),))
    return {number for number, owner in owners if owner in counted}


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
    number, _ = _embedder(db, embedder)
    if number is None:
        return []
    scopes = json.dumps([mark.number for mark in marks])
    bound = {"embedder": number, "scopes": scopes, "vector": vector, "limit": limit}
    if among is None:
        return [passage for (passage,) in rows(db, SQL["nearest"], bound)]
    params = {**bound, "among": json.dumps(list(among))}
    return [passage for (passage,) in rows(db, SQL["nearest_among"], params)]


def _entries_and_neighbours(
    db: apsw.Connection, passages: Sequence[int], embedders: Sequence[str], damage: DamageLog
) -> list[Entry]:
    records = [number for (number,) in rows(db, SQL["records_with"], (json.dumps(list(passages)),))]
    wider = [number for (number,) in rows(db, SQL["with_neighbours"], {"records": json.dumps(records)})]
    beside, passage_set = set(wider) - set(records), set(passages)
    return [
        entry
        for entry in _entries_of(db, wider, embedders, damage)
        if entry.passage in passage_set or entry.record in beside
    ]


def _entries_of(
    db: apsw.Connection, records: Sequence[int], embedders: Sequence[str], damage: DamageLog
) -> list[Entry]:
    entry_rows = rows(db, SQL["entries_of"], {"records": json.dumps(list(records))})
    return _entries(db, entry_rows, embedders, None, damage)


def _fetch(db: apsw.Connection, versions: Sequence[tuple[int, int]], damage: DamageLog) -> list[Record | None]:
    """All current ones in one go; what is past by now, or cannot be read so, one by one."""
    record_numbers = json.dumps([number for number, _ in versions])
    sql = f"{CURRENT} WHERE v.number IN (SELECT value FROM json_each(?))"
    current_rows = {(row[0], row[6]): row for row in attempt(lambda: rows(db, sql, (record_numbers,)), list[Row])}
    records: list[Record | None] = []
    for number, version in versions:
        row = current_rows.get((number, version))
        if row is None:
            records.append(current(db, number, version, damage))
        else:
            records += readable([row], damage) or [None]
    return records


def _entries(
    db: apsw.Connection, entry_rows: list[Row], embedders: Sequence[str], scope: int | None, damage: DamageLog
) -> list[Entry]:
    """Rows with their vectors; where `scope` is given the rows are all of it, and its vectors are read in one go."""
    columns: list[list[bytes | None]] = []
    entry_rows = _sound_rows(entry_rows, damage)
    for embedder in embedders:
        number, size = _embedder(db, embedder)
        stored: dict[int, bytes] = {}
        if number is not None and scope is not None:
            stored = dict[int, bytes](rows(db, SQL["scope_vectors"], (number, scope)))
        elif number is not None:
            stored = _vectors(db, number, entry_rows)
        columns.append([_sized(stored.get(row[2]), size, row[2], damage) for row in entry_rows])
    if not embedders:
        return [Entry._make((*row, ())) for row in entry_rows]
    return [Entry._make((*row, vectors)) for row, vectors in zip(entry_rows, zip(*columns, strict=True), strict=True)]


def _sound_rows(entry_rows: list[Row], damage: DamageLog) -> list[Row]:
    sound = [row for row in entry_rows if _is_entry(row)]
    if len(sound) < len(entry_rows):
        for row in entry_rows:
            if not _is_entry(row):
                damage.note(f"number {row[0]}", "its words, or its moments, are damaged")
    return sound


def _is_entry(row: Row) -> bool:
    """Whether its words, its moment, its importance and its end can be what we wrote."""
    expires = row[13]
    return (
        is_packed(row[5])
        and type(row[10]) is int
        and abs(row[10]) < _LATEST
        and type(row[12]) is int
        and (expires is None or type(expires) is int)
    )


def _sized(vector: object, size: int, passage: int, damage: DamageLog) -> bytes | None:
    if vector is None or (isinstance(vector, bytes) and len(vector) == size):
        return vector
    damage.note(f"passage {passage}", "its vector is damaged: `commonplace reindex` makes it anew")
    return None


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


def _embedder(db: apsw.Connection, name: str) -> tuple[int | None, int]:
    """The number of an embedder, None if the store does not know it, and how many bytes its vectors have."""
    row = one(db, "SELECT number, dimension FROM embedders WHERE name = ?", (name,))
    return (row[0], row[1]) if row else (None, 0)
