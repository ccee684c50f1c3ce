"""What the port `JobQueue` says, of every store."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from commonplace.errors import AlreadyAnswered, Conflict, NotFound
from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting, Store
from commonplace.values.event import News
from commonplace.values.job import Job, NewJob
from commonplace.values.moment import new_id
from commonplace.values.record import Json
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
OTHER = "acme/web"
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
NOTHING = Entries()

OpenStore = Callable[..., Awaitable[Store]]


class Working:
    """Queues and claims jobs of one store by its clock. Each job is a second younger than the one before."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock

    def new(self, kind: str = "import", **fields: Any) -> NewJob:
        now = self.clock.advance(SECOND)
        told: dict[str, Any] = {"tenant": T, "payload": {}, "created_by": "ann", **fields}
        return NewJob(id=new_id(now), kind=kind, created_at=now, **told)

    async def queue(self, kind: str = "import", **fields: Any) -> str:
        job = self.new(kind, **fields)
        await self.store.journal.note(Entries(jobs=(job,)))
        return job.id

    async def claim(self, worker: str = "w1", *kinds: str) -> Job | None:
        return await self.store.jobs.claim_job(kinds or ("import",), worker, MINUTE)

    async def claimed(self, worker: str = "w1") -> Job:
        job = await self.claim(worker)
        assert job is not None
        return job

    def event(self, what: str = "job.ended") -> Entries:
        return Entries(events=(News(type=what, tenant=T, at=self.clock.now()),))

    async def told(self) -> list[str]:
        return [event.news.type for event in await self.store.events.read_events(0, 100)]


@pytest.fixture
def work(store: Store, clock: FakeClock) -> Working:
    return Working(store, clock)


async def test_a_job_stands_as_it_was_queued(store: Store, work: Working, clock: FakeClock) -> None:
    payload: dict[str, Json] = {"path": "/a b/世界", "options": [1, 2.5, None, {"deep": True}]}
    later = clock.now() + HOUR
    new = work.new("import", payload=payload, unique="u", client="cli:1", not_before=later, max_attempts=5)

    await store.journal.note(Entries(jobs=(new,)))

    job = await store.jobs.job(T, new.id)
    assert job == Job(
        id=new.id, tenant=T, kind="import", payload=payload, created_at=new.created_at, created_by="ann",
        updated_at=job.updated_at, unique="u", client="cli:1", not_before=later, max_attempts=5,
    )  # fmt: skip
    assert (job.state, job.attempts, job.worker) == ("queued", 0, None)


async def test_a_job_of_another_tenant_is_not_there(store: Store, work: Working) -> None:
    id = await work.queue(tenant=OTHER)

    with pytest.raises(NotFound):
        await store.jobs.job(T, id)
    with pytest.raises(NotFound):
        await store.jobs.job(T, "no id at all")
    assert await store.jobs.list_jobs(T) == []


async def test_the_oldest_job_of_the_kinds_asked_for_is_handed_out(store: Store, work: Working) -> None:
    [first, second, _, last] = [await work.queue(kind) for kind in ("a", "b", "c", "a")]

    handed = [await work.claim("w1", "a", "b") for _ in range(4)]

    assert [job.id if job else None for job in handed] == [first, second, last, None]
    assert await work.claim("w1", "unknown") is None


async def test_a_claimed_job_runs_for_its_worker_until_the_lease_ends(
    store: Store, work: Working, clock: FakeClock
) -> None:
    id = await work.queue(payload={"a": 1})

    job = await work.claimed("w7")

    assert (job.id, job.state, job.worker, job.attempts, job.payload) == (id, "running", "w7", 1, {"a": 1})
    assert (job.leased_until, job.updated_at) == (clock.now() + MINUTE, clock.now())
    assert await store.jobs.job(T, id) == job
    assert await work.claim("w8") is None


async def test_a_job_is_held_back_until_its_time(work: Working, clock: FakeClock) -> None:
    id = await work.queue(not_before=clock.now() + HOUR)

    early = await work.claim()
    clock.advance(HOUR)
    due = await work.claim()

    assert early is None
    assert due is not None
    assert due.id == id


