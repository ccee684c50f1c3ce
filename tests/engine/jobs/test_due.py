"""Jobs that come again and again, by tenant, kind, name and due time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.jobs.due import is_recurrence, last_due, recurring_job
from commonplace.ports.journal import Entries
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.job import NewJob
from commonplace.values.scope import DEFAULT_TENANT

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - as Hypothesis wants them


def job(kind: str = "ask", name: str = "standup", due: datetime = NOON, **more: str) -> NewJob:
    return recurring_job(kind, name, due, now=NOON, **more)  # pyright: ignore[reportArgumentType] - tenant and creator


def test_everybody_plans_the_same_job_for_a_due_time() -> None:
    beijing = NOON.astimezone(timezone(timedelta(hours=8)))
    later = recurring_job("ask", "standup", beijing, now=NOON + HOUR, created_by="another")

    assert (later.id, later.unique) == (job().id, job().unique)
    assert later.not_before == job().not_before == NOON


@pytest.mark.parametrize(
    "other",
    [job(kind="tell"), job(name="retro"), job(due=NOON + HOUR), job(tenant="acme/web")],
    ids=["kind", "name", "due", "tenant"],
)
def test_another_kind_name_due_time_or_tenant_is_another_job(other: NewJob) -> None:
    assert other.id != job().id


def test_a_name_is_not_mistaken_for_another_that_begins_like_it() -> None:
    assert job(name="a").id != job(name="a b").id
    assert job(name=f"a {NOON.isoformat()}").unique != job(name="a").unique


@given(TIMES, st.timedeltas(timedelta(seconds=1), DAY))
def test_due_times_come_every_so_often_and_are_the_same_for_everybody(now: datetime, every: timedelta) -> None:
    due = last_due(now, every)

    assert due <= now < due + every
    assert last_due(due, every) == due
    assert last_due(due + every, every) == due + every


@pytest.mark.anyio
async def test_two_schedules_of_one_kind_do_not_collide_and_each_due_time_is_queued_once(
    store: SqliteStore, clock: FakeClock
) -> None:
    jobs = tuple(job(name=name, due=NOON + n * DAY) for name in ("standup", "retro") for n in range(3))

    for _ in range(2):
        await store.journal.note(Entries(jobs=jobs))

    queued = await store.jobs.list_jobs(DEFAULT_TENANT)
    assert {one.id for one in queued} == {one.id for one in jobs}
    assert sum(is_recurrence(one, "standup") for one in queued) == 3
    assert not any(is_recurrence(one, "stand") for one in queued)
