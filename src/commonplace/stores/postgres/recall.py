"""What recall reads: passages by scope, by word and by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from commonplace.ports.recall import Entry, IndexChanges, Mark
from commonplace.stores.postgres.adapt import Signed, signed, tokens
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.reads import matching
from commonplace.stores.postgres.rows import passage_number, readable, split_passage, tenant_of
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.postgres.writes import known_embedders, of_numbers
from commonplace.stores.rarity import rarer_terms
from commonplace.values.moment import to_ms
from commonplace.values.query import Filter
from commonplace.values.record import Record
from commonplace.values.scope import Scope

_SQL = statements("sql/recall.sql")

Vectors = dict[tuple[int, int], bytes | None]


class SqlRecall:
    """Satisfies the port `RecallStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def marks(self, tenant: str, scopes: Sequence[Scope] | None) -> list[Mark]:
        scope_list = None if scopes is None else list(scopes)
        params = {
            "tenant": tenant,
            "kinds": None if scope_list is None else [scope.kind for scope in scope_list],
            "ids": None if scope_list is None else [scope.id for scope in scope_list],
        }
        return [_mark(row) for row in await self._transactions.ask(_SQL["marks"], params)]

    async def changes(self, mark: Mark, after: int, embedders: Sequence[str]) -> IndexChanges:
        async def work(connection: Connection) -> IndexChanges:
            params = {"tenant": tenant_of(mark.number), "number": mark.number, "scope": mark.number, "after": after}
            now = await rows(connection, _SQL["mark"], params)
            if not now:
                return IndexChanges(mark, [], [])
            gone = [number for (number,) in await rows(connection, _SQL["gone"], params)] if after else []
            entry_rows = await rows(connection, _SQL["since" if after else "whole"], params)
            scope = None if after else mark.number
            return IndexChanges(_mark(now[0]), gone, await _entries(connection, entry_rows, embedders, scope))

        return await self._transactions.read(work)

    async def whole(self, marks: Sequence[Mark], embedders: Sequence[str]) -> list[IndexChanges]:
        async def work(connection: Connection) -> list[IndexChanges]:
            params = of_numbers((mark.number for mark in marks), "scopes")
            marks_now = [_mark(row) for row in await rows(connection, _SQL["marks_again"], params)]
            entry_rows = await rows(connection, _SQL["whole_of"], params)
            entries = await _entries(connection, [row[1:] for row in entry_rows], embedders)
            by_scope: dict[int, list[Entry]] = {}
            for (scope, *_), entry in zip(entry_rows, entries, strict=True):
                by_scope.setdefault(scope, []).append(entry)
            return [IndexChanges(mark, [], by_scope.get(mark.number, [])) for mark in marks_now]

        return await self._transactions.read(work) if marks else []

    async def as_of(self, mark: Mark, moment: datetime, embedders: Sequence[str]) -> list[Entry]:
        async def work(connection: Connection) -> list[Entry]:
            params = {"tenant": tenant_of(mark.number), "scope": mark.number, "moment": to_ms(moment)}
            return await _entries(connection, await rows(connection, _SQL["as_of"], params), embedders)

        return await self._transactions.read(work)

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        async def work(connection: Connection) -> tuple[list[int], list[int]]:
            scope_tokens = [tokens(mark.number, terms) for mark in marks]
            counted = None if among is None else list(among)
            tenants = of_numbers(mark.number for mark in marks)["tenants"]
            params = {"words": [token for scope in scope_tokens for token in scope], "tenants": tenants}
            counts = [0] * len(terms)
            for place, count in await rows(connection, _SQL["frequencies"], params):
                counts[(place - 1) % len(terms)] += count
            for positions, limit in rarer_terms(counts, cap):
                words = [scope[i] for scope in scope_tokens for i in positions]
                params = {"words": words, "tenants": tenants, "limit": limit, "among": counted}
                passage_rows = await rows(connection, _SQL["holding" if among is None else "holding_among"], params)
                if passage_rows:
                    return counts, [passage_number(*row) for row in passage_rows]
            return counts, []

        if not marks or not terms:
            return [0] * len(terms), []
        return await self._transactions.read(work)

    async def near(
        self, marks: Sequence[Mark], embedder: str, vector: bytes, limit: int, among: Sequence[int] | None = None
    ) -> list[int]:
        async def work(connection: Connection) -> list[int]:
            embedder_row = (await known_embedders(connection)).get(embedder)
            if embedder_row is None or embedder_row.dimension != len(vector):
                return []
            params = {
                **of_numbers((mark.number for mark in marks), "scopes"),
                "embedder": embedder_row.number,
                "vector": Signed(vector),
                "limit": limit,
                "among": None if among is None else list(among),
            }
            passage_rows = await rows(connection, _SQL["near" if among is None else "near_among"], params)
            return [passage_number(*row) for row in passage_rows]

        return await self._transactions.read(work) if marks and limit > 0 else []

    async def entries(self, passages: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        async def work(connection: Connection) -> list[Entry]:
            places = [split_passage(number) for number in dict.fromkeys(passages)]
            params = {"contents": [content for content, _ in places], "ns": [n for _, n in places]}
            return await _entries(connection, await rows(connection, _SQL["entries"], params), embedders)

        return await self._transactions.read(work) if passages else []

    async def entries_of(self, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        async def work(connection: Connection) -> list[Entry]:
            entry_rows = await rows(connection, _SQL["entries_of"], of_numbers(dict.fromkeys(records)))
            return await _entries(connection, entry_rows, embedders)

        return await self._transactions.read(work) if records else []

    async def matching(self, tenant: str, filter: Filter) -> list[int]:
        async def work(connection: Connection) -> list[int]:
            return await matching(connection, tenant, filter, self._transactions.now())

        return await self._transactions.read(work)

    async def fetch(self, versions: Sequence[tuple[int, int]]) -> list[Record | None]:
        keys = list(dict.fromkeys(versions))
        params = {"numbers": [number for number, _ in keys], "versions": [version for _, version in keys]}
        stored_rows = await self._transactions.ask(_SQL["fetch"], params) if keys else []
        stored_records = readable(stored_rows, self._transactions.damage)
        records = {
            (stored_record.number, stored_record.record.version): stored_record.record
            for stored_record in stored_records
        }
        return [records.get(key) for key in versions]


def _mark(row: Sequence[Any]) -> Mark:
    kind, id, number, seq, epoch, passages, terms = row
    return Mark(Scope(kind, id), number, seq, epoch, passages, terms)


async def _entries(
    connection: Connection, entry_rows: Sequence[tuple[Any, ...]], embedders: Sequence[str], scope: int | None = None
) -> list[Entry]:
    """Entries from rows of the block `entry`, with their vectors; `scope` where they are all that it has."""
    by_name = await known_embedders(connection) if embedders and entry_rows else {}
    columns: list[Vectors] = []
    for name in embedders:
        embedder = by_name.get(name)
        if embedder is None:
            columns.append({})
        elif scope is not None:
            params = {"tenant": tenant_of(scope), "scope": scope, "embedder": embedder.number}
            columns.append(_vectors(await rows(connection, _SQL["whole_vectors"], params)))
        else:
            content_params = {**of_numbers({row[2] for row in entry_rows}, "contents"), "embedder": embedder.number}
            columns.append(_vectors(await rows(connection, _SQL["vectors_of"], content_params)))
    return list(_with_vectors(entry_rows, columns))


def _vectors(vector_rows: Sequence[tuple[Any, ...]]) -> Vectors:
    values = signed([row[2] for row in vector_rows])
    return {(row[0], row[1]): value for row, value in zip(vector_rows, values, strict=True)}


def _with_vectors(entry_rows: Iterable[tuple[Any, ...]], columns: Sequence[Vectors]) -> Iterable[Entry]:
    for row in entry_rows:
        number, version, content, n, length, terms, start, stop, session, position, at, pinned, importance, expires = (
            row
        )
        vectors = tuple([column.get((content, n)) for column in columns])
        yield Entry(
            number, version, passage_number(content, n), n, length, terms, start, stop, session, position, at, pinned,
            importance, expires, vectors,
        )  # fmt: skip
