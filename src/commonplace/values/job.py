"""Jobs: work that outlives the request that asked for it, and the process that began it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from commonplace.values.record import Json
from commonplace.values.scope import Scope

JobState = Literal["queued", "running", "done", "failed"]
ENDED: frozenset[JobState] = frozenset({"done", "failed"})


PRIVATE = "private"
"""What lies under this name in a payload is what somebody said. It is forgotten as soon as the job is done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """
    How many jobs of these kinds (none named: of any) may wait or run in a line, and how many `bytes` their payloads may have
    together. One that is alone may have more.
    """

    most: int
    kinds: tuple[str, ...] = ()
    bytes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """
    Jobs of a tenant that are done one after another, whatever their kinds and however many workers there are. One for
    which there is no `room` is not queued. At most `max_jobs` are remembered; the oldest that ended give way.
    """

    name: str
    room: tuple[Room, ...] = ()
    max_jobs: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewJob:
    """
    Work to be queued. `unique` within tenant and kind: while a job with that mark has not ended, another is not queued; nor is it if a
    job of its id is there, in whatever state. Without `unique` such an id is a Conflict. `not_before` holds it back. `max_attempts` counts crashes too. In a `line` it waits for its turn.
    """

    id: str
    tenant: str
    kind: str
    payload: Mapping[str, Json]
    created_at: datetime
    created_by: str
    unique: str | None = None
    client: str | None = None
    not_before: datetime | None = None
    max_attempts: int = 3
    line: Line | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """
    A job as it stands. `done` of `total` is its progress. `error_code` and `error` tell why it failed, or why its last
    attempt did; `result` what came of it. `line` is the name of the one it stands in.
    """

    id: str
    tenant: str
    kind: str
    payload: Mapping[str, Json]
    created_at: datetime
    created_by: str
    updated_at: datetime
    state: JobState = "queued"
    unique: str | None = None
    client: str | None = None
    not_before: datetime | None = None
    max_attempts: int = 3
    attempts: int = 0
    worker: str | None = None
    leased_until: datetime | None = None
    done: int = 0
    total: int = 0
    result: Mapping[str, Json] = field(default_factory=dict[str, Json])
    error_code: str | None = None
    error: str | None = None
    line: str | None = None

    @property
    def is_over(self) -> bool:
        return self.state in ENDED


def scope_of(job: Job) -> Scope | None:
    """The scope that a job writes to, if it is one."""
    scope = job.payload.get("scope")
    return Scope.parse(scope) if isinstance(scope, str) else None
