"""Commonplace through its public door. It makes its own vectors, of records and of questions: that is in its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.peers.measured import Vectors, run
from commonplace import Note, open_memory

SCOPE = "workspace:bench"


class Ours:
    def __init__(self, folder: Path) -> None:
        self._memory = open_memory(folder / "memory.db", embedder="static")

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:  # noqa: ARG002 - it makes its own
        self._memory.put_many(
            [Note(text=text, scope=SCOPE, metadata={"n": id}) for id, text in zip(ids, texts, strict=True)]
        )

    def search(self, text: str, vector: Vectors, limit: int) -> list[str]:  # noqa: ARG002 - as above
        return [str(hit.record.metadata["n"]) for hit in self._memory.search(text, scopes=[SCOPE], limit=limit)]


if __name__ == "__main__":
    run(Ours, ["commonplace"], 1_000, "hybrid search; embedding included, in and out; every commit flushed to the disk")
