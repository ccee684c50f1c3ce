# pyright: basic, reportMissingImports=false
# (the peer's package is not installed where the checks run)

"""mcp-memory-service through its SQLite storage, hybrid retrieval, our vectors handed over as its model."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.peers.measured import Vectors, run

os.environ["MCP_MEMORY_BASE_DIR"] = tempfile.mkdtemp()

from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.utils.hashing import generate_content_hash

logging.disable(logging.INFO)


class Handed:
    """A model that returns what was laid ready."""

    embedding_dimension = 256

    def __init__(self) -> None:
        self.ready: dict[str, Vectors] = {}

    def encode(self, texts: Sequence[str], convert_to_numpy: bool = True) -> Vectors:  # noqa: ARG002 - its signature
        return np.stack([self.ready[text] for text in texts])


class Storage(SqliteVecMemoryStorage):
    """Its own, but for the model."""

    async def _initialize_embedding_model(self) -> None:
        self.embedding_model, self.embedding_dimension = Handed(), Handed.embedding_dimension


class McpMemoryService:
    def __init__(self, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._storage = Storage(str(folder / "memory.db"))
        self._loop.run_until_complete(self._storage.initialize())

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        self._storage.embedding_model.ready = dict(zip(texts, vectors, strict=True))
        told = [
            Memory(content=text, content_hash=generate_content_hash(text), tags=["bench"], metadata={"n": id})
            for id, text in zip(ids, texts, strict=True)
        ]
        self._loop.run_until_complete(self._storage.store_batch(told))

    def search(self, text: str, vector: Vectors, limit: int) -> list[str]:
        self._storage.embedding_model.ready = {text: vector}
        found = self._loop.run_until_complete(self._storage.retrieve_hybrid(text, n_results=limit))
        return [hit.memory.metadata["n"] for hit in found]


if __name__ == "__main__":
    run(McpMemoryService, ["mcp-memory-service"], 500, "hybrid retrieval, store_batch; vectors given")
