"""A queue: the jobs of one kind, what is done with them, and how many at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeAlias, TypeVar

from commonplace.jobs.payloads import PayloadFormat
from commonplace.jobs.retry import PATIENCE
from commonplace.ports.maintenance import Progress
from commonplace.values.event import News
from commonplace.values.job import Job
from commonplace.values.record import Json

P = TypeVar("P")

Handler: TypeAlias = Callable[[Job, P, Progress], Awaitable[Mapping[str, Json]]]
"""Runs a job with its payload, and returns what came of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue(Generic[P]):
    """
    What a worker does with the jobs of a kind, whose payloads `payload` reads. It runs at most `concurrency` of them at once; of those that stand in one line, one.

    `every`: such a job comes again and again, once for each due time over all workers of the store. `events` are published when a job is done, beside
    those that every job has. `wakes`: the kinds whose jobs stand in the same lines, and can begin when one of these ends. `tenant`
    and `line`: the worker takes no other jobs than these. `patience`: how long an error of the moment is waited out without counting.
    """

    handler: Handler[P]
    payload: PayloadFormat[P]
    concurrency: int = 1
    every: timedelta | None = None
    events: Callable[[Job, Mapping[str, Json]], tuple[News, ...]] | None = None
    wakes: tuple[str, ...] = ()
    tenant: str | None = None
    line: str | None = None
    patience: timedelta = PATIENCE

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("A queue runs at least one job at once.")

    async def run(self, job: Job, progress: Progress) -> Mapping[str, Json]:
        """Raises InvalidInput: the payload cannot be read."""
        return await self.handler(job, self.payload.read(job.payload), progress)
