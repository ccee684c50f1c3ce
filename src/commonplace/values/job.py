"""Jobs: work that outlives the request that asked for it, and the process that began it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from commonplace.values.record import Json

JobState = Literal["queued", "running", "done", "failed"]
ENDED: frozenset[JobState] = frozenset({"done", "failed"})


@dataclass(frozen=True, kw_only=True, slots=True)
class NewJob:
    """
    Work to be queued. `unique` within tenant and kind: while a job with that mark has not ended, another is not queued.
    `not_before` holds it back. `max_attempts` counts crashes too.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """
    A job as it stands. `done` of `total` is its progress. `error_code` and `error` tell why it failed, or why its last
    attempt did; `result` what came of it.
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
