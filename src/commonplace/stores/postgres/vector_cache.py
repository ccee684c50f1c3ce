"""Vectors by the hash of what was embedded."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.stores.postgres.connection import Connection, statements
from commonplace.stores.postgres.transactions import Transactions

_SQL = statements("sql/vector_cache.sql")


class SqlVectorCache:
    """Satisfies the port `VectorCache`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def cached(self, embedder: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        params = {"embedder": embedder, "hashes": list(hashes)}
        return dict(await self._transactions.ask(_SQL["cached"], params) if hashes else [])

    async def cache(self, embedder: str, vectors: dict[bytes, bytes]) -> None:
        async def work(connection: Connection) -> None:
            params = {"embedder": embedder, "hashes": list(vectors), "vectors": list(vectors.values())}
            await connection.execute(_SQL["cache"], params)

        if vectors:
            await self._transactions.write(work)

    async def uncache(self, hashes: Sequence[bytes]) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute(_SQL["uncache"], {"hashes": list(hashes)})

        if hashes:
            await self._transactions.write(work)
