"""Jobs are done once, whatever happens to those who do them."""

import asyncio
import errno
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

from commonplace.errors import (
    EmbedderUnavailable,
    Forbidden,
    InvalidInput,
    PathNotFound,
    RecordChanged,
    RemovalRefused,
    StoreBusy,
    StoreUnavailable,
)
from commonplace.jobs.leases import process_space, worker_name
from commonplace.jobs.payloads import IMPORT_PAYLOAD, NO_PAYLOAD, ImportFolderPayload, ImportPayload, Nothing
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.ports.journal import Entries
from commonplace.ports.maintenance import Progress
from commonplace.service.upkeep import UPKEEP, Housekeeping
from commonplace.stores.sqlite.jobs import SqlJobs
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.audit import AuditQuery
from commonplace.values.event import Event, News
from commonplace.values.job import Job, Line, NewJob
from commonplace.values.moment import new_id
from commonplace.values.record import Json
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
HOUR = timedelta(hours=1)
SHORT = timedelta(seconds=0.3)
DEAD = ":".join([*worker_name().split(":")[:2], "1", process_space(), "dead"])
"""A worker whose process id is by now that of another process: ours."""

needs_proc = pytest.mark.skipif(not process_space(), reason="the system has no /proc to look at")


Handler: TypeAlias = Callable[[Job, Progress], Awaitable[Mapping[str, Json]]]
"""One that does not care for the payload."""


def queue_of(handler: Handler, **options: Any) -> Queue[Nothing]:
    async def run(job: Job, payload: Nothing, progress: Progress) -> Mapping[str, Json]:
        del payload
        return await handler(job, progress)

    return Queue(handler=run, payload=NO_PAYLOAD, **options)


class Shop:
    """Jobs to be queued, workers to do them, and what became of it."""

    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock

    async def queue(self, kind: str = "import", **more: Any) -> str:
        now = self.clock.now()
        told: dict[str, Any] = {"payload": {"scope": "workspace:web"}, "created_by": "ana", **more}
        job = NewJob(id=new_id(now), tenant=T, kind=kind, created_at=now, **told)
        await self.store.journal.note(Entries(jobs=(job,)))
        return job.id

    @asynccontextmanager
    async def at_work(
        self, handlers: Mapping[str, Handler | Queue[Any]], *, lease: timedelta = HOUR, **more: Any
    ) -> AsyncGenerator[Worker]:
        queues: dict[str, Queue[Any]] = {
            kind: do if isinstance(do, Queue) else queue_of(do) for kind, do in handlers.items()
        }
        options: dict[str, Any] = {"look_every": 0.02, **more}
        worker = Worker(self.store, self.clock, queues, lease=lease, **options)
        working = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            working.cancel()
            await asyncio.wait({working}, timeout=5)
        assert working.cancelled()

    async def job(self, id: str, holds: Callable[[Job], bool] = lambda job: job.state in ("done", "failed")) -> Job:
        """The job, once it is as is waited for."""
        async with asyncio.timeout(5):
            while not holds(job := await self.store.jobs.job(T, id)):  # noqa: ASYNC110 - a store rings no bell for a job
                await asyncio.sleep(0.005)
        return job

    async def events(self) -> list[tuple[str, Mapping[str, Json]]]:
        return [(event.news.type, event.news.data) for event in await self.store.events.read_events(0, 1_000)]


@pytest.fixture
def shop(store: SqliteStore, clock: FakeClock) -> Shop:
    return Shop(store, clock)


async def well(job: Job, progress: Progress) -> Mapping[str, Json]:
    progress(1, 1)
    return {"did": job.kind}


def raising(*errors: BaseException) -> Handler:
    """Fails in these ways, one after the other, and then does well."""
    left = list(errors)

    async def handler(job: Job, progress: Progress) -> Mapping[str, Json]:
        if left:
            raise left.pop(0)
        return await well(job, progress)

    return handler


