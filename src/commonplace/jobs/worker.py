"""
The worker of a daemon: claims jobs, runs them, and records how they ended.

Each kind of job has a queue of its own with a concurrency, so that a long import never keeps the upkeep waiting. A job is held by a
lease that is renewed while it runs. A daemon that dies leaves its job to the next one when the lease ends; another worker of the
same machine that sees its process gone (`leases`) ends the lease at once. An attempt that ends in an error of the moment, of a
provider or of the store, does not count for a day: an outage buries no job. A crash counts, so that a job that kills its worker
is not tried for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import anyio

from commonplace.errors import StoreClosed, StoreError
from commonplace.jobs.due import is_recurrence, last_due, recurring_job
from commonplace.jobs.leases import is_gone, process_space, worker_name
from commonplace.jobs.queue import Queue
from commonplace.jobs.retry import STOPPED, RetryDecision, decide_retry
from commonplace.ports.clock import Clock
from commonplace.ports.jobs import JobQueue
from commonplace.ports.journal import Entries, Journal
from commonplace.values.audit import AuditRow
from commonplace.values.event import Event, News
from commonplace.values.job import Job, NewJob, scope_of
from commonplace.values.moment import new_id
from commonplace.values.record import Json
from commonplace.values.scope import DEFAULT_TENANT

LEASE: Final = timedelta(seconds=60)
_LOOK_EVERY: Final = 1.0
_LOOKS_A_LEASE: Final = 2
_PAUSE: Final = 2.0
_PROGRESS_EVERY: Final = 1.0
_LAST_WORDS: Final = 2.0

log = logging.getLogger(__name__)


class JobStore(Protocol):
    """The ports of a `Store` that a worker needs."""

    @property
    def jobs(self) -> JobQueue: ...

    @property
    def journal(self) -> Journal: ...


@dataclass(slots=True)
class _ProgressReport:
    """How far a handler says it is."""

    count: int = 0
    total: int = 0

    def update(self, count: int, total: int) -> None:
        self.count, self.total = count, total

    def current(self) -> tuple[int, int]:
        return self.count, self.total


class Worker:
    """
    `run` it in a task; cancel that to stop, and the jobs that it was running go back to the queue. It calls `counted` with the
    kind of each job and what became of it, and `ended` with the id of a job when it has recorded how an attempt at it ended.
    """

    def __init__(
        self,
        store: JobStore,
        clock: Clock,
        queues: Mapping[str, Queue[Any]],
        *,
        lease: timedelta = LEASE,
        look_every: float = _LOOK_EVERY,
        counted: Callable[[str, str], None] = lambda _kind, _state: None,
        ended: Callable[[str], None] = lambda _id: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._queues = dict(queues)
        self._lease = lease
        self._look_every = look_every
        self._counted = counted
        self._on_end = ended
        self._awake = {kind: asyncio.Event() for kind in queues}
        self._planned_at: dict[str, float] = {}
        self.name = worker_name()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_leases)
            for kind, queue in self._queues.items():
                tasks.start_soon(self._serve, kind, queue)

    def hear(self, event: Event) -> None:
        """An event of the log: a job that was queued, here or by another daemon, is looked for at once."""
        kind = str(event.news.data.get("kind"))
        if event.news.type == "job.queued":
            self.wake(kind)
        elif event.news.type in ("job.done", "job.failed") and (queue := self._queues.get(kind)):
            self.wake(*queue.wakes)

    def wake(self, *kinds: str) -> None:
        """There may be jobs of these kinds to run."""
        for kind in kinds:
            if awake := self._awake.get(kind):
                awake.set()

    # ---- workers that died

    async def _watch_leases(self) -> None:
        """End the leases of workers that are known to be dead, again and again."""
        while process_space():
            try:
                await self._end_leases()
            except StoreClosed:
                return
            except StoreError as error:
                log.warning("leases of dead workers have to wait for the store: %s", error.code)
            await asyncio.sleep(_LOOKS_A_LEASE * self._look_every)

    async def _end_leases(self) -> None:
        dead = [worker for worker in await self._store.jobs.job_workers() if worker != self.name and is_gone(worker)]
        if dead and (count := await self._store.jobs.end_leases(dead)):
            log.warning("%d jobs of dead workers go on here: %s", count, ", ".join(dead))
            self.wake(*self._queues)

    # ---- a queue

    async def _serve(self, kind: str, queue: Queue[Any]) -> None:
        """Begin a job whenever there is one and fewer run than may."""
        places = asyncio.Semaphore(queue.concurrency)
        async with anyio.create_task_group() as running:
            while True:
                await places.acquire()
                if (job := await self._next(kind, queue)) is None:
                    return
                self._counted(kind, "started")
                running.start_soon(self._run, job, queue, places)

    async def _next(self, kind: str, queue: Queue[Any]) -> Job | None:
        """The next job, as soon as there is one. None: the store is closed."""
        with suppress(StoreClosed):
            while True:
                async with self._outliving(kind):
                    await self._plan(kind, queue)
                    self._awake[kind].clear()
                    if (job := await self._claim(kind, queue)) is not None:
                        return job
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._look_every):
                            await self._awake[kind].wait()
        return None

    async def _run(self, job: Job, queue: Queue[Any], places: asyncio.Semaphore) -> None:
        try:
            with suppress(StoreClosed):
                async with self._outliving(job.kind):
                    await self._work(job, queue)
        finally:
            places.release()
            self.wake(*queue.wakes)

    @asynccontextmanager
    async def _outliving(self, kind: str) -> AsyncGenerator[None]:
        """Whatever goes wrong in it is logged, and ends no other job. Raises StoreClosed."""
        try:
            yield
        except StoreClosed:
            raise
        except StoreError as error:
            log.warning("jobs of kind %s have to wait for the store: %s", kind, error.code)
            await asyncio.sleep(_PAUSE)
        except Exception:
            log.exception("a job of kind %s could not be ended", kind)
            await asyncio.sleep(_PAUSE)

    async def _plan(self, kind: str, queue: Queue[Any]) -> None:
        """Queue the job that comes again and again, unless there is one that waits, runs, or was there for this due time."""
        at, every = asyncio.get_running_loop().time(), queue.every
        if every is None or at - self._planned_at.get(kind, float("-inf")) < every.total_seconds():
            return
        open_jobs = await self._store.jobs.list_jobs(DEFAULT_TENANT, kinds=[kind], states=["queued", "running"])
        if not any(is_recurrence(job, kind) for job in open_jobs):
            now = self._clock.now()
            await self._store.journal.note(Entries(jobs=(recurring_job(kind, kind, last_due(now, every), now=now),)))
        self._planned_at[kind] = at

    async def _claim(self, kind: str, queue: Queue[Any]) -> Job | None:
        """The next job. One that was claimed while this is cancelled is given back: others may be waiting for its end."""
        claim = asyncio.ensure_future(
            self._store.jobs.claim_job([kind], self.name, self._lease, tenant=queue.tenant, line=queue.line)
        )
        try:
            return await asyncio.shield(claim)
        except asyncio.CancelledError:
            with anyio.move_on_after(_LAST_WORDS, shield=True), suppress(StoreError):
                if (job := await claim) is not None:
                    await self._give_back(job)
            raise

    # ---- a job

    async def _work(self, job: Job, queue: Queue[Any]) -> None:
        """Run a job and record how it ended, or give it back if this is cancelled."""
        tasks: list[asyncio.Future[Any]] = []
        try:
            await self._handle(job, queue, tasks)
        except asyncio.CancelledError:
            await self._give_back(job, *tasks)
            raise

    async def _handle(self, job: Job, queue: Queue[Any], tasks: list[asyncio.Future[Any]]) -> None:
        progress = _ProgressReport()
        if queue.every is None:
            with suppress(StoreError):
                await self._store.journal.note(self._entries(job, "job.started", attempt=job.attempts))
        handling = asyncio.ensure_future(queue.run(job, progress.update))
        holding = asyncio.create_task(self._hold(job, progress))
        tasks += [handling, holding]
        await asyncio.wait({handling, holding}, return_when=asyncio.FIRST_COMPLETED)
        if not handling.done():
            log.warning("job %s is another worker's by now", job.id)
            await _cancel(handling)
            return
        await _cancel(holding)
        await self._end(job, queue, handling)

    async def _hold(self, job: Job, progress: _ProgressReport) -> None:
        """Renew the lease and publish the progress, until the job is not ours any more."""
        now, lease = asyncio.get_running_loop().time, self._lease.total_seconds()
        renewed_at, published, published_at = now(), progress.current(), float("-inf")
        while True:
            await asyncio.sleep(min(_PROGRESS_EVERY, lease / 3))
            started, current = now(), progress.current()
            has_moved = current != published and started - published_at >= _PROGRESS_EVERY
            if not has_moved and started - renewed_at < lease / 3:
                continue
            count, total = current
            try:
                if not await self._store.jobs.renew_job(job.id, self.name, self._lease, progress=count, total=total):
                    return
                renewed_at = started
                if has_moved:
                    published, published_at = current, started
                    await self._store.journal.note(self._entries(job, "job.progress", done=count, total=total))
            except StoreError as error:
                log.warning("job %s cannot be held: %s", job.id, error.code)
                if now() - renewed_at >= lease:
                    return

    async def _end(self, job: Job, queue: Queue[Any], handling: asyncio.Future[Mapping[str, Json]]) -> None:
        error = asyncio.CancelledError() if handling.cancelled() else handling.exception()
        if error is None:
            result, entries = handling.result(), self._end_entries(job, queue, None)
            if queue.events is not None:
                entries = replace(entries, events=(*entries.events, *queue.events(job, result)))
            await self._record(job, "done", lambda: self._store.jobs.finish_job(job.id, self.name, result, entries))
            return
        decision = decide_retry(error, job, self._clock.now(), queue.patience)
        if decision.unexpected:
            log.error("job %s of kind %s failed", job.id, job.kind, exc_info=error)
        ending = "retried" if decision.is_retried(job) else "failed"
        await self._record(job, ending, lambda: self._fail(job, decision, self._end_entries(job, queue, decision)))

    def _fail(self, job: Job, decision: RetryDecision, entries: Entries) -> Awaitable[bool]:
        return self._store.jobs.fail_job(
            job.id,
            self.name,
            decision.code,
            decision.message,
            retry_in=decision.retry_in,
            counts=decision.counts,
            entries=entries,
        )

    async def _record(self, job: Job, ending: str, write: Callable[[], Awaitable[bool]]) -> None:
        """Write how it ended, again and again while the store is away; after the lease somebody else has the job anyway."""
        now, pause = asyncio.get_running_loop().time, 0.1
        until = now() + self._lease.total_seconds()
        while True:
            try:
                if await write():
                    self._counted(job.kind, ending)
                    self._on_end(job.id)
                else:
                    log.warning("job %s is another worker's by now", job.id)
                return
            except StoreClosed:
                raise
            except StoreError:
                if now() >= until:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, _PAUSE)

    async def _give_back(self, job: Job, *tasks: asyncio.Future[Any]) -> None:
        """The daemon stops. The attempt does not count, and nobody has to wait for the lease."""
        with anyio.move_on_after(_LAST_WORDS, shield=True):
            for task in tasks:
                await _cancel(task)
            with suppress(StoreError):
                data: dict[str, Json] = {"attempt": job.attempts, "code": STOPPED.code}
                await self._fail(job, STOPPED, self._entries(job, "job.queued", **data))

    # ---- audit and events

    def _end_entries(self, job: Job, queue: Queue[Any], decision: RetryDecision | None) -> Entries:
        """A job that comes every hour is not mentioned unless it fails, and plans the next."""
        now = self._clock.now()
        is_retried = decision is not None and decision.is_retried(job)
        jobs = () if queue.every is None or is_retried else (_next_recurrence(job.kind, queue.every, now),)
        if decision is None:
            if queue.every is not None:
                return Entries(jobs=jobs)
            entries = self._entries(job, "job.done", attempt=job.attempts)
        else:
            event = "job.queued" if is_retried else "job.failed"
            entries = self._entries(job, event, attempt=job.attempts, code=decision.code)
        row = AuditRow(
            id=new_id(now),
            at=now,
            tenant=job.tenant,
            actor=job.created_by,
            action="job.run",
            outcome="ok" if decision is None else "failed",
            scope=scope_of(job),
            door="worker",
            client=job.client,
            details={"job": job.id, "kind": job.kind, "attempt": job.attempts, **_code(decision)},
        )
        return Entries(audit=(row,), events=entries.events, jobs=jobs)

    def _entries(self, job: Job, type: str, **data: Json) -> Entries:  # noqa: A002 - as events call it
        scope = scope_of(job)
        news = News(
            type=type,
            tenant=job.tenant,
            at=self._clock.now(),
            scope=scope,
            actor=job.created_by,
            client=job.client,
            admins=scope is None,
            data={"job": job.id, "kind": job.kind, **data},
        )
        return Entries(events=(news,))


def _code(decision: RetryDecision | None) -> dict[str, Json]:
    return {} if decision is None else {"code": decision.code}


def _next_recurrence(kind: str, every: timedelta, now: datetime) -> NewJob:
    return recurring_job(kind, kind, last_due(now, every) + every, now=now)


async def _cancel(task: asyncio.Future[Any]) -> None:
    """Cancel a task and wait for its end, whatever that is."""
    task.cancel()
    await asyncio.wait({task})
