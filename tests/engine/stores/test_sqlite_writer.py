# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""The writer thread: what comes together is committed together, what fails fails alone, what was handed in is finished."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import apsw
import pytest

from commonplace.errors import Conflict, StoreBusy, StoreClosed, StoreError
from commonplace.stores.sqlite.connection import Readers, WriterThread
from commonplace.stores.sqlite.schema import open_writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio


class Counting:
    """A store whose commits are counted."""

    def __init__(self, path: Path) -> None:
        self.clock = FakeClock()
        self.draft = Drafting(self.clock)
        self.commits = 0
        self.db = open_writer(path)
        self.writer = WriterThread(self.db)
        self.store = SqliteStore(path, self.writer, Readers(path), self.clock)

    def count(self) -> None:
        def committed() -> bool:
            self.commits += 1
            return False

        self.db.set_commit_hook(committed)


@pytest.fixture
async def counting(tmp_path: Path) -> AsyncGenerator[Counting]:
    counting = Counting(tmp_path / "memory.db")
    await counting.store.maintenance.set_embedders({EMBEDDER: DIMENSION})
    counting.count()
    yield counting
    await counting.store.aclose()


async def hold(writer: WriterThread, begun: threading.Event, go: threading.Event) -> None:
    """Keep the writer thread busy until `go`, so that work gathers behind it."""

    def job(db: apsw.Connection) -> None:
        begun.set()
        assert go.wait(timeout=5)

    await writer.run(job, alone=True)


async def test_writes_that_come_together_share_a_commit(counting: Counting) -> None:
    begun, go = threading.Event(), threading.Event()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, counting.writer, begun, go)
        await asyncio.to_thread(begun.wait, 5)
        for n in range(100):
            tasks.start_soon(counting.store.records.put, [counting.draft(f"record {n}")])
        await anyio.wait_all_tasks_blocked()
        go.set()

    assert (await counting.store.maintenance.stats(DEFAULT_TENANT)).records == 100
    assert counting.commits == 1


async def test_writes_that_come_one_by_one_are_each_committed_before_they_are_acknowledged(counting: Counting) -> None:
    for n in range(5):
        await counting.store.records.put([counting.draft(f"record {n}")])

        assert counting.commits == n + 1


async def test_nothing_is_acknowledged_while_its_commit_is_under_way(counting: Counting) -> None:
    begun, go = threading.Event(), threading.Event()

    def committing() -> bool:
        begun.set()
        return not go.wait(timeout=5)

    counting.db.set_commit_hook(committing)
    putting = asyncio.ensure_future(counting.store.records.put([counting.draft("record")]))
    await asyncio.to_thread(begun.wait, 5)
    await anyio.wait_all_tasks_blocked()
    early = putting.done()
    go.set()
    await putting

    assert not early


async def test_a_commit_that_fails_fails_every_write_in_it(counting: Counting) -> None:
    counting.db.set_commit_hook(lambda: True)

    with pytest.raises(StoreError):
        await counting.store.records.put([counting.draft("record")])
    counting.db.set_commit_hook(None)

    assert (await counting.store.maintenance.stats(DEFAULT_TENANT)).records == 0
    await counting.store.records.put([counting.draft("afterwards")])


async def test_a_write_that_fails_takes_no_other_with_it(counting: Counting) -> None:
    begun, go = threading.Event(), threading.Event()
    refused: list[str] = []

    async def put(n: int) -> None:
        try:
            drafts = [counting.draft(f"record {n}"), counting.draft("the same", key="k", expected=0)]
            await counting.store.records.put(drafts)
        except Conflict as conflict:
            refused.append(conflict.code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, counting.writer, begun, go)
        await asyncio.to_thread(begun.wait, 5)
        for n in range(20):
            tasks.start_soon(put, n)
        await anyio.wait_all_tasks_blocked()
        go.set()

    assert refused == ["record_changed"] * 19
    assert (await counting.store.maintenance.stats(DEFAULT_TENANT)).records == 2
    assert [finding for finding in await counting.store.maintenance.check() if finding.severity == "error"] == []


