# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""From some embedders to others, while the store is searched."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import apsw

from commonplace.errors import EmbedderChanged
from commonplace.ports.embedder_stages import StagedEmbedder, Unembedded
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import one, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.stores.sqlite.writes import PASSAGES, check_vector

SQL = load("commonplace.stores.sqlite", "sql/embedder_stages.sql")


class SqlEmbedderStages:
    """Satisfies the port `EmbedderStages`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def stages(self) -> dict[str, StagedEmbedder]:
        return await self._transactions.read(_stages)

    async def announce(self, embedders: Mapping[str, int]) -> None:
        await self._transactions.write(lambda db: _announce(db, embedders))

    async def unembedded(self, after: int, limit: int) -> list[Unembedded]:
        return await self._transactions.read(lambda db: _unembedded(db, after, limit))

    async def count_unembedded(self) -> int:
        counting = f"SELECT count(*) FROM ({SQL['unembedded']})"
        return await self._transactions.read(lambda db: db.execute(counting, {"after": 0, "limit": -1}).get)

    async def add_vectors(self, vectors: Mapping[int, Sequence[Mapping[str, bytes]]]) -> None:
        await self._transactions.write(lambda db: _add_vectors(db, vectors))

    async def promote(self, names: Collection[str]) -> None:
        await self._transactions.write(lambda db: _promote(db, names))


def _stages(db: apsw.Connection) -> dict[str, StagedEmbedder]:
    return {name: StagedEmbedder(dimension, stage) for name, dimension, stage, _ in rows(db, SQL["stages"])}


def _announce(db: apsw.Connection, embedders: Mapping[str, int]) -> None:
    for name, dimension, stage, number in rows(db, SQL["stages"]):
        if stage == "active" or (stage == "coming" and embedders.get(name) == dimension):
            continue
        db.execute("DELETE FROM vectors WHERE embedder = ?", (number,))
        db.execute("DELETE FROM embedders WHERE number = ?", (number,))
        db.execute("DELETE FROM embedder_stages WHERE name = ?", (name,))
    for name in embedders.keys() - _stages(db).keys():
        db.execute("INSERT INTO embedders (name, dimension) VALUES (?, ?)", (name, embedders[name]))
        db.execute("INSERT INTO embedder_stages (name, stage) VALUES (?, 'coming')", (name,))


def _unembedded(db: apsw.Connection, after: int, limit: int) -> list[Unembedded]:
    contents = rows(db, SQL["unembedded"], {"after": after, "limit": limit})
    return [
        Unembedded(number, text, speaker, tuple(rows(db, SQL["spans"], {"content": number})))
        for number, text, speaker in contents
    ]


def _add_vectors(db: apsw.Connection, vectors: Mapping[int, Sequence[Mapping[str, bytes]]]) -> None:
    numbers = dict[str, int](rows(db, "SELECT name, number FROM embedders"))
    stages = _stages(db)
    dimensions = {name: embedder.dimension for name, embedder in stages.items()}
    read_anew: set[int] = set()
    for content, passages in vectors.items():
        home = one(db, SQL["home_of_content"], (content,))
        if home is None or home[2] != len(passages):
            continue
        scope, is_live, _ = home
        shelf = scope if is_live else -scope
        for n, passage in enumerate(passages):
            for name, vector in passage.items():
                check_vector(dimensions, name, vector)
                bound = (numbers[name], shelf, content * PASSAGES + n, vector)
                db.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", bound)
                if stages[name].stage == "active":
                    read_anew.add(scope)
    db.executemany("UPDATE scopes SET epoch = epoch + 1 WHERE number = ?", [(scope,) for scope in read_anew])


def _promote(db: apsw.Connection, names: Collection[str]) -> None:
    if not set(names) <= _stages(db).keys():
        raise EmbedderChanged
    db.execute("DELETE FROM embedder_stages")
    db.execute(SQL["promote"], (json.dumps(list(names)),))