class Endless:
    """Works until it is stopped."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()

    async def __call__(self, job: Job, progress: Progress) -> Mapping[str, Json]:
        del job
        progress(3, 10)
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
        return {}


async def test_a_job_is_done_and_told_of(shop: Shop) -> None:
    id = await shop.queue()

    async with shop.at_work({"import": well}):
        job = await shop.job(id)

    assert (job.state, job.attempts, job.result) == ("done", 1, {"did": "import"})
    assert await shop.events() == [
        ("job.started", {"job": id, "kind": "import", "attempt": 1}),
        ("job.done", {"job": id, "kind": "import", "attempt": 1}),
    ]
    [row] = (await shop.store.journal.audit(T, AuditQuery(), 10, None)).rows
    assert (row.action, row.outcome, row.actor, row.details["job"]) == ("job.run", "ok", "ana", id)


async def test_a_job_that_is_queued_is_begun_at_once_when_the_log_tells_of_it(shop: Shop) -> None:
    async with shop.at_work({"import": well}) as worker:
        worker._look_every = 60.0  # pyright: ignore[reportPrivateUsage] - it would look by itself soon enough
        await asyncio.sleep(0.05)
        id = await shop.queue()
        worker.hear(Event(1, News(type="job.queued", tenant=T, at=shop.clock.now(), data={"kind": "import"})))

        assert (await shop.job(id)).state == "done"


@pytest.mark.parametrize(
    "error", [InvalidInput(), Forbidden(), PathNotFound(), RemovalRefused()], ids=lambda error: error.code
)
async def test_an_error_that_will_not_go_away_ends_the_job_at_once(shop: Shop, error: Any) -> None:
    id = await shop.queue()

    async with shop.at_work({"import": raising(error)}):
        job = await shop.job(id)

    assert (job.state, job.attempts, job.error_code) == ("failed", 1, error.code)
    assert (await shop.events())[-1] == (
        "job.failed",
        {"job": id, "kind": "import", "attempt": 1, "code": error.code},
    )


@pytest.mark.parametrize(
    "error",
    [StoreUnavailable(), StoreBusy(), EmbedderUnavailable(), OSError(errno.EAGAIN, "again"), ConnectionResetError()],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_of_the_moment_is_waited_out_and_uses_up_no_attempt(shop: Shop, error: BaseException) -> None:
    id = await shop.queue(max_attempts=1)

    async with shop.at_work({"import": raising(error, error)}):
        waits = await shop.job(id, lambda job: job.not_before is not None)
        shop.clock.advance(timedelta(minutes=30))
        waits_on = await shop.job(id, lambda job: job.not_before != waits.not_before)
        shop.clock.advance(timedelta(minutes=30))
        done = await shop.job(id)

    assert [(job.state, job.attempts) for job in (waits, waits_on)] == [("queued", 0), ("queued", 0)]
    assert (done.state, done.attempts, done.error_code) == ("done", 1, None)


async def test_an_outage_of_more_than_a_day_counts(shop: Shop) -> None:
    id = await shop.queue(max_attempts=1)
    shop.clock.advance(timedelta(days=1))

    async with shop.at_work({"import": raising(StoreUnavailable())}):
        job = await shop.job(id)

    assert (job.state, job.error_code) == ("failed", "store_unavailable")


@pytest.mark.parametrize(
    ("error", "code"), [(ValueError("the text of a memory"), "internal_error"), (RecordChanged(), "record_changed")]
)
async def test_what_nobody_expected_is_tried_again_until_the_attempts_are_used_up(
    shop: Shop, error: BaseException, code: str
) -> None:
    id = await shop.queue(max_attempts=2)

    async with shop.at_work({"import": raising(error, error, error)}):
        again = await shop.job(id, lambda job: job.state == "queued" and job.attempts == 1)
        shop.clock.advance(HOUR)
        job = await shop.job(id)

    assert (again.error_code, again.not_before is not None) == (code, True)
    assert (job.state, job.attempts, job.error_code) == ("failed", 2, code)
    assert "memory" not in str(job.error)


async def test_the_worker_outlives_whatever_a_job_does(shop: Shop) -> None:
    await shop.queue(max_attempts=1)
    id = await shop.queue()

    async with shop.at_work({"import": raising(asyncio.CancelledError())}):
        job = await shop.job(id)

    assert job.state == "done"


async def test_a_worker_that_stops_gives_its_job_back_and_the_attempt_does_not_count(shop: Shop) -> None:
    id = await shop.queue()
    endless = Endless()

    async with shop.at_work({"import": endless}):
        await asyncio.wait_for(endless.begun.wait(), 5)

    job = await shop.job(id, lambda job: job.state == "queued")
    assert endless.stopped.is_set()
    assert (job.attempts, job.worker, job.error_code) == (0, None, "daemon_stopped")
    async with shop.at_work({"import": well}):
        assert (await shop.job(id)).state == "done"


async def test_a_lease_is_renewed_while_a_job_is_worked_on(shop: Shop) -> None:
    id = await shop.queue()
    endless = Endless()

    async with shop.at_work({"import": endless}, lease=SHORT):
        await asyncio.wait_for(endless.begun.wait(), 5)
        for _ in range(5):
            shop.clock.advance(timedelta(seconds=0.2))
            await shop.job(id, lambda job: job.leased_until == shop.clock.now() + SHORT)
        job = await shop.store.jobs.job(T, id)

    assert (job.state, job.attempts, job.done, job.total) == ("running", 1, 3, 10)


async def test_progress_is_told_at_most_once_a_second(shop: Shop) -> None:
    id = await shop.queue()

    async def counting(job: Job, progress: Progress) -> Mapping[str, Json]:
        for done in range(30):
            progress(done, 30)
            await asyncio.sleep(0.02)
        return {}

    async with shop.at_work({"import": counting}, lease=timedelta(seconds=0.1)):
        await shop.job(id)

    told = [data for what, data in await shop.events() if what == "job.progress"]
    assert len(told) == 1
    assert told[0]["total"] == 30


async def test_a_worker_that_lost_its_lease_stops_and_changes_nothing(shop: Shop) -> None:
    id = await shop.queue()
    endless = Endless()

    async with shop.at_work({"import": endless}, lease=SHORT):
        await asyncio.wait_for(endless.begun.wait(), 5)
        shop.clock.advance(HOUR)
        other = await shop.store.jobs.claim_job(["import"], "another", HOUR)
        await asyncio.wait_for(endless.stopped.wait(), 5)

    job = await shop.store.jobs.job(T, id)
    assert other is not None
    assert (job.state, job.worker, job.attempts) == ("running", "another", 2)
    assert await shop.store.jobs.finish_job(id, "another", {}, Entries())


@needs_proc
async def test_the_job_of_a_worker_of_this_machine_that_died_goes_on_before_its_lease_ends(shop: Shop) -> None:
    id, of_living, of_elsewhere = await shop.queue(), await shop.queue(), await shop.queue()
    living = worker_name()
    for name in (DEAD, living, "elsewhere:1:2:3:4"):
        await shop.store.jobs.claim_job(["import"], name, HOUR)

    async with shop.at_work({"import": well}):
        job = await shop.job(id)

    assert (job.state, job.attempts) == ("done", 2)
    others = [await shop.store.jobs.job(T, other) for other in (of_living, of_elsewhere)]
    assert [(job.worker, job.attempts) for job in others] == [(living, 1), ("elsewhere:1:2:3:4", 1)]


@needs_proc
async def test_a_worker_that_dies_while_others_work_is_noticed_by_them(shop: Shop) -> None:
    async with shop.at_work({"import": well}):
        await shop.job(await shop.queue())
        id = await shop.queue("other")
        await shop.store.jobs.claim_job(["other"], DEAD, HOUR)
        job = await shop.job(id, lambda job: job.leased_until == shop.clock.now())

    # It is of a kind that this worker does not do: somebody else finds it free.
    assert (job.state, job.worker) == ("running", DEAD)


@needs_proc
async def test_those_who_stand_in_line_behind_the_job_of_a_dead_worker_wait_no_longer(shop: Shop) -> None:
    line = Line(name="web")
    ids = [await shop.queue(line=line) for _ in range(3)]
    await shop.store.jobs.claim_job(["import"], DEAD, HOUR)

    async with shop.at_work({"import": queue_of(well, wakes=("import",))}):
        jobs = [await shop.job(id) for id in ids]

    assert [(job.state, job.attempts) for job in jobs] == [("done", 2), ("done", 1), ("done", 1)]


async def test_a_job_that_takes_for_ever_keeps_no_other_kind_waiting(shop: Shop) -> None:
    await shop.queue("import")
    quick = [await shop.queue("quick") for _ in range(3)]
    endless = Endless()

    async with shop.at_work({"import": endless, "quick": well}):
        states = [(await shop.job(id)).state for id in quick]

    assert states == ["done"] * 3


class Gate:
    """Counts those who are inside, and lets them out when it is open."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside: list[Job] = []
        self.most = 0
        self._changed = asyncio.Event()

    async def __call__(self, job: Job, progress: Progress) -> Mapping[str, Json]:
        del progress
        self.inside.append(job)
        self.most = max(self.most, len(self.inside))
        self._changed.set()
        try:
            await self.open.wait()
        finally:
            self.inside.remove(job)
        return {}

    async def until(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.inside) < count:
                self._changed.clear()
                await self._changed.wait()


