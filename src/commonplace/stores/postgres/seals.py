"""The audit's seals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg import errors

from commonplace.ports.journal import Entries
from commonplace.ports.seals import TrimRow
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.seals import LOWEST, MOST, MOST_TRIMMED, TRIM, SealRow, SealWalk, make_seal, seal_of
from commonplace.values.moment import to_ms
from commonplace.values.seal import Seal, SealState

_SQL = statements("sql/seals.sql")


class SqlSeals:
    """
    Satisfies the port `SealStore`. Of two writers the one with the larger number may commit first, so that nothing is sealed before
    all writers that had begun have ended.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def seal(self, at: datetime) -> Seal | None:
        frontier = await self._transactions.write(_frontier)
        if frontier is None:
            return None
        seal = await self._transactions.read(lambda connection: _next(connection, to_ms(at), frontier))
        if seal is None:
            return None
        params = {
            "number": seal.number,
            "at": seal.at,
            "last": seal.last,
            "count": seal.count,
            "latest": seal.latest,
            "hash": seal.hash,
        }
        return seal_of(seal) if await self._transactions.count(_SQL["add_seal"], params) else None

    async def state(self, limit: int) -> SealState:
        async def read(connection: Connection) -> SealState:
            seal_rows = await rows(connection, _SQL["newest_seals"], {"limit": limit})
            [(sealed, trimmed, waiting)] = await rows(connection, _SQL["totals"])
            seals = tuple(seal_of(_row(row)) for row in seal_rows)
            return SealState(seals=seals, sealed=sealed, trimmed=trimmed, waiting=waiting)

        return await self._transactions.read(read)

    async def verify(self) -> SealState:
        state, walk = await self.state(1), SealWalk()

        async def step(connection: Connection) -> tuple[SealRow, list[tuple[Any, ...]]] | None:
            return await _after(walk, connection)

        # A read for each seal, so that no snapshot is held for long.
        while (following := await self._transactions.read(step)) is not None:
            if not walk.takes(*following):
                break
        last_trim = await self._transactions.ask(_SQL["last_trim"], {"action": TRIM})
        return walk.result(state, last_trim[0] if last_trim else None)

    async def trim(self, before: datetime, row: TrimRow) -> int:
        async def work(connection: Connection) -> int:
            await connection.execute(_SQL["one_trims"])
            limit, walk, count, seals = to_ms(before), await _trimmed_walk(connection), 0, 0
            while seals < MOST_TRIMMED and (step := await _after(walk, connection)) is not None:
                seal, sealed_rows = step
                if seal.latest >= limit or not walk.takes(seal, sealed_rows):
                    break
                seals, count = seals + 1, count + seal.count
            if not seals:
                return 0
            await connection.execute(_SQL["mark_trimmed"], {"number": walk.number})
            await connection.execute(_SQL["remove_rows"], {"last": walk.last})
            await self._transactions.keep(connection, Entries(audit=(row(walk.number, count),)))
            return count

        return await self._transactions.write(work)


async def _frontier(connection: Connection) -> int | None:
    """The number up to which no further row can come; None if the store is too busy, or empty."""
    try:
        await connection.execute(_SQL["wait_for_writers"])
        await connection.execute(_SQL["keep_writers_out"])
    except errors.LockNotAvailable:
        return None
    [(frontier,)] = await rows(connection, _SQL["frontier"])
    return frontier


async def _next(connection: Connection, at: int, frontier: int) -> SealRow | None:
    seal_rows = await rows(connection, _SQL["last_seal"])
    last = _row(seal_rows[0]) if seal_rows else None
    params = {"after": last.last if last else LOWEST, "last": frontier, "limit": MOST}
    audit_rows = await rows(connection, _SQL["sealed_rows"], params)
    return make_seal(last, at, audit_rows) if audit_rows else None


async def _trimmed_walk(connection: Connection) -> SealWalk:
    """A walk that goes on from the last seal whose rows are gone."""
    walk = SealWalk()
    seal_rows = await rows(connection, _SQL["last_trimmed"])
    walk.before = _row(seal_rows[0]) if seal_rows else None
    return walk


async def _after(walk: SealWalk, connection: Connection) -> tuple[SealRow, list[tuple[Any, ...]]] | None:
    """The next seal, and the rows of its range."""
    seal_rows = await rows(connection, _SQL["seal_after"], {"number": walk.number})
    if not seal_rows:
        return None
    seal = _row(seal_rows[0])
    params = {"after": walk.last, "last": seal.last, "limit": seal.count + 1}
    return seal, await rows(connection, _SQL["sealed_rows"], params)


def _row(row: Sequence[Any]) -> SealRow:
    number, at, last, count, latest, digest, trimmed = row
    return SealRow(number=number, at=at, last=last, count=count, latest=latest, hash=bytes(digest), trimmed=trimmed)
