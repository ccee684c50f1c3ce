# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Vectors by the hash of what was embedded."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from commonplace.stores.sqlite.rows import one
from commonplace.stores.sqlite.transactions import Transactions

_CACHED = "SELECT vector FROM vector_cache WHERE hash = ? AND embedder = ?"
_CACHE = "INSERT OR REPLACE INTO vector_cache (hash, embedder, vector) VALUES (?, ?, ?)"
_UNCACHE = "DELETE FROM vector_cache WHERE hash = ?"


class SqlVectorCache:
    """Satisfies the port `VectorCache`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def cached(self, embedder: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        def work(db: apsw.Connection) -> dict[bytes, bytes]:
            cached = ((key, one(db, _CACHED, (key, embedder))) for key in hashes)
            return {key: row[0] for key, row in cached if row}

        return await self._transactions.read(work)

    async def cache(self, embedder: str, vectors: dict[bytes, bytes]) -> None:
        def work(db: apsw.Connection) -> None:
            db.executemany(_CACHE, [(key, embedder, vector) for key, vector in vectors.items()])

        await self._transactions.write(work)

    async def uncache(self, hashes: Sequence[bytes]) -> None:
        def work(db: apsw.Connection) -> None:
            db.executemany(_UNCACHE, [(key,) for key in hashes])

        await self._transactions.write(work)