async def test_an_error_that_is_not_of_the_store_reaches_its_caller_alone(counting: Counting) -> None:
    def broken(db: apsw.Connection) -> None:
        db.execute("INSERT INTO counters VALUES ('half', 1)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await counting.writer.run(broken)

    await counting.store.records.put([counting.draft("afterwards")])
    assert counting.db.execute("SELECT count(*) FROM counters WHERE name = 'half'").get == 0


async def test_closing_finishes_what_was_handed_in(tmp_path: Path) -> None:
    counting = Counting(tmp_path / "memory.db")
    await counting.store.maintenance.set_embedders({EMBEDDER: DIMENSION})
    begun, go = threading.Event(), threading.Event()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, counting.writer, begun, go)
        await asyncio.to_thread(begun.wait, 5)
        for n in range(30):
            tasks.start_soon(counting.store.records.put, [counting.draft(f"record {n}")])
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(counting.store.aclose)
        go.set()

    again = await SqliteStore.open(tmp_path / "memory.db", counting.clock)
    assert (await again.maintenance.stats(DEFAULT_TENANT)).records == 30
    await again.aclose()


async def test_a_closed_store_says_so_however_often_it_is_asked(tmp_path: Path) -> None:
    counting = Counting(tmp_path / "memory.db")
    await counting.store.aclose()
    await counting.store.aclose()

    for _ in range(2):
        with pytest.raises(StoreClosed):
            await counting.store.records.put([counting.draft("too late")])
        with pytest.raises(StoreClosed):
            await counting.store.maintenance.stats(DEFAULT_TENANT)


async def test_nobody_waits_forever_for_a_store_that_closes_under_their_hands(tmp_path: Path) -> None:
    for attempt in range(20):
        counting = Counting(tmp_path / f"memory-{attempt}.db")
        await counting.store.maintenance.set_embedders({EMBEDDER: DIMENSION})
        ended = 0

        async def write(n: int, counting: Counting = counting) -> None:
            nonlocal ended
            try:
                await counting.store.records.put([counting.draft(f"record {n}")])
                await counting.store.maintenance.stats(DEFAULT_TENANT)
            except StoreClosed:
                pass
            ended += 1

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for n in range(10):
                    tasks.start_soon(write, n)
                tasks.start_soon(counting.store.aclose)
                for n in range(10):
                    tasks.start_soon(write, n)

        assert ended == 20


async def test_a_cancelled_caller_disturbs_no_other(counting: Counting) -> None:
    begun, go = threading.Event(), threading.Event()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, counting.writer, begun, go)
        await asyncio.to_thread(begun.wait, 5)
        async with anyio.create_task_group() as impatient:
            for n in range(5):
                impatient.start_soon(counting.store.records.put, [counting.draft(f"given up {n}")])
            await anyio.wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()
        tasks.start_soon(counting.store.records.put, [counting.draft("kept")])
        await anyio.wait_all_tasks_blocked()
        go.set()

    assert (await counting.store.maintenance.stats(DEFAULT_TENANT)).records == 1


async def test_every_commit_is_flushed_to_the_disk(counting: Counting) -> None:
    full = 2

    assert counting.db.pragma("synchronous") == full
    assert counting.db.pragma("journal_mode") == "wal"


async def test_a_lock_that_is_never_given_up_is_an_error_with_a_name(tmp_path: Path) -> None:
    writer = WriterThread(open_writer(tmp_path / "memory.db"), patience=0.0)
    other = apsw.Connection(str(tmp_path / "memory.db"))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreBusy):
        await writer.run(lambda db: db.execute("INSERT INTO counters VALUES ('x', 1)").get)
    other.execute("ROLLBACK")
    await writer.run(lambda db: db.execute("INSERT INTO counters VALUES ('x', 1)").get)

    assert other.execute("SELECT count(*) FROM counters WHERE name = 'x'").get == 1
    other.close()
    writer.close()
