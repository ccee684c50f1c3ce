# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""
Reading a damaged file: one statement for many rows fails with the first row that cannot be read, so each row gets its own.

Only rows are looked up here, by the number that their table is ordered by, never an index: an index may be what is damaged.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import apsw

from commonplace.errors import StoreCorrupt
from commonplace.stores.damage import DamageLog
from commonplace.stores.sqlite.rows import CURRENT, PAST, Row, Where, one, record, salvaged
from commonplace.values.record import Lineage, Record, Unreadable, renumbered

T = TypeVar("T")
DAMAGED: Final = (apsw.CorruptError, UnicodeDecodeError, StoreCorrupt)
_LAST: Final = "SELECT next FROM counters WHERE name = 'records'"
_HEAD: Final = (
    "SELECT version, deleted_at IS NULL AND superseded_by IS NULL AND demoted = 0 FROM records WHERE number = ?"
)
_PAGE: Final = "its page of the file is damaged"


def attempt(work: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """What `work` returns, or, of a damaged file, what `otherwise` does."""
    try:
        return work()
    except DAMAGED:
        return otherwise()


def numbers(
    db: apsw.Connection, clause: Where, keys: Sequence[str], damage: DamageLog, after: int = 0
) -> Iterator[Row]:
    """Number, id and the sort `keys` of each record that fits, in the order of their numbers, as far as rows can be read."""
    columns = ", ".join(("v.number", "v.id", *keys))
    sql = f"SELECT {columns} FROM records v WHERE v.number = :salvaged AND {' AND '.join(clause.conditions)}"
    for number in every_number(db, after):
        try:
            row = one(db, sql, clause.bound | {"salvaged": number})
        except DAMAGED:
            damage.note(f"number {number}", _PAGE)
            continue
        if row is not None:
            yield row


def every_number(db: apsw.Connection, after: int = 0) -> range:
    """Those that records have or had."""
    return range(after + 1, int(db.execute(_LAST).get))


def readable(rows: Sequence[Row], damage: DamageLog) -> list[Record]:
    """Those of the rows that are records; of the others somebody is told."""
    records: list[Record] = []
    for row in rows:
        try:
            records.append(record(row))
        except StoreCorrupt as error:
            damage.note(str(error.details["id"]), str(error.details["reason"]))
    return records


def page(
    db: apsw.Connection, clause: Where, keys: Sequence[str], *, descending: bool, limit: int, damage: DamageLog
) -> list[Row]:
    """As a listing reads them: rows of CURRENT and their sort keys, in order."""
    heads = sorted(numbers(db, clause, keys, damage), key=_sort_key, reverse=descending)
    sql = CURRENT.replace(" FROM records v", f", {', '.join(keys)} FROM records v") + " WHERE v.number = ?"
    rows: list[Row] = []
    for number, id, *_ in heads:
        if len(rows) >= limit:
            break
        try:
            row = one(db, sql, (number,))
        except DAMAGED:
            damage.note(_name(number, id), _PAGE)
            continue
        if row is not None:
            rows.append(row)
    return rows


def _sort_key(head: Row) -> list[tuple[bool, object]]:
    return [(isinstance(value, str), value) for value in head[2:]]


def current(db: apsw.Connection, number: int, version: int, damage: DamageLog) -> Record | None:
    """One version of a record; None if it is not there or cannot be read."""
    try:
        for source in (CURRENT, PAST):
            row = one(db, f"{source} WHERE v.number = ? AND v.version = ?", (number, version))
            if row is not None:
                return record(row)
    except DAMAGED as error:
        name = str(error.details["id"]) if isinstance(error, StoreCorrupt) else f"number {number}"
        damage.note(name, _PAGE)
    return None


def life(db: apsw.Connection, number: int, id: bytes, once: bytes | None) -> tuple[Lineage | None, list[Unreadable]]:
    """A record with the versions that can be read, counted anew, and what could not be read of it."""
    name, lost = _name(number, id), list[Unreadable]()
    try:
        head = one(db, _HEAD, (number,))
    except DAMAGED:
        head = None
    if head is None:
        return None, [Unreadable(id=name, reason=_PAGE)]
    last, is_live = int(head[0]), bool(head[1])
    versions: list[Record] = []
    for version in range(1, last + 1):
        stored = _version(db, number, version, last, name, lost)
        if stored is not None:
            versions.append(stored)
        elif version == last and not is_live:
            # What was deleted does not come back because its last version cannot be read.
            return None, lost
    if not versions:
        return None, lost
    return Lineage(renumbered(versions), {}, once), lost


def _version(
    db: apsw.Connection, number: int, version: int, last: int, name: str, lost: list[Unreadable]
) -> Record | None:
    source = CURRENT if version == last else PAST
    try:
        row = one(db, f"{source} WHERE v.number = ? AND v.version = ?", (number, version))
        if row is None:
            lost.append(Unreadable(id=name, reason=f"version {version} or its text is missing"))
            return None
        stored, parts = salvaged(row)
    except DAMAGED:
        lost.append(Unreadable(id=name, reason=f"version {version} is damaged"))
        return None
    if parts:
        lost.append(Unreadable(id=name, reason=f"{', '.join(parts)} of version {version} left out: no valid JSON"))
    return stored


def _name(number: int, id: object) -> str:
    return str(uuid.UUID(bytes=id)) if isinstance(id, bytes) and len(id) == 16 else f"number {number}"
