"""What recall reads: passages by scope, by word and by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from commonplace.ports.recall import Changes, Entry, Mark
from commonplace.stores.postgres.adapt import Signed, signed, tokens
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.reads import matching
from commonplace.stores.postgres.rows import held_of, passage_number, split_passage, tenant_of
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.postgres.writes import known_embedders, of_numbers
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
        named = None if scopes is None else list(scopes)
        params = {
            "tenant": tenant,
            "kinds": None if named is None else [scope.kind for scope in named],
            "ids": None if named is None else [scope.id for scope in named],
        }
        return [_mark(row) for row in await self._transactions.ask(_SQL["marks"], params)]

    async def changes(self, mark: Mark, after: int, embedders: Sequence[str]) -> Changes:
        async def work(connection: Connection) -> Changes:
            params = {"tenant": tenant_of(mark.number), "number": mark.number, "scope": mark.number, "after": after}
            now = await rows(connection, _SQL["mark"], params)
            if not now:
                return Changes(mark, [], [])
            gone = [number for (number,) in await rows(connection, _SQL["gone"], params)] if after else []
            found = await rows(connection, _SQL["since" if after else "whole"], params)
            scope = None if after else mark.number
            return Changes(_mark(now[0]), gone, await _entries(connection, found, embedders, scope))

        return await self._transactions.read(work)

    async def as_of(self, mark: Mark, moment: datetime, embedders: Sequence[str]) -> list[Entry]:
        async def work(connection: Connection) -> list[Entry]:
            params = {"tenant": tenant_of(mark.number), "scope": mark.number, "moment": to_ms(moment)}
            return await _entries(connection, await rows(connection, _SQL["as_of"], params), embedders)

        return await self._transactions.read(work)

    async def words(
        self, marks: Sequence[Mark], terms: Sequence[int], cap: int, among: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        async def work(connection: Connection) -> tuple[list[int], list[int]]:
            asked = [tokens(mark.number, terms) for mark in marks]
            counted = None if among is None else list(among)
            tenants = of_numbers(mark.number for mark in marks)["tenants"]
            params = {"words": [token for scope in asked for token in scope], "tenants": tenants}
            counts = [0] * len(terms)
            for place, count in await rows(connection, _SQL["frequencies"], params):
                counts[(place - 1) % len(terms)] += count
            for wanted, limit in _rarer(counts, cap):
                words = [scope[i] for scope in asked for i in wanted]
                params = {"words": words, "tenants": tenants, "limit": limit, "among": counted}
                found = await rows(connection, _SQL["holding" if among is None else "holding_among"], params)
                if found:
                    return counts, [passage_number(*row) for row in found]
            return counts, []

        if not marks or not terms:
            return [0] * len(terms), []
        return await self._transactions.read(work)

    async def near(
        self, marks: Sequence[Mark], embedder: str, vector: bytes, limit: int, among: Sequence[int] | None = None
    ) -> list[int]:
        async def work(connection: Connection) -> list[int]:
            known = (await known_embedders(connection)).get(embedder)
            if known is None or known.dimension != len(vector):
                return []
            params = {
                **of_numbers((mark.number for mark in marks), "scopes"),
                "embedder": known.number,
                "vector": Signed(vector),
                "limit": limit,
                "among": None if among is None else list(among),
            }
            found = await rows(connection, _SQL["near" if among is None else "near_among"], params)
            return [passage_number(*row) for row in found]

        return await self._transactions.read(work) if marks and limit > 0 else []

    async def entries(self, passages: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        async def work(connection: Connection) -> list[Entry]:
            places = [split_passage(number) for number in dict.fromkeys(passages)]
            params = {"contents": [content for content, _ in places], "ns": [n for _, n in places]}
            return await _entries(connection, await rows(connection, _SQL["entries"], params), embedders)

        return await self._transactions.read(work) if passages else []

    async def entries_of(self, records: Sequence[int], embedders: Sequence[str]) -> list[Entry]:
        async def work(connection: Connection) -> list[Entry]:
            found = await rows(connection, _SQL["entries_of"], of_numbers(dict.fromkeys(records)))
            return await _entries(connection, found, embedders)

        return await self._transactions.read(work) if records else []

    async def matching(self, tenant: str, filter: Filter) -> list[int]:
        async def work(connection: Connection) -> list[int]:
            return await matching(connection, tenant, filter, self._transactions.now())

        return await self._transactions.read(work)

    async def fetch(self, versions: Sequence[tuple[int, int]]) -> list[Record | None]:
        asked = list(dict.fromkeys(versions))
        params = {"numbers": [number for number, _ in asked], "versions": [version for _, version in asked]}
        found = map(held_of, await self._transactions.ask(_SQL["fetch"], params) if asked else [])
        records = {(held.number, held.record.version): held.record for held in found}
        return [records.get(wanted) for wanted in versions]


def _mark(row: Sequence[Any]) -> Mark:
    kind, id, number, seq, epoch, passages, terms = row
    return Mark(Scope(kind, id), number, seq, epoch, passages, terms)


def _rarer(counts: Sequence[int], cap: int) -> Iterator[tuple[list[int], int | None]]:
    """Which terms to fetch passages for, and how many at most (None: all); then, which if there are none."""
    there = sorted((i for i, count in enumerate(counts) if count), key=lambda i: counts[i])
    rare = [i for i in there if counts[i] <= cap]
    if rare:
        yield rare, None
    yield from (([i], cap) for i in there[len(rare) :])


async def _entries(
    connection: Connection, found: Sequence[tuple[Any, ...]], embedders: Sequence[str], scope: int | None = None
) -> list[Entry]:
    """Entries from rows of the block `entry`, with their vectors; `scope` where they are all that it has."""
    known = await known_embedders(connection) if embedders and found else {}
    columns: list[Vectors] = []
    for name in embedders:
        embedder = known.get(name)
        if embedder is None:
            columns.append({})
        elif scope is not None:
            params = {"tenant": tenant_of(scope), "scope": scope, "embedder": embedder.number}
            columns.append(_vectors(await rows(connection, _SQL["whole_vectors"], params)))
        else:
            asked = {**of_numbers({row[2] for row in found}, "contents"), "embedder": embedder.number}
            columns.append(_vectors(await rows(connection, _SQL["vectors_of"], asked)))
    return list(_with_vectors(found, columns))


def _vectors(found: Sequence[tuple[Any, ...]]) -> Vectors:
    values = signed([row[2] for row in found])
    return {(row[0], row[1]): value for row, value in zip(found, values, strict=True)}


def _with_vectors(found: Iterable[tuple[Any, ...]], columns: Sequence[Vectors]) -> Iterable[Entry]:
    for row in found:
        number, version, content, n, length, terms, start, stop, session, position, at, pinned, importance, expires = (
            row
        )
        vectors = tuple([column.get((content, n)) for column in columns])
        yield Entry(
            number, version, passage_number(content, n), n, length, terms, start, stop, session, position, at, pinned,
            importance, expires, vectors,
        )  # fmt: skip