async def test_a_queue_with_a_concurrency_of_three_runs_three_jobs_at_once_and_never_a_fourth(shop: Shop) -> None:
    ids = [await shop.queue() for _ in range(9)]
    gate = Gate()

    async with shop.at_work({"import": queue_of(gate, concurrency=3)}):
        await gate.until(3)
        states = [(await shop.store.jobs.job(T, id)).state for id in ids]
        gate.open.set()
        ended = [(await shop.job(id)).state for id in ids]

    assert states == ["running"] * 3 + ["queued"] * 6
    assert ended == ["done"] * 9
    assert gate.most == 3


async def test_a_slow_job_keeps_no_other_of_its_queue_waiting(shop: Shop) -> None:
    slow, *quick = [await shop.queue() for _ in range(6)]
    gate = Gate()

    async def handler(job: Job, progress: Progress) -> Mapping[str, Json]:
        return await (gate if job.id == slow else well)(job, progress)

    async with shop.at_work({"import": queue_of(handler, concurrency=2)}):
        states = [(await shop.job(id)).state for id in quick]
        still = (await shop.store.jobs.job(T, slow)).state

    assert (states, still) == (["done"] * 5, "running")


async def test_of_one_line_one_job_runs_however_great_the_concurrency(shop: Shop) -> None:
    web, app = Line(name="web"), Line(name="app")
    ids = [await shop.queue(line=line) for line in (web, web, web, app)]
    gate = Gate()

    async with shop.at_work({"import": queue_of(gate, concurrency=4, wakes=("import",))}, look_every=60.0):
        await gate.until(2)
        inside = [job.id for job in gate.inside]
        gate.open.set()
        ended = [(await shop.job(id)).state for id in ids]

    assert inside == [ids[0], ids[3]]
    assert ended == ["done"] * 4
    assert gate.most == 2


