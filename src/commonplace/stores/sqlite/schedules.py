# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""What agents are told by themselves, and where nothing is."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from commonplace.ports.journal import Entries
from commonplace.stores.queries import load
from commonplace.stores.schedules import pause_of, schedule_of, values_of
from commonplace.stores.sqlite.rows import moment, one, rows
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.values.moment import to_ms
from commonplace.values.schedule import Schedule, ScheduleChanged, ScheduleNotFound, SchedulePause, TooManySchedules

SQL = load("commonplace.stores.sqlite", "sql/schedules.sql")
_NOTHING = Entries()


class SqlSchedules:
    """Satisfies the port `ScheduleStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_schedule(self, schedule: Schedule, entries: Entries, *, most: int) -> Schedule:
        bound = values_of(schedule)

        def add(db: apsw.Connection) -> Schedule:
            _require_room(db, bound, most)
            db.execute(SQL["add_schedule"], bound)
            return schedule

        return await self._transactions.keep(add, entries)

    async def schedule(self, tenant: str, id: str) -> Schedule:
        row = await self._transactions.read(lambda db: one(db, SQL["schedule"], {"tenant": tenant, "id": id}))
        if row is None:
            raise ScheduleNotFound(id=id)
        return schedule_of(row)

    async def schedules(
        self,
        tenant: str,
        *,
        target: str | None = None,
        subject: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> list[Schedule]:
        bound = {"tenant": tenant, "target": target, "subject": subject, "cursor": cursor, "limit": limit}
        return [schedule_of(row) for row in await self._transactions.read(lambda db: rows(db, SQL["schedules"], bound))]

    async def change_schedule(self, schedule: Schedule, entries: Entries, *, most: int | None = None) -> Schedule:
        bound = values_of(schedule)

        def change(db: apsw.Connection) -> Schedule:
            if most is not None:
                _require_room(db, bound, most)
            db.execute(SQL["change_schedule"], bound)
            if db.changes():
                return replace(schedule, version=schedule.version + 1)
            if one(db, SQL["schedule"], {"tenant": schedule.tenant, "id": schedule.id}) is None:
                raise ScheduleNotFound(id=schedule.id)
            raise ScheduleChanged(id=schedule.id)

        return await self._transactions.keep(change, entries)

    async def remove_schedule(self, tenant: str, id: str, entries: Entries) -> None:
        def remove(db: apsw.Connection) -> None:
            db.execute(SQL["remove_schedule"], {"tenant": tenant, "id": id})
            if not db.changes():
                raise ScheduleNotFound(id=id)

        await self._transactions.keep(remove, entries)

    async def due_schedules(self, now: datetime, limit: int) -> list[Schedule]:
        bound = {"now": to_ms(now), "limit": limit}
        due = await self._transactions.read(lambda db: rows(db, SQL["due_schedules"], bound))
        return [schedule_of(row) for row in due]

    async def next_due(self) -> datetime | None:
        row = await self._transactions.read(lambda db: one(db, SQL["next_due"]))
        return moment(row[0]) if row else None

    async def pause_schedules(self, pause: SchedulePause, entries: Entries) -> SchedulePause:
        bound: dict[str, Any] = {"tenant": pause.tenant, "target": pause.target, "at": to_ms(pause.at), "by": pause.by}

        def add(db: apsw.Connection) -> bool:
            db.execute(SQL["pause_schedules"], bound)
            return db.changes() == 1

        if await self._transactions.keep_beside(add, lambda added: entries if added else _NOTHING):
            return pause
        pauses = await self.schedule_pauses(pause.tenant)
        return next((earlier for earlier in pauses if earlier.target == pause.target), pause)

    async def resume_schedules(self, tenant: str, target: str, entries: Entries) -> bool:
        def remove(db: apsw.Connection) -> bool:
            db.execute(SQL["resume_schedules"], {"tenant": tenant, "target": target})
            return db.changes() == 1

        return await self._transactions.keep_beside(remove, lambda removed: entries if removed else _NOTHING)

    async def schedule_pauses(self, tenant: str) -> list[SchedulePause]:
        bound = {"tenant": tenant}
        pauses = await self._transactions.read(lambda db: rows(db, SQL["schedule_pauses"], bound))
        return [pause_of(row) for row in pauses]


def _require_room(db: apsw.Connection, bound: dict[str, Any], most: int) -> None:
    [(count,)] = rows(db, SQL["enabled_schedules"], bound)
    if bound["enabled"] and count >= most:
        raise TooManySchedules(limit=most)