async def test_no_two_workers_get_the_same_job(store: Store, open_store: OpenStore, work: Working) -> None:
    ids = [await work.queue() for _ in range(40)]
    stores = [store, await open_store(), await open_store()]
    handed: list[str] = []

    async def labour(where: Store, worker: str) -> None:
        while job := await where.jobs.claim_job(["import"], worker, MINUTE):
            assert job.worker == worker
            handed.append(job.id)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for n in range(12):
                tasks.start_soon(labour, stores[n % 3], f"w{n}")

    assert sorted(handed) == sorted(ids)


async def test_a_lease_that_runs_out_gives_the_job_to_the_next_worker(work: Working, clock: FakeClock) -> None:
    await work.queue()
    first = await work.claimed("w1")
    clock.advance(MINUTE)

    second = await work.claimed("w2")

    assert (second.id, second.worker, second.attempts) == (first.id, "w2", 2)


async def test_of_many_workers_one_takes_over_what_a_dead_one_left(
    store: Store, open_store: OpenStore, work: Working, clock: FakeClock
) -> None:
    await work.queue()
    await work.claimed("dead")
    clock.advance(MINUTE)
    stores = [store, await open_store()]
    taken: list[Job] = []

    async def take(n: int) -> None:
        if job := await stores[n % 2].jobs.claim_job(["import"], f"w{n}", MINUTE):
            taken.append(job)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(10):
                tasks.start_soon(take, n)

    assert [job.attempts for job in taken] == [2]


async def test_a_job_whose_attempts_are_used_up_has_failed(store: Store, work: Working, clock: FakeClock) -> None:
    id = await work.queue(max_attempts=2)
    for _ in range(2):
        await work.claimed()
        clock.advance(MINUTE)

    assert await work.claim() is None

    job = await store.jobs.job(T, id)
    assert (job.state, job.error_code, job.attempts) == ("failed", "attempts_exhausted", 2)
    assert job.error


async def test_what_was_used_up_does_not_stand_in_the_way_of_others(work: Working, clock: FakeClock) -> None:
    await work.queue(max_attempts=1)
    await work.claimed()
    clock.advance(MINUTE)
    id = await work.queue()

    assert (await work.claimed()).id == id


async def test_a_lease_is_held_by_renewing_it(store: Store, work: Working, clock: FakeClock) -> None:
    id = await work.queue()
    await work.claimed("w1")
    clock.advance(SECOND * 59)

    assert await store.jobs.renew_job(id, "w1", MINUTE, progress=3, total=10)

    clock.advance(SECOND * 59)
    assert await work.claim("w2") is None
    job = await store.jobs.job(T, id)
    assert (job.done, job.total, job.worker) == (3, 10, "w1")


async def test_those_who_hold_a_lease_are_listed_once_each(store: Store, work: Working, clock: FakeClock) -> None:
    ids = [await work.queue() for _ in range(4)]
    await work.claimed("late")
    clock.advance(MINUTE)
    for worker in ("late", "w1", "w2", "w2"):
        await work.claimed(worker)
    await store.jobs.finish_job(ids[1], "w1", {}, NOTHING)
    clock.advance(SECOND)

    assert sorted(await store.jobs.job_workers()) == ["late", "w2"]

    clock.advance(MINUTE)
    assert await store.jobs.job_workers() == []


async def test_the_job_of_a_dead_worker_is_free_at_once_and_the_crash_has_used_up_an_attempt(
    store: Store, work: Working
) -> None:
    id, other = await work.queue(), await work.queue()
    await work.claimed("dead")
    await work.claimed("alive")

    assert await store.jobs.end_leases(["dead", "unknown"]) == 1

    taken = await work.claimed("w2")
    assert (taken.id, taken.worker, taken.attempts) == (id, "w2", 2)
    assert await work.claim("w2") is None
    assert (await store.jobs.job(T, other)).worker == "alive"


