"""What every store of schedules has to do."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from commonplace.ports.journal import Entries
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Store
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.job import NewJob
from commonplace.values.moment import new_id
from commonplace.values.schedule import (
    Creator,
    Fire,
    LastFire,
    Schedule,
    ScheduleChanged,
    ScheduleNotFound,
    SchedulePause,
    Timing,
    TooManySchedules,
)
from commonplace.values.scope import DEFAULT_TENANT as HERE

pytestmark = pytest.mark.anyio
NOTHING = Entries()
MINUTE = timedelta(minutes=1)


def schedule(clock: FakeClock, **fields: Any) -> Schedule:
    clock.advance(timedelta(milliseconds=1))
    known: dict[str, Any] = {
        "id": new_id(clock.now()),
        "tenant": HERE,
        "target": "session:team",
        "label": "questions",
        "prompt": "post the open questions",
        "timing": Timing(zone="Europe/Berlin", cron="0 9 * * 1-5"),
        "creator": Creator(subject="ana", role="writer"),
        "created_at": clock.now(),
        "updated_at": clock.now(),
        "next_due": clock.now() + MINUTE,
    }
    return Schedule(**{**known, **fields})


def entries(clock: FakeClock, **more: Any) -> Entries:
    row = AuditRow(
        id=new_id(clock.now()),
        at=clock.now(),
        tenant=HERE,
        actor="Ana",
        action="schedule.change",
        outcome="ok",
        door="native",
    )
    return Entries(audit=(row,), **more)


async def audit_rows(store: Store) -> int:
    return len((await store.journal.audit(HERE, AuditQuery(), 50, None)).rows)


async def test_a_schedule_is_kept_as_it_is_with_its_entries(store: Store, clock: FakeClock) -> None:
    now = clock.now()
    given = schedule(
        clock,
        creator=Creator(subject="ana", role="writer", name="Ana", scopes=("workspace:*", "global"), key="k1"),
        timing=Timing(zone="Asia/Shanghai", at=now + MINUTE, quiet="22:00-07:00"),
        fire=Fire(job="j1", due=now, since=now, missed=2, by="Bo"),
        last=LastFire(status="error", due=now, fired_at=now, finished_at=now, run="r1", preview="早上好", error="no"),
        attempt=2,
        failures=3,
        fires=4,
        disabled_because="five in a row",
    )

    await store.schedules.add_schedule(given, entries(clock), most=10)

    assert await store.schedules.schedule(HERE, given.id) == given
    assert await store.schedules.schedules(HERE) == [given]
    assert await audit_rows(store) == 1


async def test_of_two_who_change_a_schedule_at_once_one_is_first_and_its_job_is_queued_once(
    store: Store, clock: FakeClock
) -> None:
    first = await store.schedules.add_schedule(schedule(clock), NOTHING, most=10)
    job = NewJob(id="fire-1", tenant=HERE, kind="schedule", payload={}, created_at=clock.now(), created_by="daemon")

    async def fire(label: str) -> object:
        try:
            return await store.schedules.change_schedule(replace(first, label=label), entries(clock, jobs=(job,)))
        except ScheduleChanged as error:
            return error

    outcomes = await asyncio.gather(fire("one"), fire("two"), fire("three"))

    assert sum(isinstance(outcome, Schedule) for outcome in outcomes) == 1
    assert (await store.schedules.schedule(HERE, first.id)).version == 2
    assert len(await store.jobs.list_jobs(HERE)) == 1
    assert await audit_rows(store) == 1


async def test_a_target_has_ten_enabled_schedules_however_many_are_added_at_once(
    store: Store, clock: FakeClock
) -> None:
    given = [schedule(clock) for _ in range(12)]

    outcomes = await asyncio.gather(
        *(store.schedules.add_schedule(one, NOTHING, most=10) for one in given), return_exceptions=True
    )

    assert sum(isinstance(outcome, TooManySchedules) for outcome in outcomes) == 2
    assert len(await store.schedules.schedules(HERE, target="session:team")) == 10
    other = await store.schedules.add_schedule(schedule(clock, target="session:other"), NOTHING, most=10)
    disabled = await store.schedules.add_schedule(schedule(clock, enabled=False, next_due=None), NOTHING, most=10)
    with pytest.raises(TooManySchedules):
        await store.schedules.change_schedule(replace(disabled, enabled=True), NOTHING, most=10)
    assert (await store.schedules.change_schedule(other, NOTHING, most=10)).version == 2


async def test_what_is_due_comes_in_order_of_all_tenants(store: Store, clock: FakeClock) -> None:
    now = clock.now()
    late = await store.schedules.add_schedule(schedule(clock, next_due=now - MINUTE), NOTHING, most=10)
    later = await store.schedules.add_schedule(schedule(clock, tenant="x/y", next_due=now), NOTHING, most=10)
    await store.schedules.add_schedule(schedule(clock, next_due=now + MINUTE), NOTHING, most=10)
    await store.schedules.add_schedule(schedule(clock, next_due=now - MINUTE, enabled=False), NOTHING, most=10)

    assert [one.id for one in await store.schedules.due_schedules(now, 10)] == [late.id, later.id]
    assert [one.id for one in await store.schedules.due_schedules(now, 1)] == [late.id]
    assert await store.schedules.next_due() == now - MINUTE


async def test_an_empty_store_has_nothing_that_is_due(store: Store, clock: FakeClock) -> None:
    assert await store.schedules.next_due() is None
    assert await store.schedules.due_schedules(clock.now(), 10) == []


async def test_schedules_are_listed_a_page_at_a_time(store: Store, clock: FakeClock) -> None:
    ids = [(await store.schedules.add_schedule(schedule(clock), NOTHING, most=10)).id for _ in range(3)]
    bo = Creator(subject="bo", role="writer")
    await store.schedules.add_schedule(schedule(clock, creator=bo), NOTHING, most=10)

    page = await store.schedules.schedules(HERE, subject="ana", limit=2)

    assert [one.id for one in page] == [ids[2], ids[1]]
    rest = await store.schedules.schedules(HERE, subject="ana", limit=2, cursor=page[-1].id)
    assert [one.id for one in rest] == [ids[0]]


async def look(store: Store, one: Schedule) -> None:
    await store.schedules.schedule(HERE, one.id)


async def change(store: Store, one: Schedule) -> None:
    await store.schedules.change_schedule(one, NOTHING)


async def remove(store: Store, one: Schedule) -> None:
    await store.schedules.remove_schedule(HERE, one.id, NOTHING)


@pytest.mark.parametrize("use", [look, change, remove])
async def test_one_that_is_removed_is_not_found(
    store: Store, clock: FakeClock, use: Callable[[Store, Schedule], Awaitable[None]]
) -> None:
    one = await store.schedules.add_schedule(schedule(clock), NOTHING, most=10)
    await store.schedules.remove_schedule(HERE, one.id, entries(clock))

    with pytest.raises(ScheduleNotFound):
        await use(store, one)

    assert await audit_rows(store) == 1


async def test_a_pause_is_of_its_tenant_and_the_first_stays(store: Store, clock: FakeClock) -> None:
    first = SchedulePause(tenant=HERE, target="", at=clock.now(), by="ana")
    assert await store.schedules.pause_schedules(first, entries(clock)) == first

    assert await store.schedules.pause_schedules(replace(first, by="bo"), entries(clock)) == first

    assert await store.schedules.schedule_pauses(HERE) == [first]
    assert await store.schedules.schedule_pauses("x/y") == []
    assert await audit_rows(store) == 1


async def test_what_is_resumed_is_paused_no_longer(store: Store, clock: FakeClock) -> None:
    await store.schedules.pause_schedules(
        SchedulePause(tenant=HERE, target="channel/team", at=clock.now(), by="ana"), NOTHING
    )

    assert await store.schedules.resume_schedules(HERE, "channel/team", entries(clock))

    assert not await store.schedules.resume_schedules(HERE, "channel/team", entries(clock))
    assert await store.schedules.schedule_pauses(HERE) == []
    assert await audit_rows(store) == 1
