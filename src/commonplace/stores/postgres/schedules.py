"""What agents are told by themselves, and where nothing is."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from commonplace.ports.journal import Entries
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.rows import moment
from commonplace.stores.schedules import pause_of, schedule_of, values_of
from commonplace.values.moment import to_ms
from commonplace.values.schedule import Schedule, ScheduleChanged, ScheduleNotFound, SchedulePause, TooManySchedules

_SQL = statements("sql/schedules.sql")


class SqlSchedules:
    """Satisfies the port `ScheduleStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add_schedule(self, schedule: Schedule, entries: Entries, *, most: int) -> Schedule:
        params = values_of(schedule)

        async def work(connection: Connection) -> tuple[Schedule, Entries]:
            await _require_room(connection, params, most)
            await self._transactions.keep(connection, entries, (_SQL["add_schedule"], params))
            return schedule, entries

        return await self._transactions.write_beside(work)

    async def schedule(self, tenant: str, id: str) -> Schedule:
        matches = await self._transactions.ask(_SQL["schedule"], {"tenant": tenant, "id": id})
        if not matches:
            raise ScheduleNotFound(id=id)
        return schedule_of(matches[0])

    async def schedules(
        self,
        tenant: str,
        *,
        target: str | None = None,
        subject: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> list[Schedule]:
        params = {"tenant": tenant, "target": target, "subject": subject, "cursor": cursor, "limit": limit}
        return [schedule_of(row) for row in await self._transactions.ask(_SQL["schedules"], params)]

    async def change_schedule(self, schedule: Schedule, entries: Entries, *, most: int | None = None) -> Schedule:
        params = values_of(schedule)

        async def work(connection: Connection) -> tuple[Schedule, Entries]:
            if most is not None:
                await _require_room(connection, params, most)
            if not await rows(connection, _SQL["change_schedule"], params):
                if not await rows(connection, _SQL["schedule"], {"tenant": schedule.tenant, "id": schedule.id}):
                    raise ScheduleNotFound(id=schedule.id)
                raise ScheduleChanged(id=schedule.id)
            await self._transactions.keep(connection, entries)
            return replace(schedule, version=schedule.version + 1), entries

        return await self._transactions.write_beside(work)

    async def remove_schedule(self, tenant: str, id: str, entries: Entries) -> None:
        params = {"tenant": tenant, "id": id}
        await self._transactions.change(_SQL["remove_schedule"], params, entries, ScheduleNotFound(id=id))

    async def due_schedules(self, now: datetime, limit: int) -> list[Schedule]:
        params = {"now": to_ms(now), "limit": limit}
        return [schedule_of(row) for row in await self._transactions.ask(_SQL["due_schedules"], params)]

    async def next_due(self) -> datetime | None:
        [(due,)] = await self._transactions.ask(_SQL["next_due"])
        return moment(due)

    async def pause_schedules(self, pause: SchedulePause, entries: Entries) -> SchedulePause:
        params: dict[str, Any] = {"tenant": pause.tenant, "target": pause.target, "at": to_ms(pause.at), "by": pause.by}
        if await self._written("pause_schedules", params, entries):
            return pause
        pauses = await self.schedule_pauses(pause.tenant)
        return next((earlier for earlier in pauses if earlier.target == pause.target), pause)

    async def resume_schedules(self, tenant: str, target: str, entries: Entries) -> bool:
        return await self._written("resume_schedules", {"tenant": tenant, "target": target}, entries)

    async def schedule_pauses(self, tenant: str) -> list[SchedulePause]:
        return [pause_of(row) for row in await self._transactions.ask(_SQL["schedule_pauses"], {"tenant": tenant})]

    async def _written(self, statement: str, params: dict[str, Any], entries: Entries) -> bool:
        """Whether it changed something; if it did, the entries are kept."""

        async def work(connection: Connection) -> tuple[bool, Entries]:
            if not await rows(connection, _SQL[statement], params):
                return False, Entries()
            await self._transactions.keep(connection, entries)
            return True, entries

        return await self._transactions.write_beside(work)


async def _require_room(connection: Connection, params: dict[str, Any], most: int) -> None:
    await connection.execute(_SQL["lock_target"], params)
    [(count,)] = await rows(connection, _SQL["enabled_schedules"], params)
    if params["enabled"] and count >= most:
        raise TooManySchedules(limit=most)