async def test_a_job_whose_last_worker_is_dead_has_failed(store: Store, work: Working) -> None:
    id = await work.queue(max_attempts=1)
    await work.claimed("dead")

    await store.jobs.end_leases(["dead"])

    assert await work.claim("w2") is None
    job = await store.jobs.job(T, id)
    assert (job.state, job.error_code) == ("failed", "attempts_exhausted")


async def test_ending_a_lease_does_not_touch_a_job_that_another_worker_took_over_or_that_has_ended(
    store: Store, work: Working, clock: FakeClock
) -> None:
    [taken, done, waits] = [await work.queue() for _ in range(3)]
    await work.claimed("dead")
    clock.advance(MINUTE)
    await work.claimed("w2")
    await work.claimed("dead")
    await store.jobs.finish_job(done, "dead", {}, NOTHING)
    before = [await store.jobs.job(T, id) for id in (taken, done, waits)]

    assert await store.jobs.end_leases(["dead"]) == 0
    assert await store.jobs.end_leases([]) == 0

    assert [await store.jobs.job(T, id) for id in (taken, done, waits)] == before
    assert before[0].worker == "w2"


async def test_who_was_taken_for_dead_and_renews_in_time_goes_on(store: Store, work: Working) -> None:
    id = await work.queue()
    await work.claimed("slow")

    await store.jobs.end_leases(["slow"])

    assert await store.jobs.renew_job(id, "slow", MINUTE, progress=1, total=2)
    assert await work.claim("w2") is None
    assert await store.jobs.finish_job(id, "slow", {}, NOTHING)


async def test_of_many_who_find_a_worker_dead_one_takes_over_its_job(
    store: Store, open_store: OpenStore, work: Working
) -> None:
    await work.queue()
    await work.claimed("dead")
    stores = [store, await open_store()]
    taken: list[Job] = []

    async def take(n: int) -> None:
        await stores[n % 2].jobs.end_leases(["dead"])
        if job := await stores[n % 2].jobs.claim_job(["import"], f"w{n}", MINUTE):
            taken.append(job)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(10):
                tasks.start_soon(take, n)

    assert [job.attempts for job in taken] == [2]


async def test_a_worker_that_lost_its_lease_can_change_nothing(store: Store, work: Working, clock: FakeClock) -> None:
    id = await work.queue()
    await work.claimed("w1")
    clock.advance(MINUTE)
    taken = await work.claimed("w2")

    assert not await store.jobs.renew_job(id, "w1", MINUTE, progress=1, total=1)
    assert not await store.jobs.finish_job(id, "w1", {"by": "w1"}, work.event())
    assert not await store.jobs.fail_job(id, "w1", "broken", "It broke.", retry_in=None, entries=work.event())

    assert await store.jobs.job(T, id) == taken
    assert await work.told() == []


async def test_a_finished_job_tells_what_came_of_it(store: Store, work: Working, clock: FakeClock) -> None:
    id = await work.queue()
    await work.claimed()

    assert await store.jobs.finish_job(id, "w1", {"files": 3, "names": ["ü"]}, work.event())

    job = await store.jobs.job(T, id)
    assert (job.state, job.result, job.error_code, job.error) == ("done", {"files": 3, "names": ["ü"]}, None, None)
    assert job.leased_until is None
    assert await work.told() == ["job.ended"]
    clock.advance(HOUR)
    assert await work.claim() is None


async def test_a_job_is_ended_once(store: Store, work: Working) -> None:
    id = await work.queue()
    await work.claimed()
    await store.jobs.finish_job(id, "w1", {}, NOTHING)

    assert not await store.jobs.finish_job(id, "w1", {}, work.event())
    assert not await store.jobs.fail_job(id, "w1", "late", "Too late.", retry_in=None, entries=work.event())
    assert not await store.jobs.renew_job(id, "w1", MINUTE, progress=0, total=0)
    assert not await store.jobs.finish_job("no such id", "w1", {}, work.event())
    assert await work.told() == []


