"""How many imports of a key wait, and what is read of those that do."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from commonplace.errors import QueueFull
from commonplace.service import transfer
from commonplace.service.desk import Desk
from commonplace.service.transfer import Moving
from commonplace.testing.callers import caller
from commonplace.values.job import Job, JobState
from commonplace.values.scope import Scope
from commonplace.values.transfer import SentFile

pytestmark = pytest.mark.anyio

WEB = Scope("workspace", "web")
ANA = replace(caller("writer"), key="k1")
BOB = replace(caller("writer"), key="k2")


@pytest.fixture
def moving(desk: Desk) -> Moving:
    return Moving(desk)


def files(text: str) -> list[SentFile]:
    return [SentFile(path="note.md", text=text)]


async def test_a_key_may_have_so_many_imports_waiting_and_another_key_as_many(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "WAITING", 2)
    for n in range(2):
        await moving.queue_files(ANA, files(f"note {n}"), scope=WEB)

    with pytest.raises(QueueFull) as refused:
        await moving.queue_files(ANA, files("one more"), scope=WEB)
    other = await moving.queue_files(BOB, files("one more"), scope=WEB)

    assert (refused.value.code, other.state) == ("queue_full", "queued")


async def test_a_key_may_have_so_many_bytes_waiting(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "WAITING_BYTES", 50_000)
    await moving.queue_files(ANA, files("x" * 40_000), scope=WEB)

    with pytest.raises(QueueFull):
        await moving.queue_files(ANA, files("y" * 20_000), scope=WEB)


async def test_the_same_import_is_not_queued_twice_also_if_there_is_no_room(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "WAITING", 1)
    first = await moving.queue_files(ANA, files("a note"), scope=WEB)

    again = await moving.queue_files(ANA, files("a note"), scope=WEB)

    assert again.id == first.id


async def test_queuing_an_import_reads_no_other_import(
    moving: Moving, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await moving.queue_files(ANA, files("the first"), scope=WEB)
    jobs, read = desk.store.jobs, list[str]()
    read_job = jobs.job

    async def job(tenant: str, id: str) -> Job:
        read.append(id)
        return await read_job(tenant, id)

    async def list_jobs(
        tenant: str, *, kinds: Sequence[str] = (), states: Sequence[JobState] = (), limit: int = 0
    ) -> list[Job]:
        raise AssertionError((tenant, kinds, states, limit))

    monkeypatch.setattr(jobs, "job", job)
    monkeypatch.setattr(jobs, "list_jobs", list_jobs)

    second = await moving.queue_files(ANA, files("the second"), scope=WEB)

    assert read == [second.id]
