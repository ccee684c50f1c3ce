"""Who waits for the end of a task: told at once, and never kept longer than they wanted."""

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
import anyio.lowlevel
import pytest

from commonplace.errors import NotFound
from commonplace.jobs.waiter import JobWaiter, Wait
from commonplace.values.event import Event, News
from commonplace.values.principal import Principal

pytestmark = pytest.mark.anyio

ANA, BEN = (Principal(subject=name, tenant="default/default", role="writer") for name in ("ana", "ben"))
LONG = Wait(seconds=30)


@dataclass
class Task:
    is_over: bool = False
    looks: int = 0
    gone: bool = False

    async def seen(self) -> "Seen":
        self.looks += 1
        if self.gone:
            raise NotFound
        return Seen(self.is_over)


@dataclass(frozen=True)
class Seen:
    is_over: bool


@pytest.fixture
def waiter() -> JobWaiter:
    """Nobody looks by themselves."""
    return JobWaiter(look_every=60.0)


def waits(waiter: JobWaiter, task: Task, who: Principal = ANA, wait: Wait = LONG) -> asyncio.Task[Seen]:
    return asyncio.create_task(waiter.until(who, "t1", wait, task.seen))


async def waiting(waiter: JobWaiter, task: Task, count: int = 1) -> None:
    """Until so many wait, having looked."""
    with anyio.fail_after(5):
        while waiter.waiting < count or task.looks < count:
            await anyio.lowlevel.checkpoint()


def told(what: str, job: str = "t1") -> Event:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(1, News(type=what, tenant="default/default", at=at, data={"job": job, "kind": "remember"}))


async def test_what_is_over_already_is_answered_at_once(waiter: JobWaiter) -> None:
    task = Task(is_over=True)

    seen = await waiter.until(ANA, "t1", LONG, task.seen)

    assert (seen.is_over, task.looks, waiter.waiting) == (True, 1, 0)


async def test_a_worker_of_this_process_wakes_whoever_waits_for_its_task(waiter: JobWaiter) -> None:
    task = Task()
    answer = waits(waiter, task)
    await waiting(waiter, task)
    task.is_over = True
    waiter.wake("another")
    waiter.wake("t1")
    with anyio.fail_after(5):
        seen = await answer

    assert (seen.is_over, task.looks, waiter.waiting) == (True, 2, 0)


@pytest.mark.parametrize("what", ["job.done", "job.failed"])
async def test_the_end_of_a_task_of_another_daemon_is_heard_in_the_log(waiter: JobWaiter, what: str) -> None:
    task = Task()
    answer = waits(waiter, task)
    await waiting(waiter, task)
    waiter.hear(told("job.progress"))
    waiter.hear(told(what, "another"))
    task.is_over = True
    waiter.hear(told(what))
    with anyio.fail_after(5):
        seen = await answer

    assert (seen.is_over, task.looks) == (True, 2)


@pytest.mark.parametrize("is_followed", [True, False])
async def test_an_end_that_nobody_tells_of_is_found_all_the_same(is_followed: bool) -> None:
    waiter, task = JobWaiter(look_every=0.01), Task()
    with waiter.followed() if is_followed else nullcontext():
        answer = waits(waiter, task)
        await waiting(waiter, task)
        task.is_over = True
        with anyio.fail_after(5):
            seen = await answer

    assert seen.is_over


async def test_after_the_wait_the_task_is_told_as_it_stands(waiter: JobWaiter) -> None:
    task = Task()

    with anyio.fail_after(5):
        seen = await waiter.until(ANA, "t1", Wait(seconds=0.02), task.seen)

    assert (seen.is_over, task.looks, waiter.waiting) == (False, 2, 0)


async def test_who_goes_away_leaves_the_place_at_once(waiter: JobWaiter) -> None:
    task, gone = Task(), asyncio.Event()
    answer = waits(waiter, task, wait=Wait(seconds=30, disconnect=gone.wait))
    await waiting(waiter, task)

    gone.set()
    with anyio.fail_after(5):
        await answer

    assert waiter.waiting == 0


async def test_who_is_cancelled_leaves_the_place_too(waiter: JobWaiter) -> None:
    task = Task()
    answer = waits(waiter, task, wait=Wait(seconds=30, disconnect=asyncio.Event().wait))
    await waiting(waiter, task)

    answer.cancel()
    await asyncio.wait({answer}, timeout=5)

    assert (answer.cancelled(), waiter.waiting) == (True, 0)


async def test_a_task_that_is_dropped_is_told_as_missing(waiter: JobWaiter) -> None:
    task = Task()
    answer = waits(waiter, task)
    await waiting(waiter, task)

    task.gone = True
    waiter.hear(told("job.dropped"))

    with pytest.raises(NotFound), anyio.fail_after(5):
        await answer
    assert waiter.waiting == 0


async def test_at_the_end_of_the_process_everybody_is_told_as_it_stands(waiter: JobWaiter) -> None:
    task = Task()
    answers = [waits(waiter, task), waits(waiter, task, BEN)]
    await waiting(waiter, task, 2)

    waiter.close()
    with anyio.fail_after(5):
        seen = [await answer for answer in answers]
        late = await waiter.until(ANA, "t1", LONG, task.seen)

    assert [one.is_over for one in (*seen, late)] == [False] * 3
    assert waiter.waiting == 0


async def test_one_caller_takes_only_so_many_places_and_the_others_find_one() -> None:
    waiter, task = JobWaiter(each=2, most=3), Task()
    held = [waits(waiter, task), waits(waiter, task)]
    await waiting(waiter, task, 2)

    with anyio.fail_after(5):
        refused = await waiter.until(ANA, "t1", LONG, task.seen)
    other = waits(waiter, task, BEN)
    await waiting(waiter, task, 3)
    with anyio.fail_after(5):
        full = await waiter.until(BEN, "t1", LONG, task.seen)
    task.is_over = True
    waiter.wake("t1")
    with anyio.fail_after(5):
        seen = [await answer for answer in (*held, other)]

    assert (refused.is_over, full.is_over) == (False, False)
    assert [one.is_over for one in seen] == [True] * 3
    assert waiter.waiting == 0