async def test_a_job_whose_end_cannot_be_noted_has_not_ended(store: Store, work: Working, clock: FakeClock) -> None:
    id = await work.queue()
    running = await work.claimed()
    reply = IdempotentReply(tenant=T, owner="ann", key="k", fingerprint=b"f", expires_at=clock.now() + HOUR)
    await store.journal.note(Entries(reply=reply))

    with pytest.raises(AlreadyAnswered):
        await store.jobs.finish_job(id, "w1", {}, replace(work.event(), reply=reply))

    assert await store.jobs.job(T, id) == running
    assert await work.told() == []


async def test_a_job_that_failed_for_good_is_not_handed_out_again(
    store: Store, work: Working, clock: FakeClock
) -> None:
    id = await work.queue()
    await work.claimed()

    assert await store.jobs.fail_job(id, "w1", "bad_file", "It is no text.", retry_in=None, entries=work.event())

    job = await store.jobs.job(T, id)
    assert (job.state, job.error_code, job.error, job.leased_until) == ("failed", "bad_file", "It is no text.", None)
    assert await work.told() == ["job.ended"]
    clock.advance(HOUR)
    assert await work.claim() is None


async def test_an_attempt_that_failed_is_tried_again_after_a_while(
    store: Store, work: Working, clock: FakeClock
) -> None:
    id = await work.queue()
    await work.claimed()

    assert await store.jobs.fail_job(id, "w1", "busy", "Later.", retry_in=MINUTE, entries=NOTHING)

    job = await store.jobs.job(T, id)
    assert (job.state, job.error_code, job.error) == ("queued", "busy", "Later.")
    assert await work.claim("w2") is None
    clock.advance(MINUTE)
    again = await work.claimed("w2")
    assert (again.id, again.attempts, again.worker) == (id, 2, "w2")
    assert await store.jobs.finish_job(id, "w2", {}, NOTHING)
    assert (await store.jobs.job(T, id)).error_code is None


async def test_an_attempt_that_does_not_count_is_taken_back(store: Store, work: Working) -> None:
    id = await work.queue(max_attempts=1)
    await work.claimed()

    assert await store.jobs.fail_job(id, "w1", "away", "Later.", retry_in=SECOND * 0, entries=NOTHING, counts=False)

    job = await store.jobs.job(T, id)
    assert (job.state, job.attempts, job.error_code) == ("queued", 0, "away")
    assert (await work.claimed("w2")).attempts == 1


async def test_the_last_attempt_that_fails_is_the_end(store: Store, work: Working) -> None:
    id = await work.queue(max_attempts=1)
    await work.claimed()

    assert await store.jobs.fail_job(id, "w1", "busy", "Later.", retry_in=SECOND, entries=NOTHING)

    job = await store.jobs.job(T, id)
    assert (job.state, job.error_code) == ("failed", "busy")


async def test_a_job_that_is_to_be_unique_is_not_queued_while_another_has_not_ended(
    store: Store, work: Working
) -> None:
    first = await work.queue(unique="nightly")
    await work.queue(unique="nightly")
    await work.claimed()
    await work.queue(unique="nightly")
    assert [job.id for job in await store.jobs.list_jobs(T)] == [first]

    await store.jobs.finish_job(first, "w1", {}, NOTHING)
    again = await work.queue(unique="nightly")

    assert [job.id for job in await store.jobs.list_jobs(T)] == [again, first]


async def test_a_unique_job_of_an_id_that_is_there_is_not_queued_again_though_that_one_has_ended(
    store: Store, work: Working
) -> None:
    job = work.new(unique="nightly 2026-01-01")
    await store.journal.note(Entries(jobs=(job,)))
    await store.journal.note(Entries(jobs=(job,)))
    claimed = await work.claimed()
    await store.journal.note(Entries(jobs=(job,)))
    await store.jobs.finish_job(job.id, "w1", {"ran": 1}, replace(work.event(), jobs=(job,)))

    await store.journal.note(replace(work.event("planned again"), jobs=(job,)))

    [ended] = await store.jobs.list_jobs(T)
    assert (ended.id, ended.state, ended.attempts, ended.result) == (claimed.id, "done", 1, {"ran": 1})
    assert await work.told() == ["job.ended", "planned again"]


