# pyright: basic, reportMissingImports=false
# (the peer's package is not installed where the checks run)

"""mem0 without an LLM: `infer=False`, its local Qdrant, our vectors handed over as its embedder.

Its `add` takes one record. Where that could never reach the size asked for, records go past it straight into its vector
store, so that the search can still be measured; the rate is then not its own and is not reported.
"""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from bench.peers.measured import Vectors, run

# It wants a key even where it calls nobody, and writes to the home folder, both at import.
os.environ.setdefault("OPENAI_API_KEY", "unused")
os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp()

from mem0 import Memory

PAST_ADD = "--past-add" in sys.argv


class Handed:
    """An embedder that returns what was laid ready."""

    def __init__(self) -> None:
        self.ready: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - its signature
        return self.ready[text]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:  # noqa: ARG002
        return [self.ready[text] for text in texts]


class Mem0:
    def __init__(self, folder: Path) -> None:
        place = {
            "collection_name": "bench",
            "path": str(folder / "qdrant"),
            "embedding_model_dims": 256,
            "on_disk": True,
        }
        self._memory = Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": place}, "history_db_path": str(folder / "history.db")}
        )
        self._handed = Handed()
        self._memory.embedding_model = self._handed

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        if PAST_ADD:
            told = [
                {"data": text, "user_id": "bench", "n": id, "hash": ""} for id, text in zip(ids, texts, strict=True)
            ]
            self._memory.vector_store.insert(vectors.tolist(), ids=[str(uuid.uuid4()) for _ in ids], payloads=told)
            return
        for id, text, vector in zip(ids, texts, vectors, strict=True):
            self._handed.ready = {text: vector.tolist()}
            self._memory.add(text, user_id="bench", metadata={"n": id}, infer=False)

    def search(self, text: str, vector: Vectors, limit: int) -> list[str]:
        self._handed.ready = {text: vector.tolist()}
        found = self._memory.search(text, filters={"user_id": "bench"}, top_k=limit, threshold=0.0)
        return [hit["metadata"]["n"] for hit in found["results"]]


if __name__ == "__main__":
    way = "loaded past `add`, straight into its vector store" if PAST_ADD else "one `add` a record: there is no other"
    sys.argv = [told for told in sys.argv if told != "--past-add"]
    run(
        Mem0,
        ["mem0ai", "qdrant-client"],
        500 if PAST_ADD else 10,
        f"dense only, infer=False, local Qdrant; vectors given; {way}",
    )
