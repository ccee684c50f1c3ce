"""What a store sheds by itself, every hour, by one daemon for all: old events, replies that expired, counters of times past, jobs that ended, what was said in rooms long ago; and old runs and artifacts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from commonplace.ports.clock import Clock
from commonplace.ports.maintenance import Progress
from commonplace.ports.store import Store
from commonplace.values.job import Job
from commonplace.values.record import Json

if TYPE_CHECKING:
    from commonplace.jobs.payloads import Nothing
    from commonplace.service.services import Services

UPKEEP: Final = "upkeep"
EVERY: Final = timedelta(hours=1)
FAILED_JOBS_KEPT: Final = timedelta(days=7)


async def tidy_files(services: Services) -> Mapping[str, Json]:
    """Delete runs and artifacts whose time is over, and say how many."""
    # What reads them loads slowly, and most programs that close a memory never had any.
    if not services.has_files:
        return {"runs": 0, "artifacts": 0}
    return {"runs": await services.runs.expire(), "artifacts": await services.artifacts.expire()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Housekeeping:
    """
    How long, and how many at most, are kept of what is no memory. A job that failed holds what somebody said until it is tried
    again or dropped: it goes sooner.
    """

    store: Store
    clock: Clock
    events_kept: timedelta
    most_events: int
    jobs_kept: timedelta = timedelta(days=30)
    failed_jobs_kept: timedelta = FAILED_JOBS_KEPT
    most_jobs: int = 10_000
    end_sessions: Callable[[], Awaitable[int]] | None = None
    expire_history: Callable[[], Awaitable[int]] | None = None
    room_messages_kept: timedelta | None = None
    tidy_files: Callable[[], Awaitable[Mapping[str, Json]]] | None = None

    async def run(self, job: Job, payload: Nothing, progress: Progress) -> Mapping[str, Json]:
        """What a worker does with a job of kind `upkeep`."""
        del job, payload
        store, before = self.store, self.clock.now() - self.events_kept
        counts: dict[str, Json] = {"events": await store.events.trim_events(before=before, keep=self.most_events)}
        progress(1, 3)
        counts["replies"] = await store.journal.trim_replies()
        counts["quotas"] = await store.quotas.trim_quotas()
        counts["sessions"] = await store.keys.trim_sessions()
        progress(2, 3)
        counts["jobs"] = await store.jobs.trim_jobs(
            older_than=self.jobs_kept, keep=self.most_jobs, failed=self.failed_jobs_kept
        )
        await store.maintenance.keep_reserve()
        if self.end_sessions is not None:
            counts["session_records"] = await self.end_sessions()
        if self.expire_history is not None:
            counts["history_sessions"] = await self.expire_history()
        if self.room_messages_kept is not None:
            before = self.clock.now() - self.room_messages_kept
            counts["room_messages"] = await store.channels.trim_messages(before)
        if self.tidy_files is not None:
            counts |= await self.tidy_files()
        progress(3, 3)
        return counts
