"""
The worker of a daemon: claims jobs, does them, and tells how they ended.

Each kind of job has a lane of its own, one job at a time, so that a long import never keeps the upkeep waiting. A job is held
by a lease that is renewed while it is worked on. A daemon that dies leaves its job to the next one when the lease ends; another
worker of the same machine that sees its process gone (`leases`) ends the lease at once. An attempt that ends in an error of the
moment, of a provider or of the store, does not count for a day: an outage buries no job. A crash counts, so that a job that kills
its worker is not tried for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeAlias

import anyio

from commonplace.errors import StoreClosed, StoreError
from commonplace.jobs.leases import is_gone, process_space, worker_name
from commonplace.jobs.retry import STOPPED, Verdict, judge
from commonplace.ports.clock import Clock
from commonplace.ports.jobs import JobQueue
from commonplace.ports.journal import Entries, Journal
from commonplace.ports.keeping import Progress
from commonplace.values.audit import AuditRow
from commonplace.values.event import Event, News
from commonplace.values.job import Job, NewJob, scope_of
from commonplace.values.moment import new_id
from commonplace.values.record import Json
from commonplace.values.scope import DEFAULT_TENANT

LEASE: Final = timedelta(seconds=60)
_LOOK_EVERY: Final = 1.0
_PAUSE: Final = 2.0
_TOLD_EVERY: Final = 1.0
_LOOKS_A_LEASE: Final = 2
_LAST_WORDS: Final = 2.0

Handler: TypeAlias = Callable[[Job, Progress], Awaitable[Mapping[str, Json]]]
log = logging.getLogger(__name__)


class Queue(JobQueue, Journal, Protocol):
    """What a worker needs of a store."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """
    What is done with the jobs of a kind. With `every` there is always one such job for the whole store, so often. `told` is what
    else is to be told of one that is done. `shares`: the kinds that may stand in one line with it, and wait for its end. `tenant`
    and `line`: the only ones whose jobs this worker can do.
    """

    handler: Handler
    every: timedelta | None = None
    told: Callable[[Job, Mapping[str, Json]], tuple[News, ...]] | None = None
    shares: tuple[str, ...] = ()
    tenant: str | None = None
    line: str | None = None


@dataclass(slots=True)
class _Done:
    """How far a handler says it is."""

    done: int = 0
    total: int = 0

    def told(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def now(self) -> tuple[int, int]:
        return self.done, self.total


class Worker:
    """
    `run` it in a task; cancel that to stop, and what it was working on goes back to the queue. `counted` is called with the
    kind of each job and what became of it, `ended` with the id of one when it is told how an attempt at it ended.
    """

    def __init__(
        self,
        store: Queue,
        clock: Clock,
        lanes: Mapping[str, Lane],
        *,
        lease: timedelta = LEASE,
        look_every: float = _LOOK_EVERY,
        counted: Callable[[str, str], None] = lambda _kind, _state: None,
        ended: Callable[[str], None] = lambda _id: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._lanes = dict(lanes)
        self._lease = lease
        self._look_every = look_every
        self._counted = counted
        self._told_ended = ended
        self._awake = {kind: asyncio.Event() for kind in lanes}
        self.name = worker_name()

    async def run(self) -> None:
        async with anyio.create_task_group() as lanes:
            lanes.start_soon(self._watch_leases)
            for kind, lane in self._lanes.items():
                lanes.start_soon(self._serve, kind, lane)

    def hear(self, event: Event) -> None:
        """An event of the log: a job that was queued, here or by another daemon, is looked for at once."""
        kind = str(event.news.data.get("kind"))
        if event.news.type == "job.queued":
            self.wake(kind)
        elif event.news.type in ("job.done", "job.failed") and (lane := self._lanes.get(kind)):
            self.wake(*lane.shares)

    def wake(self, *kinds: str) -> None:
        """There may be something to do of these kinds."""
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
        dead = [worker for worker in await self._store.job_workers() if worker != self.name and is_gone(worker)]
        if dead and (count := await self._store.end_leases(dead)):
            log.warning("%d jobs of dead workers go on here: %s", count, ", ".join(dead))
            self.wake(*self._lanes)

    # ---- a lane

    async def _serve(self, kind: str, lane: Lane) -> None:
        now, planned = asyncio.get_running_loop().time, float("-inf")
        while True:
            try:
                if lane.every is not None and now() - planned >= lane.every.total_seconds():
                    await self._store.note(Entries(jobs=(_recurring(kind, self._clock.now()),)))
                    planned = now()
                self._awake[kind].clear()
                job = await self._claimed(kind, lane)
                if job is not None:
                    self._counted(kind, "started")
                    await self._work(job, lane)
                    self.wake(*lane.shares)
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._look_every):
                        await self._awake[kind].wait()
            except StoreClosed:
                return
            except StoreError as error:
                log.warning("jobs of kind %s have to wait for the store: %s", kind, error.code)
                await asyncio.sleep(_PAUSE)
            except Exception:
                log.exception("a job of kind %s could not be ended", kind)
                await asyncio.sleep(_PAUSE)

    async def _claimed(self, kind: str, lane: Lane) -> Job | None:
        """The next job. One that was claimed while this is cancelled is given back: others may be waiting for its end."""
        claiming = asyncio.ensure_future(
            self._store.claim_job([kind], self.name, self._lease, tenant=lane.tenant, line=lane.line)
        )
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with anyio.move_on_after(_LAST_WORDS, shield=True), suppress(StoreError):
                if (job := await claiming) is not None:
                    await self._give_back(job)
            raise

    async def _work(self, job: Job, lane: Lane) -> None:
        """Do a job and tell how it ended, or give it back where this is cancelled."""
        at_it: list[asyncio.Future[Any]] = []
        try:
            await self._do(job, lane, at_it)
        except asyncio.CancelledError:
            await self._give_back(job, *at_it)
            raise

    async def _do(self, job: Job, lane: Lane, at_it: list[asyncio.Future[Any]]) -> None:
        progress = _Done()
        if lane.every is None:
            with suppress(StoreError):
                await self._store.note(self._entries(job, "job.started", attempt=job.attempts))
        doing = asyncio.ensure_future(lane.handler(job, progress.told))
        holding = asyncio.create_task(self._hold(job, progress))
        at_it += [doing, holding]
        await asyncio.wait({doing, holding}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            log.warning("job %s is another worker's by now", job.id)
            await _cancelled(doing)
            return
        await _cancelled(holding)
        await self._end(job, lane, doing)

    async def _hold(self, job: Job, progress: _Done) -> None:
        """Renew the lease and tell the progress, until the job is not ours any more."""
        now, lease = asyncio.get_running_loop().time, self._lease.total_seconds()
        renewed, told, told_at = now(), progress.now(), float("-inf")
        while True:
            await asyncio.sleep(min(_TOLD_EVERY, lease / 3))
            started, (done, total) = now(), progress.now()
            moved = (done, total) != told and started - told_at >= _TOLD_EVERY
            if not moved and started - renewed < lease / 3:
                continue
            try:
                if not await self._store.renew_job(job.id, self.name, self._lease, done=done, total=total):
                    return
                renewed = started
                if moved:
                    told, told_at = (done, total), started
                    await self._store.note(self._entries(job, "job.progress", done=done, total=total))
            except StoreError as error:
                log.warning("job %s cannot be held: %s", job.id, error.code)
                if now() - renewed >= lease:
                    return

    async def _end(self, job: Job, lane: Lane, doing: asyncio.Future[Mapping[str, Json]]) -> None:
        error = asyncio.CancelledError() if doing.cancelled() else doing.exception()
        if error is None:
            entries = self._ended(job, lane, None)
            if lane.told is not None:
                entries = replace(entries, events=(*entries.events, *lane.told(job, doing.result())))
            await self._tell(job, "done", lambda: self._store.finish_job(job.id, self.name, doing.result(), entries))
            return
        verdict = judge(error, job, self._clock.now())
        if verdict.unexpected:
            log.error("job %s of kind %s failed", job.id, job.kind, exc_info=error)
        ending = "retried" if verdict.goes_on(job) else "failed"
        await self._tell(job, ending, lambda: self._fail(job, verdict, self._ended(job, lane, verdict)))

    def _fail(self, job: Job, verdict: Verdict, entries: Entries) -> Awaitable[bool]:
        return self._store.fail_job(
            job.id,
            self.name,
            verdict.code,
            verdict.message,
            retry_in=verdict.retry_in,
            counts=verdict.counts,
            entries=entries,
        )

    async def _tell(self, job: Job, ending: str, telling: Callable[[], Awaitable[bool]]) -> None:
        """Say how it ended, again and again while the store is away; after the lease somebody else has the job anyway."""
        now, pause = asyncio.get_running_loop().time, 0.1
        until = now() + self._lease.total_seconds()
        while True:
            try:
                if await telling():
                    self._counted(job.kind, ending)
                    self._told_ended(job.id)
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
                await _cancelled(task)
            with suppress(StoreError):
                again = {"attempt": job.attempts, "code": STOPPED.code}
                await self._fail(job, STOPPED, self._entries(job, "job.queued", **again))

    # ---- what is told of it

    def _ended(self, job: Job, lane: Lane, verdict: Verdict | None) -> Entries:
        """A job that comes every hour tells nothing unless it fails, and plans the next."""
        now = self._clock.now()
        again = verdict is not None and verdict.goes_on(job)
        jobs = () if lane.every is None or again else (_recurring(job.kind, now, after=lane.every),)
        if verdict is None:
            if lane.every is not None:
                return Entries(jobs=jobs)
            entries = self._entries(job, "job.done", attempt=job.attempts)
        else:
            kind = "job.queued" if again else "job.failed"
            entries = self._entries(job, kind, attempt=job.attempts, code=verdict.code)
        row = AuditRow(
            id=new_id(now),
            at=now,
            tenant=job.tenant,
            actor=job.created_by,
            action="job.run",
            outcome="ok" if verdict is None else "failed",
            scope=scope_of(job),
            door="worker",
            client=job.client,
            details={"job": job.id, "kind": job.kind, "attempt": job.attempts, **_code(verdict)},
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


def _code(verdict: Verdict | None) -> dict[str, Json]:
    return {} if verdict is None else {"code": verdict.code}


def _recurring(kind: str, now: datetime, *, after: timedelta | None = None) -> NewJob:
    """The one job of a kind that comes again and again. While there is one, another is not queued."""
    return NewJob(
        id=new_id(now),
        tenant=DEFAULT_TENANT,
        kind=kind,
        payload={},
        created_at=now,
        created_by="daemon",
        unique=kind,
        not_before=None if after is None else now + after,
    )


async def _cancelled(task: asyncio.Future[Any]) -> None:
    """Cancel a task and wait for its end, whatever that is."""
    task.cancel()
    await asyncio.wait({task})
