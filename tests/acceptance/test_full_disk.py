# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""A full disk refuses what adds to it. What removes something works all the same, and leaves nothing behind."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import apsw
import pytest

from commonplace import open_memory
from commonplace.errors import RecordNotFound, StoreFull
from commonplace.ports.journal import Entries
from commonplace.ports.store import Store
from commonplace.stores.sqlite.connection import Job, Readers, WriterThread
from commonplace.stores.sqlite.reserve import LARGEST, SMALLEST, Reserve
from commonplace.stores.sqlite.schema import open_writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.scope import Scope

T = TypeVar("T")
TENANT = "default/default"
SECRET_WORD = "zanzibarquartz"
EVERYTHING = [Filter(states=ALL_STATES)]


def text(n: int) -> str:
    words = " ".join(f"w{(n * step) % 977}" for step in range(60))
    return f"{SECRET_WORD}{n} note number {n} says {words}"


def fill(folder: Path) -> None:
    """Until not a byte is left."""
    file = os.open(folder / "others", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        for size in (1 << 20, 4096, 1):
            try:
                while os.write(file, b"x" * size):
                    pass
            except OSError:
                continue
    finally:
        os.close(file)


async def bring(store: Store, count: int) -> list[str]:
    draft = Drafting(FakeClock())
    await store.maintenance.set_embedders({EMBEDDER: DIMENSION})
    return [(await store.records.put([draft(text(n))]))[0].record.id for n in range(count)]


def bytes_beside(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


# ---- a real file system


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    libc = ctypes.CDLL(None, use_errno=True)
    mount = getattr(libc, "mount", None)
    if mount is None or mount(b"tmpfs", os.fsencode(tmp_path), b"tmpfs", 0, b"size=48m"):
        pytest.skip("this user may not mount a file system here; the other tests need none")
    yield tmp_path
    libc.umount2(os.fsencode(tmp_path), 2)


def test_on_a_disk_without_a_byte_left_records_are_deleted_and_purged_and_a_put_is_refused(small_disk: Path) -> None:
    store = small_disk / "memory.db"
    with open_memory(store) as memory:
        ids = [memory.put(text(n), scope="workspace:web").id for n in range(120)]
    with open_memory(store) as memory:
        fill(small_disk)
        with pytest.raises(StoreFull):
            memory.put("one more " * 1_000)

        assert memory.delete(ids[0]).deleted_at is not None
        assert memory.purge(ids=[ids[1]]).records == 1
        with pytest.raises(RecordNotFound):
            memory.get(ids[1])
        assert memory.purge(scope="workspace:web").records == 119

        assert memory.stats().records == 0
        assert SECRET_WORD.encode() not in bytes_beside(store)
        assert (small_disk / "memory.db-reserve").stat().st_size >= SMALLEST


def test_a_store_opens_on_a_disk_without_a_byte_left_so_that_somebody_can_purge(small_disk: Path) -> None:
    store = small_disk / "memory.db"
    with open_memory(store) as memory:
        ids = [memory.put(text(n)).id for n in range(30)]
    fill(small_disk)

    with open_memory(store) as memory:
        assert memory.purge(ids=ids).records == 30

    assert SECRET_WORD.encode() not in bytes_beside(store)


# ---- without one: pages that the file may not have, a log that may not grow


@pytest.mark.anyio
async def test_a_file_that_may_have_no_further_page_is_purged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    db = open_writer(path)
    store = SqliteStore(path, WriterThread(db), Readers(path), FakeClock())
    await bring(store, 300)
    # The writing thread is idle now: its connection may be spoken to.
    db.wal_checkpoint(mode=3)
    db.pragma("max_page_count", db.pragma("page_count"))

    async with store.maintenance.removal():
        purged = await store.records.purge(TENANT, EVERYTHING)

    assert purged.records == 300
    assert (await store.maintenance.stats(TENANT)).records == 0
    assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []
    await store.aclose()
    assert SECRET_WORD.encode() not in bytes_beside(path)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="there is no such limit here")
def test_a_log_that_may_not_grow_keeps_nobody_from_purging(tmp_path: Path) -> None:
    script = f"""
import resource, signal
from commonplace import open_memory
from commonplace.errors import CommonplaceError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open_memory({str(tmp_path / "memory.db")!r}) as memory:
    ids = [memory.put(f"{SECRET_WORD}{{n}} says " + " ".join(f"w{{n * step % 977}}" for step in range(60))).id for n in range(80)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_900_000, resource.RLIM_INFINITY))
    try:
        memory.put("one more")
        print("kept")
    except CommonplaceError as error:
        print(error.code)
    print(memory.delete(ids[0]).deleted_at is not None, memory.purge(ids=ids).records, memory.stats().records)
    print([finding for finding in memory.check() if finding.severity == "error"])
"""
    assert resource.RLIMIT_FSIZE >= 0

    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)

    assert (told.stderr, told.stdout.splitlines()) == ("", ["store_full", "True 80 0", "[]"])
    assert SECRET_WORD.encode() not in bytes_beside(tmp_path / "memory.db")