async def test_all_jobs_of_a_worker_that_stops_go_back_to_the_queue(shop: Shop) -> None:
    ids = [await shop.queue() for _ in range(4)]
    gate = Gate()

    async with shop.at_work({"import": queue_of(gate, concurrency=3)}):
        await gate.until(3)

    jobs = [await shop.store.jobs.job(T, id) for id in ids]
    assert [(job.state, job.worker, job.attempts) for job in jobs] == [("queued", None, 0)] * 4
    assert gate.inside == []


async def test_a_worker_that_is_stopped_at_whatever_moment_holds_no_job(shop: Shop) -> None:
    ids = [await shop.queue() for _ in range(2)]

    for steps in range(60):
        async with shop.at_work({"import": queue_of(Gate(), concurrency=2)}):
            for _ in range(steps):
                await asyncio.sleep(0)

        jobs = [await shop.store.jobs.job(T, id) for id in ids]
        assert [(job.state, job.worker, job.attempts) for job in jobs] == [("queued", None, 0)] * 2


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_queue_that_would_run_nothing_is_refused(concurrency: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        queue_of(well, concurrency=concurrency)


async def test_a_handler_is_given_the_payload_in_its_own_type(shop: Shop) -> None:
    who: Json = {"subject": "ana", "role": "writer"}
    payload: dict[str, Json] = {"who": who, "scope": "workspace:web", "layout": "directory", "path": "/notes"}
    id = await shop.queue(payload=payload)
    payloads: list[ImportPayload] = []

    async def handler(job: Job, payload: ImportPayload, progress: Progress) -> Mapping[str, Json]:
        del job, progress
        payloads.append(payload)
        return {}

    async with shop.at_work({"import": Queue(handler=handler, payload=IMPORT_PAYLOAD)}):
        await shop.job(id)

    [given] = payloads
    assert isinstance(given, ImportFolderPayload)
    assert (given.scope, given.path, given.who.subject) == (Scope("workspace", "web"), "/notes", "ana")


@pytest.mark.parametrize("payload", [{}, {"path": 1}, {"scope": "workspace:web", "layout": "no layout", "path": "/a"}])
async def test_a_job_whose_payload_cannot_be_read_has_failed_at_once(shop: Shop, payload: Json) -> None:
    id = await shop.queue(payload=payload)

    async def handler(job: Job, payload: ImportPayload, progress: Progress) -> Mapping[str, Json]:
        raise AssertionError

    async with shop.at_work({"import": Queue(handler=handler, payload=IMPORT_PAYLOAD)}):
        job = await shop.job(id)

    assert (job.state, job.attempts, job.error_code) == ("failed", 1, "invalid_input")


async def test_two_workers_share_the_jobs_and_do_each_once(shop: Shop) -> None:
    ids = [await shop.queue() for _ in range(20)]
    did: list[str] = []

    async def noting(job: Job, progress: Progress) -> Mapping[str, Json]:
        await asyncio.sleep(0)
        did.append(job.id)
        return {}

    async with shop.at_work({"import": noting}), shop.at_work({"import": noting}):
        for id in ids:
            await shop.job(id)

    assert sorted(did) == sorted(ids)


async def test_what_becomes_of_jobs_is_counted(shop: Shop) -> None:
    counted: list[tuple[str, str]] = []

    def count(kind: str, state: str) -> None:
        counted.append((kind, state))

    async with shop.at_work({"import": raising(InvalidInput())}, counted=count):
        await shop.job(await shop.queue())
        await shop.job(await shop.queue())
        await asyncio.sleep(0.05)

    assert counted == [("import", "started"), ("import", "failed"), ("import", "started"), ("import", "done")]


# ---- what comes again and again


def hourly(shop: Shop) -> Queue[Nothing]:
    housekeeping = Housekeeping(store=shop.store, clock=shop.clock, events_kept=timedelta(days=30), most_events=2)
    return Queue(handler=housekeeping.run, payload=NO_PAYLOAD, every=HOUR)


async def upkeep(shop: Shop, count: int) -> list[Job]:
    """The upkeep there is, newest first, once there are so many that wait or are done."""
    async with asyncio.timeout(5):
        while True:
            jobs = await shop.store.jobs.list_jobs(T, kinds=[UPKEEP], states=["queued", "done", "failed"])
            if len(jobs) >= count:
                return jobs
            await asyncio.sleep(0.005)


async def test_the_upkeep_is_done_and_planned_again_in_silence(shop: Shop) -> None:
    await shop.store.journal.note(Entries(events=(News(type="a.b", tenant=T, at=shop.clock.now()),) * 5))

    async with shop.at_work({UPKEEP: hourly(shop)}):
        planned, done = await upkeep(shop, 2)
        first = shop.clock.now()
        shop.clock.advance(HOUR)
        again = await upkeep(shop, 3)

    assert (done.state, done.result) == ("done", {"events": 3, "replies": 0, "quotas": 0, "sessions": 0, "jobs": 0})
    assert (planned.state, planned.not_before) == ("queued", first + HOUR)
    assert [job.state for job in again] == ["queued", "done", "done"]
    assert [what for what, _ in await shop.events()] == ["a.b", "a.b"]


async def test_there_is_one_upkeep_for_all_workers(shop: Shop) -> None:
    async with shop.at_work({UPKEEP: hourly(shop)}):
        await upkeep(shop, 2)
        async with shop.at_work({UPKEEP: hourly(shop)}), shop.at_work({UPKEEP: hourly(shop)}):
            await asyncio.sleep(0.1)

    assert [job.state for job in await upkeep(shop, 2)] == ["queued", "done"]


async def test_a_daemon_that_starts_in_the_same_hour_finds_the_upkeep_done(shop: Shop) -> None:
    shop.clock.advance(timedelta(minutes=7))
    async with shop.at_work({UPKEEP: hourly(shop)}):
        planned, done = await upkeep(shop, 2)
    await shop.store.jobs.drop_job(T, planned.id, Entries())
    shop.clock.advance(timedelta(minutes=20))
    other = await shop.queue(UPKEEP, payload={})

    # Before it takes a job of the kind, it plans the one that is due.
    async with shop.at_work({UPKEEP: hourly(shop)}):
        await shop.job(other)

    jobs = await upkeep(shop, 3)
    assert [job.id for job in jobs] == [planned.id, other, done.id]
    assert jobs[2] == done
    assert jobs[0].not_before == planned.not_before == shop.clock.now() + timedelta(minutes=33)


async def test_what_was_due_while_no_daemon_ran_is_done_once(shop: Shop) -> None:
    async with shop.at_work({UPKEEP: hourly(shop)}):
        await upkeep(shop, 2)
    shop.clock.advance(5 * HOUR)

    async with shop.at_work({UPKEEP: hourly(shop)}), shop.at_work({UPKEEP: hourly(shop)}):
        jobs = await upkeep(shop, 3)

    assert [job.state for job in jobs] == ["queued", "done", "done"]
    assert jobs[0].not_before == shop.clock.now() + HOUR


async def test_an_upkeep_that_the_release_before_planned_is_done_and_followed_by_ours(shop: Shop) -> None:
    old = await shop.queue(UPKEEP, payload={}, unique=UPKEEP, not_before=shop.clock.now() + HOUR)

    async with shop.at_work({UPKEEP: hourly(shop), "import": well}):
        await shop.job(await shop.queue())
        before = await upkeep(shop, 1)
        shop.clock.advance(HOUR)
        after = await upkeep(shop, 2)

    assert [job.id for job in before] == [old]
    assert [(job.id == old, job.state) for job in after] == [(False, "queued"), (True, "done")]


async def test_an_upkeep_that_failed_is_told_of_and_planned_again(shop: Shop) -> None:
    async with shop.at_work({UPKEEP: queue_of(raising(InvalidInput()), every=HOUR)}):
        planned, failed = await upkeep(shop, 2)

    assert (planned.state, failed.state, failed.error_code) == ("queued", "failed", "invalid_input")
    [(told, _)] = await shop.events()
    assert told == "job.failed"


class AwayAtTheEnd(SqlJobs):
    """Jobs whose end cannot be written for a while."""

    failures = 2

    async def finish_job(self, id: str, worker: str, result: Mapping[str, Json], entries: Entries) -> bool:
        self._fail()
        return await super().finish_job(id, worker, result, entries)

    async def fail_job(self, *args: Any, **more: Any) -> bool:
        self._fail()
        return await super().fail_job(*args, **more)

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable


@pytest.mark.parametrize(
    ("handler", "state"), [(well, "done"), (raising(InvalidInput("no")), "failed")], ids=["done", "failed"]
)
async def test_an_end_that_cannot_be_written_twice_is_written_at_the_third_attempt_and_nothing_is_done_again(
    shop: Shop, handler: Handler, state: str
) -> None:
    shop.store.jobs = AwayAtTheEnd(shop.store._transactions)  # pyright: ignore[reportPrivateUsage]
    id, begun, endings = await shop.queue(), list[str](), list[tuple[str, str]]()

    async def counted(job: Job, progress: Progress) -> Mapping[str, Json]:
        begun.append(job.id)
        return await handler(job, progress)

    def note_end(kind: str, end: str) -> None:
        endings.append((kind, end))

    async with shop.at_work({"import": counted}, counted=note_end):
        job = await shop.job(id)

    assert (job.state, job.attempts) == (state, 1)
    assert begun == [id]
    assert endings == [("import", "started"), ("import", state)]


class AwayInBetween(SqlJobs):
    """Leases that cannot be renewed for a moment."""

    failures = 2
    renewed = 0

    async def renew_job(self, *args: Any, **more: Any) -> bool:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable
        self.renewed += 1
        return await super().renew_job(*args, **more)


async def test_a_store_that_is_away_for_a_moment_costs_no_worker_its_job(shop: Shop) -> None:
    jobs = shop.store.jobs = AwayInBetween(shop.store._transactions)  # pyright: ignore[reportPrivateUsage]
    id, begun = await shop.queue(), list[str]()

    async def until_renewed(job: Job, progress: Progress) -> Mapping[str, Json]:
        begun.append(job.id)
        async with asyncio.timeout(5):
            while not jobs.renewed:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.005)
        return await well(job, progress)

    async with shop.at_work({"import": until_renewed}, lease=timedelta(seconds=1.5)):
        job = await shop.job(id)

    assert (job.state, job.attempts, begun) == ("done", 1, [id])
