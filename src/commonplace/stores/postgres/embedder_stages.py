"""From some embedders to others, while the store is searched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from commonplace.errors import EmbedderChanged, WrongDimension
from commonplace.ports.embedder_stages import StagedEmbedder, Unembedded
from commonplace.stores.postgres.adapt import Signed
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.maintenance import lock_owners
from commonplace.stores.postgres.rows import VECTORS, insert
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.postgres.writes import Known, known_embedders, of_numbers, own_store, tenant_of

_SQL = statements("sql/embedder_stages.sql")


class SqlEmbedderStages:
    """Satisfies the port `EmbedderStages`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def stages(self) -> dict[str, StagedEmbedder]:
        result = await self._transactions.ask(_SQL["stages"])
        return {name: StagedEmbedder(dimension, stage) for name, dimension, stage, _ in result}

    async def announce(self, embedders: Mapping[str, int]) -> None:
        async def work(connection: Connection) -> None:
            await own_store(connection)
            doomed = [
                number
                for name, dimension, stage, number in await rows(connection, _SQL["stages"])
                if stage != "active" and (stage != "coming" or embedders.get(name) != dimension)
            ]
            for statement in ("drop_vectors_of", "drop_embedders") if doomed else ():
                await connection.execute(_SQL[statement], {"numbers": doomed})
            for name, dimension in embedders.items():
                await connection.execute(_SQL["announce"], {"name": name, "dimension": dimension})

        await self._transactions.write(work)

    async def unembedded(self, after: int, limit: int) -> list[Unembedded]:
        async def work(connection: Connection) -> list[Unembedded]:
            contents = await rows(connection, _SQL["unembedded"], {"after": after, "limit": limit})
            spans: dict[int, list[tuple[int, int]]] = {number: [] for number, *_ in contents}
            for content, start, stop in await rows(connection, _SQL["spans"], of_numbers(list(spans), "contents")):
                spans[content].append((start, stop))
            return [Unembedded(number, text, by, tuple(spans[number])) for number, text, by, _ in contents]

        return await self._transactions.read(work)

    async def count_unembedded(self) -> int:
        return (await self._transactions.ask(_SQL["count_unembedded"]))[0][0]

    async def add_vectors(self, vectors: Mapping[int, Sequence[Mapping[str, bytes]]]) -> None:
        async def work(connection: Connection) -> None:
            active = {name for name, _, stage, _ in await rows(connection, _SQL["stages"]) if stage == "active"}
            names = {name for passages in vectors.values() for passage in passages for name in passage}
            owners = await lock_owners(connection, list(vectors), epochs=1 if names & active else 0)
            embedders = await known_embedders(connection)
            if not names <= embedders.keys():
                raise EmbedderChanged
            params = of_numbers([row[0] for row in owners], "contents")
            numbers = {"numbers": [embedders[name].number for name in names]}
            spans = [row[0] for row in await rows(connection, _SQL["spans"], params)]
            await connection.execute(_SQL["replaced_vectors"], params | numbers)
            new_rows: list[tuple[Any, ...]] = []
            for content, _, _, _, _, scope, is_live in owners:
                if spans.count(content) == len(vectors[content]):
                    new_rows += _vector_rows(content, scope if is_live else None, vectors[content], embedders)
            await insert(connection, VECTORS, new_rows)

        if vectors:
            await self._transactions.write(work)

    async def promote(self, names: Collection[str]) -> None:
        async def work(connection: Connection) -> None:
            await own_store(connection)
            if not set(names) <= (await known_embedders(connection)).keys():
                raise EmbedderChanged
            await connection.execute(_SQL["forget_stages"])
            await connection.execute(_SQL["promote"], {"names": list(names)})

        await self._transactions.write(work)


def _vector_rows(
    content: int, scope: int | None, passages: Sequence[Mapping[str, bytes]], embedders: Mapping[str, Known]
) -> list[tuple[Any, ...]]:
    new_rows: list[tuple[Any, ...]] = []
    for n, passage in enumerate(passages):
        for name, values in passage.items():
            if len(values) != embedders[name].dimension:
                raise WrongDimension
            new_rows.append((tenant_of(content), content, n, embedders[name].number, scope, Signed(values)))
    return new_rows