class TightWriter(WriterThread):
    """A transaction may change only so many rows: for more the log has no room."""

    async def run(self, job: Job[T], *, alone: bool = False) -> T:
        def bounded(db: apsw.Connection) -> T:
            before = db.total_changes()
            result = job(db)
            if not alone and db.total_changes() - before > 600:
                raise apsw.FullError("there is no room for that much")
            return result

        return await super().run(bounded, alone=alone)


@pytest.mark.anyio
async def test_a_purge_larger_than_the_room_there_is_goes_in_portions_and_elsewhere_is_refused_whole(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path, TightWriter(open_writer(path)), Readers(path), FakeClock())
    ids = await bring(store, 300)
    portions: list[list[str]] = []

    def beside(ids: Sequence[str]) -> Entries:
        portions.append(list(ids))
        return Entries()

    with pytest.raises(StoreFull):
        await store.records.purge(TENANT, EVERYTHING)
    assert (await store.maintenance.stats(TENANT)).records == 300

    async with store.maintenance.removal():
        purged = await store.records.purge(TENANT, EVERYTHING, beside=beside)

    assert purged.records == 300
    last = [id for portion in portions for id in portion][-300:]
    assert sorted(last) == sorted(ids)
    assert (await store.maintenance.stats(TENANT)).records == 0
    assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []
    await store.aclose()
    assert SECRET_WORD.encode() not in bytes_beside(path)
    assert rest_of_words(path) == []


def rest_of_words(path: Path) -> list[bytes]:
    """What the segments of the word index hold besides their frame."""
    with closing(apsw.Connection(str(path))) as db:
        return [block for id, block in db.execute("SELECT id, block FROM words_data") if id > 10]


@pytest.mark.anyio
async def test_a_purge_for_which_there_is_no_room_at_all_says_how_far_it_came(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = await SqliteStore.open(path, FakeClock())
    await bring(store, 3)
    await store.aclose()
    store = SqliteStore(path, NoRoom(open_writer(path)), Readers(path), FakeClock())

    with pytest.raises(StoreFull, match="0 records were purged"):
        async with store.maintenance.removal():
            await store.records.purge(TENANT, EVERYTHING)

    assert (await store.maintenance.stats(TENANT)).records == 3
    await store.aclose()


class NoRoom(WriterThread):
    async def run(self, job: Job[T], *, alone: bool = False) -> T:
        if not alone:
            raise StoreFull
        return await super().run(job, alone=alone)


# ---- the reserve


@pytest.mark.anyio
async def test_while_the_reserve_is_given_up_only_removals_are_written(tmp_path: Path) -> None:
    path, draft = tmp_path / "memory.db", Drafting(FakeClock())
    reserve = ShyReserve(path)
    store = SqliteStore(path, WriterThread(open_writer(path)), Readers(path), FakeClock(), reserve)
    await bring(store, 3)
    await store.maintenance.keep_reserve()
    reserve.give_up()
    reserve.has_room = False

    with pytest.raises(StoreFull):
        await store.records.put([draft("one more")])
    async with store.maintenance.removal():
        assert (
            await store.records.purge(TENANT, [Filter(scopes=(Scope.parse("global"),), states=ALL_STATES)])
        ).records >= 0

    reserve.has_room = True
    assert (await store.records.put([draft("there is room again")]))[0].outcome == "created"
    assert reserve.file.exists()
    await store.aclose()


class ShyReserve(Reserve):
    """On a disk that has room or has none."""

    has_room = True

    def make(self) -> None:
        if self.has_room:
            super().make()


def test_the_reserve_is_private_and_as_large_as_the_store_within_limits(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(bytes(3 * SMALLEST))
    reserve = Reserve(path)
    reserve.make()
    assert (reserve.file.stat().st_size, reserve.file.stat().st_mode & 0o777) == (3 * SMALLEST, 0o600)

    os.truncate(path, 10 * LARGEST)
    reserve.make()
    assert reserve.file.stat().st_size == LARGEST

    os.truncate(path, 1)
    reserve.make()
    assert reserve.file.stat().st_size == LARGEST
    reserve.give_up()
    assert (reserve.is_given_up, reserve.file.exists()) == (True, False)
    reserve.make()
    assert (reserve.is_given_up, reserve.file.stat().st_size) == (False, SMALLEST)
