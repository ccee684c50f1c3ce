# pyright: basic, reportMissingImports=false
# (the peer's package is not installed where the checks run)

"""Chroma on disk, its own settings but for the cosine. Dense only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import chromadb

from bench.peers.measured import Vectors, run


class Chroma:
    def __init__(self, folder: Path) -> None:
        quiet = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=quiet)
        self._records = client.create_collection(
            "bench", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        self._records.add(ids=list(ids), documents=list(texts), embeddings=vectors)

    def search(self, text: str, vector: Vectors, limit: int) -> list[str]:  # noqa: ARG002 - dense only
        return self._records.query(query_embeddings=[vector], n_results=limit)["ids"][0]


if __name__ == "__main__":
    run(Chroma, ["chromadb"], 1_000, "dense only; vectors given, records and questions")
