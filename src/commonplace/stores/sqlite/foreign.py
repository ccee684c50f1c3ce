# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""
A store that was not made here, opened because a workspace's file named it.

It may have been made by anybody, so what it claims does not count. Its records are read with a label that nobody trusts, and what its
knowledge was promoted to is forgotten. It has no keys, users, budgets and jobs, and takes none: a job can read folders and write files.
Whoever reads meets views of the same names that stand before the tables, and SQLite itself refuses to write the others, so that no
statement, now or later, can leave that out. Triggers and views of the file are switched off. None of this is written into the file;
`marks` tells which stores are ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import apsw

from commonplace.ports.clock import Clock
from commonplace.ports.journal import Beside, Entries
from commonplace.ports.knowledge import BesideRecording
from commonplace.stores.sqlite.connection import Readers, WriterThread
from commonplace.stores.sqlite.knowledge import SqlKnowledge
from commonplace.stores.sqlite.records import SqlRecords
from commonplace.stores.sqlite.rows import rows
from commonplace.stores.sqlite.schema import open_writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.values.knowledge import Item, ItemStatus, Recording, Space
from commonplace.values.record import TRUSTED, Draft, Lineage, Record, Trust, Written

LABEL: Final[Trust] = "external_user_supplied"
# What is not one of these could be any text, which is shown to a model beside what it labels.
_LOWER: Final = f"CASE WHEN trust IN ('connector_sourced', 'model_generated') THEN trust ELSE '{LABEL}' END"
_STATUS: Final = "CASE WHEN status IN ('deprecated', 'quarantined') THEN status ELSE 'working' END"
# What stands in place of a column, by table.
_VIEWS: Final[dict[str, dict[str, str]]] = {
    "records": {"trust": _LOWER},
    "versions": {"trust": _LOWER},
    "knowledge_spaces": {"trust_level": "'working'"},
    "knowledge_items": {"trust_level": "'working'", "status": _STATUS, "reviewer": "NULL", "approval": "NULL"},
}
_EMPTY: Final = ("keys", "users", "budgets", "jobs")
_INSERT, _UPDATE = apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE
_REFUSED: Final = frozenset({*((_INSERT, table) for table in _EMPTY), (_UPDATE, "users"), (_UPDATE, "knowledge_items")})


def harden(db: apsw.Connection) -> None:
    """Nothing that stands in the file runs by itself."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def _authorise(action: int, table: str | None, *_: str | None) -> int:
    return apsw.SQLITE_DENY if (action, (table or "").lower()) in _REFUSED else apsw.SQLITE_OK


def lower(db: apsw.Connection) -> None:
    """Put the views before the tables, for this connection alone."""
    harden(db)
    for table, instead in _VIEWS.items():
        # Names of columns are the file's own: SQLite does not tell capital letters from small ones in them.
        names = [str(name) for _, name, *_ in rows(db, f"PRAGMA main.table_info({table})")]
        columns = (f"{instead.get(name.lower(), _quoted(name))} AS {_quoted(name)}" for name in names)
        db.execute(f"CREATE TEMP VIEW {table} AS SELECT {', '.join(columns)} FROM main.{table}")
    for table in _EMPTY:
        db.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE 0")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _lowered(record: Record) -> Record:
    return replace(record, trust=LABEL) if record.trust in TRUSTED else record


def _outcomes(outcomes: Sequence[Written]) -> list[Written]:
    return [replace(outcome, record=_lowered(outcome.record)) for outcome in outcomes]


class ForeignRecords(SqlRecords):
    """As `SqlRecords`. A record that is changed here gets the label it is read with."""

    async def put(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Written]:
        return _outcomes(await super().put(drafts, beside=beside))

    async def revise(self, drafts: Sequence[Draft], *, beside: Beside | None = None) -> list[Record]:
        return [_lowered(record) for record in await super().revise(drafts, beside=beside)]

    async def load(self, lineages: Sequence[Lineage], *, beside: Beside | None = None) -> list[Written]:
        return _outcomes(await super().load(lineages, beside=beside))


class ForeignKnowledge(SqlKnowledge):
    """As `SqlKnowledge`, but nothing in it was ever reviewed."""

    async def put_space(self, space: Space, entries: Entries) -> Space:
        return replace(await super().put_space(space, entries), trust_level="working")

    async def record_item(self, item: Item, beside: BesideRecording) -> Recording:
        recording = await super().record_item(item, beside)
        return replace(recording, item=_not_reviewed(recording.item))

    def again(self, current: Item, item: Item) -> Recording:
        """What is there is not ours to change."""
        del item
        return Recording(item=current, outcome="unchanged")


def _not_reviewed(item: Item) -> Item:
    status: ItemStatus = item.status if item.status in ("deprecated", "quarantined") else "working"
    return replace(item, trust_level="working", status=status, reviewer=None, approval=None)


class ForeignStore(SqliteStore):
    """
    As `SqliteStore`, but its labels, keys, users, budgets and jobs do not count. What would add to them raises StoreNotAdopted.
    """

    def __init__(self, path: Path, writer: WriterThread, readers: Readers, clock: Clock) -> None:
        super().__init__(path, writer, readers, clock)
        self.records = ForeignRecords(self._transactions)
        self.knowledge = ForeignKnowledge(self._transactions)

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> ForeignStore:
        """As SqliteStore.open."""
        writer = await asyncio.to_thread(open_writer, path, harden)
        writer.authorizer = _authorise
        return cls(path, WriterThread(writer), Readers(path, lower), clock)
