"""Where schedules are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from commonplace.ports.journal import Entries
from commonplace.values.schedule import Schedule, SchedulePause


class ScheduleStore(Protocol):
    """
    `tests/contracts/test_schedule_store.py` holds each implementation to this. Of several who change a schedule at once one is first, so that each due
    time is queued once over all daemons: a change names the version that it is made of.
    """

    async def add_schedule(self, schedule: Schedule, entries: Entries, *, most: int) -> Schedule:
        """
        Raises:
            TooManySchedules: the target has `most` that are enabled already.
        """
        ...

    async def schedule(self, tenant: str, id: str) -> Schedule:
        """Raises ScheduleNotFound."""
        ...

    async def schedules(
        self,
        tenant: str,
        *,
        target: str | None = None,
        subject: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> list[Schedule]:
        """Newest first; those older than the one with the id `cursor`."""
        ...

    async def change_schedule(self, schedule: Schedule, entries: Entries, *, most: int | None = None) -> Schedule:
        """
        Keep it in place of the version that it names, and answer it with the next one; with it `entries`.

        Raises:
            ScheduleNotFound, ScheduleChanged: it is gone, or is another version by now.
            TooManySchedules: `most` others of its target are enabled.
        """
        ...

    async def remove_schedule(self, tenant: str, id: str, entries: Entries) -> None:
        """Raises ScheduleNotFound."""
        ...

    async def due_schedules(self, now: datetime, limit: int) -> list[Schedule]:
        """Of all tenants: those that are due, the one that waits longest first."""
        ...

    async def next_due(self) -> datetime | None:
        """When the next one of any tenant is due; None: there is none."""
        ...

    async def pause_schedules(self, pause: SchedulePause, entries: Entries) -> SchedulePause:
        """The first that paused these targets stays."""
        ...

    async def resume_schedules(self, tenant: str, target: str, entries: Entries) -> bool:
        """False: they were not paused; then nothing is kept."""
        ...

    async def schedule_pauses(self, tenant: str) -> list[SchedulePause]:
        """The oldest first."""
        ...
