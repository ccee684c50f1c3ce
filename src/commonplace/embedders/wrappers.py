"""Embedders around an embedder: the same vectors, asked for in smaller portions or only once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from commonplace.ports.embedder import Embedder, Floats
from commonplace.ports.vector_cache import VectorCache
from commonplace.text.digest import text_hash


class Batched:
    """Asks for at most `size` texts at a time, one batch after another."""

    def __init__(self, embedder: Embedder, size: int) -> None:
        if size < 1:
            raise ValueError("a batch has at least one text")
        self._embedder = embedder
        self._size = size

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str]) -> Floats:
        if len(texts) <= self._size:
            return await self._embedder.embed(texts)
        starts = range(0, len(texts), self._size)
        return np.concatenate([await self._embedder.embed(texts[at : at + self._size]) for at in starts])

    async def aclose(self) -> None:
        await self._embedder.aclose()


class Cached:
    """Asks only for texts whose vectors `cache` does not hold, each once, and remembers what it hears."""

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str]) -> Floats:
        if not texts:
            return await self._embedder.embed(texts)
        hashes = [text_hash(text) for text in texts]
        vectors = await self._cache.cached(self.name, list(dict.fromkeys(hashes)))
        missing = {hashed: text for hashed, text in zip(hashes, texts, strict=True) if hashed not in vectors}
        if missing:
            rows = await self._embedder.embed(list(missing.values()))
            heard = {hashed: row.astype("<f4").tobytes() for hashed, row in zip(missing, rows, strict=True)}
            await self._cache.cache(self.name, heard)
            vectors = {**vectors, **heard}
        flat = b"".join(vectors[hashed] for hashed in hashes)
        return np.frombuffer(flat, dtype="<f4").reshape(len(texts), -1).astype(np.float32)

    async def aclose(self) -> None:
        """Closes the embedder; the cache belongs to its store."""
        await self._embedder.aclose()
