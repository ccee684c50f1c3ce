# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""The audit's seals."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import apsw

from commonplace.ports.journal import Entries
from commonplace.ports.seals import TrimRow
from commonplace.stores.queries import load
from commonplace.stores.seals import (
    COLUMNS,
    HIGHEST,
    LOWEST,
    MOST,
    MOST_TRIMMED,
    TRIM,
    SealRow,
    SealWalk,
    make_seal,
    seal_of,
)
from commonplace.stores.sqlite.entries import write_entries
from commonplace.stores.sqlite.rows import Row, one, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.moment import to_ms
from commonplace.values.seal import Seal, SealState

SQL = load("commonplace.stores.sqlite", "sql/seals.sql")
_ROWS = f"SELECT {COLUMNS} FROM audit WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"
_LAST_TRIM = f"SELECT {COLUMNS} FROM audit WHERE action = ? ORDER BY number DESC LIMIT 1"


class SqlSeals:
    """Satisfies the port `SealStore`. A number is never given twice, and one writer commits at a time: what is there is final."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def seal(self, at: datetime) -> Seal | None:
        seal = await self._transactions.read(lambda db: _next(db, to_ms(at)))
        if seal is None:
            return None
        values = (seal.number, seal.at, seal.last, seal.count, seal.latest, seal.hash)
        added = await self._transactions.change(SQL["add_seal"], values)
        return seal_of(seal) if added else None

    async def state(self, limit: int) -> SealState:
        def read(db: apsw.Connection) -> SealState:
            seals = tuple(seal_of(_row(row)) for row in rows(db, SQL["newest_seals"], (limit,)))
            sealed, trimmed, waiting = one(db, SQL["totals"]) or (0, 0, 0)
            return SealState(seals=seals, sealed=sealed, trimmed=trimmed, waiting=waiting)

        return await self._transactions.read(read)

    async def verify(self) -> SealState:
        state, walk = await self.state(1), SealWalk()
        # A read for each seal, so that no snapshot is held for long.
        while (step := await self._transactions.read(partial(_after, walk))) is not None:
            if not walk.takes(*step):
                break
        last_trim = await self._transactions.read(lambda db: one(db, _LAST_TRIM, (TRIM,)))
        return walk.result(state, last_trim)

    async def trim(self, before: datetime, row: TrimRow) -> int:
        def work(db: apsw.Connection) -> int:
            limit, walk, count, seals = to_ms(before), _trimmed_walk(db), 0, 0
            while seals < MOST_TRIMMED and (step := _after(walk, db)) is not None:
                seal, sealed_rows = step
                if seal.latest >= limit or not walk.takes(seal, sealed_rows):
                    break
                seals, count = seals + 1, count + seal.count
            if not seals:
                return 0
            db.execute(SQL["mark_trimmed"], (walk.number,))
            db.execute(SQL["remove_rows"], (walk.last,))
            write_entries(db, Entries(audit=(row(walk.number, count),)), self._transactions.now())
            return count

        return await self._transactions.write(work)


def _next(db: apsw.Connection, at: int) -> SealRow | None:
    before = one(db, SQL["last_seal"])
    last = _row(before) if before else None
    audit_rows = rows(db, _ROWS, (last.last if last else LOWEST, HIGHEST, MOST))
    return make_seal(last, at, audit_rows) if audit_rows else None


def _trimmed_walk(db: apsw.Connection) -> SealWalk:
    """A walk that goes on from the last seal whose rows are gone."""
    walk = SealWalk()
    before = one(db, SQL["last_trimmed"])
    walk.before = _row(before) if before else None
    return walk


def _after(walk: SealWalk, db: apsw.Connection) -> tuple[SealRow, list[Row] | None] | None:
    """The next seal, and the rows of its range."""
    row = one(db, SQL["seal_after"], (walk.number,))
    if row is None:
        return None
    seal = _row(row)
    try:
        return seal, rows(db, _ROWS, (walk.last, seal.last, seal.count + 1))
    except (apsw.CorruptError, UnicodeDecodeError):
        return seal, None


def _row(row: Row) -> SealRow:
    number, at, last, count, latest, digest, trimmed = row
    return SealRow(
        number=number, at=at, last=last, count=count, latest=latest, hash=bytes(digest), trimmed=bool(trimmed)
    )
