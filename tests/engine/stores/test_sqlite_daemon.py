"""What only a SQLite file has to show of what a daemon keeps: processes that share it, and the bytes that are left."""

import asyncio
import multiprocessing
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from commonplace.errors import InvalidFile
from commonplace.ports.journal import Entries
from commonplace.ports.knowledge import Layer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting
from commonplace.values.audit import AuditRow
from commonplace.values.event import Event, News
from commonplace.values.moment import new_id
from commonplace.values.query import Filter
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def news(what: str) -> Entries:
    return Entries(events=(News(type=what, tenant=T, at=NOW),))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "memory.db", FakeClock(NOW))
    await store.maintenance.set_embedders({EMBEDDER: DIMENSION})
    yield store
    await store.aclose()


def bytes_of(folder: Path) -> bytes:
    """The database, its log and its shared memory."""
    return b"".join(file.read_bytes() for file in folder.glob("memory.db*"))


async def gather(store: SqliteStore, many: int) -> list[Event]:
    told: list[Event] = []
    with anyio.fail_after(20):
        async with aclosing(store.events.follow_events(0)) as events:
            async for some in events:
                told += some
                if len(told) >= many:
                    break
    return told


def write(path: Path, name: str) -> None:
    """What another process does."""

    async def writing() -> None:
        store = await SqliteStore.open(path, FakeClock(NOW))
        for n in range(20):
            await store.journal.note(news(f"{name}.{n}"))
        await store.aclose()

    asyncio.run(writing())


async def test_a_follower_misses_nothing_of_what_other_processes_write(store: SqliteStore, tmp_path: Path) -> None:
    spawning = multiprocessing.get_context("spawn")
    others = [spawning.Process(target=write, args=(tmp_path / "memory.db", f"p{n}")) for n in range(2)]
    for other in others:
        other.start()

    told = await gather(store, 40)

    for other in others:
        other.join(timeout=5)
    types = [event.news.type for event in told]
    assert sorted(types) == sorted(f"p{n}.{m}" for n in range(2) for m in range(20))
    assert [event.id for event in told] == list(range(1, 41))
    assert [other.exitcode for other in others] == [0, 0]


async def test_a_follower_waits_for_a_file_that_is_out_of_reach(tmp_path: Path) -> None:
    path, away = tmp_path / "memory.db", tmp_path / "away.db"
    store = await SqliteStore.open(path, FakeClock(NOW))
    await store.journal.note(news("before"))
    # The readers open the file when they are first asked.
    path.rename(away)
    told: list[Event] = []
    early: list[Event] = []

    async def follow() -> None:
        told.extend(await gather(store, 1))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        early += told
        away.rename(path)

    await store.aclose()
    assert early == []
    assert [event.news.type for event in told] == ["before"]


async def test_a_closed_store_leaves_no_thread_behind_its_followers(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    store = await SqliteStore.open(tmp_path / "memory.db", FakeClock(NOW))

    async def follow() -> None:
        assert [event async for event in store.events.follow_events(0)] == []

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            await store.aclose()

    others = set(threading.enumerate()) - before
    assert [thread.name for thread in others if thread.name.startswith("commonplace-")] == []


async def test_a_purge_leaves_no_byte_of_a_layer(store: SqliteStore, tmp_path: Path) -> None:
    [written] = await store.records.put([Drafting(FakeClock(NOW))("a long story")])
    layer = Layer(record=written.record.id, version=1, name="L0", text="Quixotic zebras in short", tokens=4)
    await store.knowledge.put_layers(T, [layer])
    assert b"Quixotic" in bytes_of(tmp_path)

    await store.records.purge(T, [Filter(ids=(written.record.id,))])

    assert b"Quixotic" not in bytes_of(tmp_path)


async def test_a_store_that_holds_an_audit_is_not_restored_over(store: SqliteStore, tmp_path: Path) -> None:
    await store.maintenance.backup(tmp_path / "copy.db")
    row = AuditRow(id=new_id(NOW), at=NOW, tenant=T, actor="ann", action="auth.denied", outcome="denied")
    await store.journal.note(Entries(audit=(row,)))

    with pytest.raises(InvalidFile):
        await store.maintenance.restore(tmp_path / "copy.db")


async def test_a_purge_goes_on_while_somebody_follows(store: SqliteStore) -> None:
    [written] = await store.records.put([Drafting(FakeClock(NOW))("a")], beside=lambda _: news("put"))

    with anyio.fail_after(5):
        async with aclosing(store.events.follow_events(0)) as events:
            await anext(events)
            purged = await store.records.purge(T, [Filter(ids=(written.record.id,))], beside=lambda ids: news(ids[0]))
            [event] = await anext(events)

    assert purged.records == 1
    assert event.news.type == written.record.id
