# pyright: basic, reportMissingImports=false
# (the stubs of apsw name a type that this Python may not have)

"""Plain FTS5: Porter stems, every word of the question OR-ed, SQLite's own bm25()."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import apsw

from bench.peers.measured import Vectors, run


class Fts5:
    def __init__(self, folder: Path) -> None:
        self._db = apsw.Connection(str(folder / "words.db"))
        self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._db.execute("CREATE VIRTUAL TABLE notes USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")

    def add(self, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:  # noqa: ARG002 - words only
        with self._db:
            self._db.executemany("INSERT INTO notes VALUES (?, ?)", list(zip(ids, texts, strict=True)))

    def search(self, text: str, vector: Vectors, limit: int) -> list[str]:  # noqa: ARG002 - words only
        asked = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text.lower()))
        found = self._db.execute("SELECT id FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (asked, limit))
        return [id for (id,) in found]


if __name__ == "__main__":
    run(Fts5, ["apsw"], 1_000, "words only; WAL, synchronous=FULL")