async def test_another_job_of_an_id_that_is_there_is_refused_and_nothing_is_kept(store: Store, work: Working) -> None:
    job = work.new()
    await store.journal.note(Entries(jobs=(job,)))

    with pytest.raises(Conflict):
        await store.journal.note(replace(work.event(), jobs=(job,)))

    assert [one.id for one in await store.jobs.list_jobs(T)] == [job.id]
    assert await work.told() == []


async def test_a_job_is_unique_within_its_tenant_and_kind(store: Store, work: Working) -> None:
    await work.queue("a", unique="u")
    await work.queue("b", unique="u")
    await work.queue("a", unique="v")
    await work.queue("a")
    await work.queue("a")
    await work.queue("a", unique="u", tenant=OTHER)

    assert len(await store.jobs.list_jobs(T)) == 5
    assert len(await store.jobs.list_jobs(OTHER)) == 1


async def test_what_is_beside_a_unique_job_is_kept_though_the_job_is_there(store: Store, work: Working) -> None:
    await work.queue(unique="u")

    await store.journal.note(replace(work.event("asked again"), jobs=(work.new(unique="u"),)))

    assert await work.told() == ["asked again"]
    assert len(await store.jobs.list_jobs(T)) == 1


async def test_of_many_who_plan_the_same_job_one_does_and_it_runs_once(
    store: Store, open_store: OpenStore, work: Working
) -> None:
    stores = [store, await open_store(), await open_store()]
    job, ran = work.new(unique="nightly 2026-01-01"), 0

    async def plan_and_run(n: int) -> None:
        nonlocal ran
        for _ in range(4):
            await stores[n % 3].journal.note(Entries(jobs=(job,)))
            if (claimed := await stores[n % 3].jobs.claim_job(["import"], f"w{n}", MINUTE)) is not None:
                ran += 1
                await stores[n % 3].jobs.finish_job(claimed.id, f"w{n}", {}, Entries(jobs=(job,)))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for n in range(9):
                tasks.start_soon(plan_and_run, n)

    assert ran == 1
    assert len(await store.jobs.list_jobs(T)) == 1


async def test_of_many_who_queue_a_unique_job_one_does(store: Store, open_store: OpenStore, work: Working) -> None:
    stores = [store, await open_store()]

    async def queue(n: int) -> None:
        await stores[n % 2].journal.note(Entries(jobs=(work.new(unique="u"),)))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for n in range(12):
                tasks.start_soon(queue, n)

    assert len(await store.jobs.list_jobs(T)) == 1


async def test_a_job_is_queued_with_the_record_it_is_for_or_not_at_all(
    store: Store, work: Working, draft: Drafting
) -> None:
    await store.records.put([draft("a")], beside=lambda _: Entries(jobs=(work.new("learn"),)))

    assert [job.kind for job in await store.jobs.list_jobs(T)] == ["learn"]


async def test_jobs_are_listed_newest_first_by_kind_and_state(store: Store, work: Working) -> None:
    [done, _, other, failed] = [await work.queue(kind) for kind in ("import", "import", "other", "import")]
    assert (await work.claimed()).id == done
    await store.jobs.finish_job(done, "w1", {}, NOTHING)
    await work.claimed()
    await work.claimed()
    await store.jobs.fail_job(failed, "w1", "broken", "It broke.", retry_in=None, entries=NOTHING)

    every = [job.id for job in await store.jobs.list_jobs(T)]
    assert (every[0], every[1], every[3]) == (failed, other, done)
    assert [job.id for job in await store.jobs.list_jobs(T, limit=2)] == every[:2]
    assert [job.id for job in await store.jobs.list_jobs(T, kinds=["other", "unknown"])] == [other]
    assert [job.id for job in await store.jobs.list_jobs(T, states=["done", "failed"])] == [failed, done]
    assert await store.jobs.list_jobs(T, kinds=["other"], states=["running"]) == []


async def test_a_failed_job_is_queued_again_its_attempts_counted_anew(
    store: Store, work: Working, clock: FakeClock
) -> None:
    id = await work.queue(max_attempts=1)
    await work.claimed()
    await store.jobs.fail_job(id, "w1", "broken", "It broke.", retry_in=None, entries=NOTHING)

    job = await store.jobs.retry_job(T, id, work.event("job.queued"))

    assert (job.id, job.state, job.attempts) == (id, "queued", 0)
    assert await store.jobs.job(T, id) == job
    assert await work.told() == ["job.queued"]
    assert (await work.claimed()).attempts == 1


