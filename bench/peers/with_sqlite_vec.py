# pyright: basic, reportMissingImports=false
# (the stubs of apsw name a type that this Python may not have)

"""Plain sqlite-vec: floats, cosine, every row compared; the texts in a table beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import sqlite_vec

from bench.peers.measured import Vectors, run

_NEAREST = """
SELECT t.id FROM (SELECT rowid, distance FROM near WHERE vector MATCH ? AND k = ?) n
JOIN texts t ON t.number = n.rowid ORDER BY n.distance
"""


class SqliteVec:
    def __init__(self, folder: Path) -> None:
        self._db = apsw.Connection(str(folder / "vectors.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE texts (number INTEGER PRIMARY KEY, id TEXT, text TEXT)")
        self._db.execute("CREATE VIRTUAL TABLE near USING vec0 (vector float[256] distance_metric = cosine)")

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        numbers = [int(id) + 1 for id in ids]
        with self._db:
            self._db.executemany("INSERT INTO texts VALUES (?, ?, ?)", list(zip(numbers, ids, texts, strict=True)))
            rows = [(number, vector.tobytes()) for number, vector in zip(numbers, vectors, strict=True)]
            self._db.executemany("INSERT INTO near (rowid, vector) VALUES (?, ?)", rows)

    def search(self, text: str, vector: Vectors, limit: int) -> list[str]:  # noqa: ARG002 - dense only
        return [id for (id,) in self._db.execute(_NEAREST, (vector.tobytes(), limit))]


if __name__ == "__main__":
    run(SqliteVec, ["apsw", "sqlite-vec"], 1_000, "dense only, exact; WAL, synchronous=FULL; vectors given")
