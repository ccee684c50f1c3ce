"""What the port `JobQueue` says of jobs that stand in a line, of every store."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from commonplace.errors import Conflict, QueueFull
from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.event import News
from commonplace.values.job import Job, Line, NewJob, Room
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
NOTHING = Entries()
WEB = Line(name="web")
KINDS = ("remember", "forget", "dream")

OpenStore = Callable[..., Awaitable[Store]]


@pytest.fixture
def queue(store: Store, clock: FakeClock) -> Callable[..., Awaitable[str]]:
    async def queued(kind: str = "remember", line: Line | None = WEB, **fields: Any) -> str:
        now = clock.advance(SECOND)
        told: dict[str, Any] = {"tenant": T, "payload": {}, "created_by": "ann", **fields}
        job = NewJob(id=new_id(now), kind=kind, created_at=now, line=line, **told)
        news = News(type="job.queued", tenant=T, at=now)
        await store.journal.note(Entries(jobs=(job,), events=(news,)))
        return job.id

    return queued


Queue = Callable[..., Awaitable[str]]


async def claim(store: Store, *kinds: str, worker: str = "w1") -> Job | None:
    return await store.jobs.claim_job(kinds or KINDS, worker, MINUTE)


async def test_the_next_of_a_line_waits_for_the_one_that_runs_whatever_its_kind(store: Store, queue: Queue) -> None:
    first, second = await queue("remember"), await queue("forget")

    claimed = await claim(store)
    waits = [await claim(store), await claim(store, "forget", worker="w2")]
    await store.jobs.finish_job(first, "w1", {}, NOTHING)
    then = await claim(store)

    assert claimed is not None
    assert (claimed.id, claimed.line) == (first, "web")
    assert waits == [None, None]
    assert then is not None
    assert then.id == second


async def test_other_lines_other_tenants_and_jobs_of_no_line_do_not_wait(store: Store, queue: Queue) -> None:
    ids = [await queue(), await queue(line=Line(name="app")), await queue(tenant="acme/web"), await queue(line=None)]

    claimed = [await claim(store) for _ in range(5)]

    assert [job and job.id for job in claimed] == [*ids, None]


async def test_who_names_a_tenant_and_a_line_is_given_no_other_jobs(store: Store, queue: Queue) -> None:
    await queue(tenant="acme/web")
    await queue(line=Line(name="app"))
    await queue(line=None)
    own = await queue()

    claimed = [await store.jobs.claim_job(KINDS, "w1", MINUTE, tenant=T, line="web") for _ in range(2)]
    of_tenant = [await store.jobs.claim_job(KINDS, "w1", MINUTE, tenant=T) for _ in range(3)]

    assert [job and job.id for job in claimed] == [own, None]
    assert [job and job.line for job in of_tenant] == ["app", None, None]
    assert of_tenant[-1] is None


async def test_of_many_workers_at_once_one_gets_the_line(open_store: OpenStore, queue: Queue) -> None:
    for _ in range(6):
        await queue()
    stores = [await open_store() for _ in range(4)]
    got: list[Job | None] = []

    async def look(store: Store, name: str) -> None:
        got.append(await claim(store, worker=name))

    async with anyio.create_task_group() as workers:
        for number in range(12):
            workers.start_soon(look, stores[number % 4], f"w{number}")

    assert len([job for job in got if job is not None]) == 1


async def test_a_retry_that_waits_lets_the_others_of_its_line_pass(store: Store, queue: Queue) -> None:
    first, second = await queue(), await queue()
    await claim(store)

    await store.jobs.fail_job(first, "w1", "away", "Away.", retry_in=MINUTE, entries=NOTHING)
    passing = await claim(store)

    assert passing is not None
    assert passing.id == second


async def test_a_job_whose_worker_died_is_begun_again_before_the_others_of_its_line(
    store: Store, queue: Queue, clock: FakeClock
) -> None:
    first, _ = await queue(max_attempts=2), await queue()
    await claim(store)
    clock.advance(2 * MINUTE)

    # Nobody knows whether its worker is dead or slow: those of other kinds wait until somebody took it over.
    other = await claim(store, "forget")
    again = await claim(store, worker="w2")
    clock.advance(2 * MINUTE)
    then = await claim(store, worker="w3")

    assert other is None
    assert again is not None
    assert (again.id, again.attempts) == (first, 2)
    assert then is not None
    assert then.id != first
    ended = await store.jobs.job(T, first)
    assert (ended.state, ended.error_code) == ("failed", "attempts_exhausted")


async def test_a_line_without_room_takes_nothing_and_nothing_is_kept(store: Store, queue: Queue) -> None:
    line = Line(name="web", room=(Room(most=3), Room(most=1, kinds=("forget", "dream"))))
    await queue("remember", line)
    await claim(store)
    await queue("forget", line)

    with pytest.raises(QueueFull):
        await queue("dream", line)
    await queue("remember", Line(name="web", room=(Room(most=3),)))
    with pytest.raises(QueueFull):
        await queue("remember", Line(name="web", room=(Room(most=3),)))

    assert len(await store.jobs.list_jobs(T)) == 3
    assert len(await store.events.read_events(0, 100)) == 3


async def test_a_line_takes_payloads_up_to_so_many_bytes(store: Store, queue: Queue) -> None:
    line = Line(name="web", room=(Room(most=10, bytes=10_000),))
    await queue(line=line, payload={"text": "x" * 4_000})
    await queue(line=line, payload={"text": "x" * 5_000})

    with pytest.raises(QueueFull):
        await queue(line=line, payload={"text": "x" * 1_000})
    await queue(line=line, payload={"text": "x" * 500})
    await queue(line=Line(name="other", room=line.room), payload={"text": "x" * 20_000})

    assert len(await store.jobs.list_jobs(T)) == 4


async def test_the_job_with_a_mark_is_known_while_it_is_not_over(store: Store, queue: Queue) -> None:
    first = await queue(unique="u")
    waiting = await store.jobs.open_job(T, "remember", "u")
    await claim(store)
    running = await store.jobs.open_job(T, "remember", "u")
    await store.jobs.finish_job(first, "w1", {}, NOTHING)

    assert (waiting, running) == (first, first)
    assert await store.jobs.open_job(T, "remember", "u") is None
    assert await store.jobs.open_job("acme/web", "remember", "u") is None
    assert await store.jobs.open_job(T, "forget", "u") is None


async def test_a_unique_job_that_is_in_the_line_already_is_not_queued_again(store: Store, queue: Queue) -> None:
    line = Line(name="web", room=(Room(most=2),))
    first = await queue(line=line, unique="u")

    await queue(line=line, unique="u")
    await queue(line=line)
    with pytest.raises(QueueFull):
        await queue(line=line, unique="v")

    jobs = await store.jobs.list_jobs(T)
    assert (len(jobs), jobs[-1].id) == (2, first)


async def test_a_unique_job_of_a_line_and_an_id_that_is_there_is_not_queued_again_though_that_one_has_ended(
    store: Store, clock: FakeClock
) -> None:
    id, now = new_id(clock.now()), clock.now()
    job = NewJob(
        id=id, tenant=T, kind="remember", payload={}, created_at=now, created_by="a", line=WEB, unique="u"
    )  # fmt: skip
    await store.journal.note(Entries(jobs=(job,)))
    await claim(store)
    await store.jobs.finish_job(id, "w1", {}, NOTHING)

    await store.journal.note(Entries(jobs=(job,)))
    with pytest.raises(Conflict):
        await store.journal.note(Entries(jobs=(replace(job, unique=None),)))

    assert [(job.id, job.state) for job in await store.jobs.list_jobs(T)] == [(id, "done")]


async def test_many_at_once_fill_a_line_and_no_more(open_store: OpenStore, store: Store, clock: FakeClock) -> None:
    stores, refused = [await open_store() for _ in range(4)], 0
    line = Line(name="web", room=(Room(most=16),))

    async def ask(store: Store) -> None:
        nonlocal refused
        job = NewJob(
            id=new_id(clock.now()),
            tenant=T,
            kind="remember",
            payload={},
            created_at=clock.now(),
            created_by="a",
            line=line,
        )
        try:
            await store.journal.note(Entries(jobs=(job,)))
        except QueueFull:
            refused += 1

    async with anyio.create_task_group() as askers:
        for number in range(40):
            askers.start_soon(ask, stores[number % 4])

    assert refused == 24
    assert len(await store.jobs.list_jobs(T)) == 16


async def test_the_oldest_that_ended_give_way_and_those_that_wait_stay(store: Store, queue: Queue) -> None:
    line = Line(name="web", max_jobs=3)
    ended = [await queue("remember", line) for _ in range(2)]
    for id in ended:
        await claim(store)
        await store.jobs.finish_job(id, "w1", {}, NOTHING)

    waiting = [await queue("remember", line) for _ in range(4)]

    assert {job.id for job in await store.jobs.list_jobs(T)} == set(waiting)


async def test_what_is_private_is_forgotten_when_the_job_is_done_and_kept_while_it_may_be_tried_again(
    store: Store, queue: Queue
) -> None:
    payload = {"scope": "user:ana", "private": {"text": '世界 "quoted"'}}
    done, failed = await queue(payload=payload), await queue(payload=payload)

    await claim(store)
    await store.jobs.finish_job(done, "w1", {}, NOTHING)
    await claim(store)
    await store.jobs.fail_job(failed, "w1", "no", "No.", retry_in=None, entries=NOTHING)

    assert (await store.jobs.job(T, done)).payload == {"scope": "user:ana"}
    assert (await store.jobs.job(T, failed)).payload == payload


async def test_a_listing_leaves_out_what_is_private_and_the_worker_gets_it(store: Store, queue: Queue) -> None:
    payload = {"scope": "user:ana", "private": {"text": '世界 "quoted"'}}
    await queue(payload=payload)

    [listed] = await store.jobs.list_jobs(T)
    claimed = await claim(store)

    assert listed.payload == {"scope": "user:ana"}
    assert claimed is not None
    assert claimed.payload == payload
