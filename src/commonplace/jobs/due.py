"""
Jobs that come again and again, each known by its tenant, kind, name and due time.

These four make the id of a job and its mark, so that all daemons plan the same job for a due time: one of them queues it, one runs it.
Two names of one kind, for instance two schedules of an agent, have jobs of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from commonplace.values.job import Job, NewJob
from commonplace.values.moment import utc
from commonplace.values.record import Json
from commonplace.values.scope import DEFAULT_TENANT

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def last_due(now: datetime, every: timedelta) -> datetime:
    """The latest due time that is not after `now`, the same for everybody: whole multiples of `every` since 1970 (UTC)."""
    return _EPOCH + (now - _EPOCH) // every * every


def recurring_job(
    kind: str,
    name: str,
    due: datetime,
    *,
    now: datetime,
    tenant: str = DEFAULT_TENANT,
    payload: Mapping[str, Json] | None = None,
    created_by: str = "daemon",
) -> NewJob:
    """The job of `name` for that due time. It is queued once, however often and by whomever it is noted."""
    mark = f"{name} {utc(due).isoformat()}"
    return NewJob(
        id=str(uuid5(NAMESPACE_OID, repr((tenant, kind, mark)))),
        tenant=tenant,
        kind=kind,
        payload=payload or {},
        created_at=now,
        created_by=created_by,
        unique=mark,
        not_before=due,
    )


def is_recurrence(job: Job, name: str) -> bool:
    """Whether the job is one of those of `name`, for whatever due time."""
    # The release before had no due time in the mark.
    return job.unique is not None and name in (job.unique, job.unique.rpartition(" ")[0])
