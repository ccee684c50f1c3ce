"""Work claimed by lease, so that each job runs once however many daemons there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from commonplace.ports.journal import Entries
from commonplace.values.job import Job, JobState
from commonplace.values.record import Json


class JobQueue(Protocol):
    """
    Jobs are queued through a `Journal`. `tests/contracts/test_job_queue.py` holds each implementation to this.

    A job is claimed by a worker for the time of a lease and held by renewing it. A lease that runs out gives the job to
    the next worker: the crash has used up an attempt. A worker that lost its lease can change nothing any more.

    Of the jobs of one line at most one is running, in all processes together. Where there is no room for one in its line,
    `note` raises QueueFull and keeps nothing.
    """

    async def claim_job(
        self, kinds: Sequence[str], worker: str, lease: timedelta, *, tenant: str | None = None, line: str | None = None
    ) -> Job | None:
        """
        The oldest job of these kinds, and where they are named of this tenant and this line, that is queued and due, or whose lease ran out, now running for `worker`, its
        attempts raised by one. One that has used up its attempts is not handed out again: it has failed, with the code
        `attempts_exhausted`. One whose line has a job that is running waits for that. No two workers ever get the same one.
        """
        ...

    async def renew_job(self, id: str, worker: str, lease: timedelta, *, progress: int, total: int) -> bool:
        """Hold on to a job and tell its progress. False: it is not this worker's any more; stop working."""
        ...

    async def job_workers(self) -> list[str]:
        """The workers that hold a job by a lease which has not run out."""
        ...

    async def end_leases(self, workers: Sequence[str]) -> int:
        """
        The leases of these workers, which are known to be dead, run out now; how many those are. A job that another worker holds by
        then stays with that one.
        """
        ...

    async def finish_job(self, id: str, worker: str, result: Mapping[str, Json], entries: Entries) -> bool:
        """The job is done, and what is private in its payload is forgotten. False as above, and then nothing was kept."""
        ...

    async def fail_job(
        self,
        id: str,
        worker: str,
        code: str,
        message: str,
        *,
        retry_in: timedelta | None,
        entries: Entries,
        counts: bool = True,
    ) -> bool:
        """
        This attempt failed. With `retry_in` it is queued again, unless its attempts are used up; without, it has failed for
        good. One that does not count, since nobody here is to blame, uses up no attempt. False as above.
        """
        ...

    async def job(self, tenant: str, id: str) -> Job:
        """Raises NotFound."""
        ...

    async def open_job(self, tenant: str, kind: str, unique: str) -> str | None:
        """The id of the job with this mark that waits or runs. No payload is read for it."""
        ...

    async def list_jobs(
        self, tenant: str, *, kinds: Sequence[str] = (), states: Sequence[JobState] = (), limit: int = 100
    ) -> list[Job]:
        """Newest first, without what is private in their payloads."""
        ...

    async def retry_job(self, tenant: str, id: str, entries: Entries) -> Job:
        """Queue a failed job again, its attempts counted anew. Raises NotFound, and Conflict where it has not failed."""
        ...

    async def drop_job(self, tenant: str, id: str, entries: Entries) -> None:
        """Forget a job that is not running. Raises NotFound, Conflict."""
        ...

    async def trim_jobs(self, *, older_than: timedelta, keep: int, failed: timedelta | None = None) -> int:
        """
        Forget jobs that ended longer ago, those that `failed`, which may hold what somebody said, after a time of their own, and
        the oldest ended beyond `keep`. How many that were.
        """
        ...
