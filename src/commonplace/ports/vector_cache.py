"""Vectors that were computed before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class VectorCache(Protocol):
    """
    Vectors by the hash of what was embedded, for embedders that cost time or money. Derived: may be emptied.
    `tests/contracts/test_vector_cache.py` holds each implementation to this.
    """

    async def cached(self, embedder: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those of `hashes` that are known, as float32 bytes."""
        ...

    async def cache(self, embedder: str, vectors: dict[bytes, bytes]) -> None: ...

    async def uncache(self, hashes: Sequence[bytes]) -> None:
        """Forget these under every embedder: their text was purged."""
        ...
