# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""A read that nobody waits for any more ends, and leaves its thread and its connection to others."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import apsw
import pytest

from commonplace.stores.sqlite.connection import READERS, Readers
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

PATIENCE = 5
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
async def readers(tmp_path: Path) -> AsyncGenerator[Readers]:
    store = await SqliteStore.open(tmp_path / "memory.db", FakeClock())
    readers = Readers(tmp_path / "memory.db")
    yield readers
    await asyncio.wait_for(asyncio.to_thread(readers.close), PATIENCE)
    await store.aclose()


class Endless:
    """A read without an end: one long statement, or short ones for ever."""

    def __init__(self, *, one_statement: bool) -> None:
        self._one_statement = one_statement
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, db: apsw.Connection) -> None:
        try:
            self.begun.set()
            while True:
                db.execute(ENDLESS if self._one_statement else "SELECT 1")
        finally:
            self.ended.set()


@pytest.mark.parametrize("one_statement", [True, False])
async def test_a_read_whose_caller_is_cancelled_ends(readers: Readers, one_statement: bool) -> None:
    endless = Endless(one_statement=one_statement)
    reading = asyncio.ensure_future(readers.run(endless))
    assert await asyncio.to_thread(endless.begun.wait, PATIENCE)

    reading.cancel()

    assert await asyncio.to_thread(endless.ended.wait, PATIENCE)
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_threads_and_connections_of_reads_that_were_given_up_are_used_again(readers: Readers) -> None:
    endless = [Endless(one_statement=bool(n % 2)) for n in range(READERS)]
    reads = [asyncio.ensure_future(readers.run(read)) for read in endless]
    for read in endless:
        assert await asyncio.to_thread(read.begun.wait, PATIENCE)
    for read in reads:
        read.cancel()

    answers = [await asyncio.wait_for(readers.run(lambda db: db.execute("SELECT 7").get), PATIENCE) for _ in range(20)]

    assert answers == [7] * 20


async def test_a_read_that_had_not_begun_never_does(readers: Readers) -> None:
    endless = [Endless(one_statement=True) for _ in range(READERS)]
    reads = [asyncio.ensure_future(readers.run(read)) for read in endless]
    for read in endless:
        assert await asyncio.to_thread(read.begun.wait, PATIENCE)
    late = Endless(one_statement=True)
    waiting = asyncio.ensure_future(readers.run(late))
    await asyncio.sleep(0)

    for read in (waiting, *reads):
        read.cancel()
    await asyncio.gather(waiting, *reads, return_exceptions=True)
    await asyncio.wait_for(readers.run(lambda db: db.execute("SELECT 7").get), PATIENCE)

    assert not late.begun.is_set()