async def test_only_a_failed_job_is_queued_again(store: Store, work: Working) -> None:
    id = await work.queue()
    other = await work.queue("other", tenant=OTHER)

    with pytest.raises(Conflict):
        await store.jobs.retry_job(T, id, work.event())
    await work.claimed()
    with pytest.raises(Conflict):
        await store.jobs.retry_job(T, id, work.event())
    with pytest.raises(NotFound):
        await store.jobs.retry_job(T, other, work.event())

    assert await work.told() == []


async def test_a_failed_job_is_not_queued_again_beside_another_of_its_mark(store: Store, work: Working) -> None:
    id = await work.queue(unique="u")
    await work.claimed()
    await store.jobs.fail_job(id, "w1", "broken", "It broke.", retry_in=None, entries=NOTHING)
    await work.queue(unique="u")

    with pytest.raises(Conflict):
        await store.jobs.retry_job(T, id, work.event())

    assert (await store.jobs.job(T, id)).state == "failed"
    assert await work.told() == []


async def test_a_job_that_is_not_running_can_be_dropped(store: Store, work: Working) -> None:
    queued, ended = await work.queue(), await work.queue("other")
    await work.claim("w1", "other")
    await store.jobs.finish_job(ended, "w1", {}, NOTHING)

    await store.jobs.drop_job(T, queued, work.event("dropped"))
    await store.jobs.drop_job(T, ended, NOTHING)

    assert await store.jobs.list_jobs(T) == []
    assert await work.told() == ["dropped"]


async def test_a_running_job_is_not_dropped(store: Store, work: Working) -> None:
    id = await work.queue()
    await work.claimed()

    with pytest.raises(Conflict):
        await store.jobs.drop_job(T, id, work.event())
    with pytest.raises(NotFound):
        await store.jobs.drop_job(OTHER, id, work.event())

    assert (await store.jobs.job(T, id)).state == "running"
    assert await work.told() == []


async def end(store: Store, work: Working, many: int) -> list[str]:
    """Ids of jobs that ended, each a second after the one before."""
    ids: list[str] = []
    for _ in range(many):
        ids.append(await work.queue("short"))
        await work.claim("w1", "short")
        await store.jobs.finish_job(ids[-1], "w1", {}, NOTHING)
    return ids


async def test_trimming_forgets_jobs_that_ended_long_ago(store: Store, work: Working, clock: FakeClock) -> None:
    await end(store, work, 2)
    waiting = await work.queue()
    clock.advance(HOUR)
    [recent] = await end(store, work, 1)

    assert await store.jobs.trim_jobs(older_than=MINUTE, keep=100) == 2
    assert [job.id for job in await store.jobs.list_jobs(T)] == [recent, waiting]


async def test_trimming_forgets_what_failed_sooner_than_what_is_done(
    store: Store, work: Working, clock: FakeClock
) -> None:
    [done] = await end(store, work, 1)
    await work.queue()
    claimed = await work.claimed()
    await store.jobs.fail_job(claimed.id, "w1", "broken", "It broke.", retry_in=None, entries=NOTHING)
    clock.advance(HOUR)

    assert await store.jobs.trim_jobs(older_than=2 * HOUR, keep=100) == 0
    assert await store.jobs.trim_jobs(older_than=2 * HOUR, keep=100, failed=MINUTE) == 1
    assert [job.id for job in await store.jobs.list_jobs(T)] == [done]


async def test_trimming_forgets_the_oldest_ended_beyond_what_is_to_be_kept(store: Store, work: Working) -> None:
    waiting = await work.queue()
    ended = await end(store, work, 5)

    assert await store.jobs.trim_jobs(older_than=HOUR, keep=2) == 3
    assert [job.id for job in await store.jobs.list_jobs(T)] == [ended[4], ended[3], waiting]
