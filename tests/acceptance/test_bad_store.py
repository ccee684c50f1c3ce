# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Files and disks that cannot hold a memory: an error with a name, and the file as it was."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest

from commonplace import open_memory
from commonplace.errors import CommonplaceError, StoreFull
from commonplace.stores.sqlite.connection import Readers, WriterThread
from commonplace.stores.sqlite.schema import open_writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting

NOBODY = 65_534


def made(path: Path, records: int = 50) -> bytes:
    """A store with some records, closed; its bytes."""
    with open_memory(path) as memory:
        for n in range(records):
            memory.put(f"Record {n} of a store that will be harmed", key=f"k{n}")
    return path.read_bytes()


def refusal(path: Path) -> str:
    with pytest.raises(CommonplaceError) as refused:
        open_memory(path)
    return refused.value.code


def harm(path: Path) -> set[str]:
    """How a damaged store shows it: by the doctor's finding, or by the code of an error."""
    told: set[str] = set()
    try:
        with open_memory(path) as memory:
            told |= {"found" for finding in memory.check() if finding.severity == "error"}
            memory.search("record")
    except CommonplaceError as refused:
        told.add(refused.code)
    return told


# ---- not ours


def test_a_text_is_not_a_store(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    for text in ("Dear Ana", "Dear Ana, " * 1_000):
        path.write_text(text)

        assert refusal(path) == "not_a_store"
        assert [file.name for file in tmp_path.glob("letter*")] == ["letter.txt"]
        assert path.read_text() == text


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_the_database_of_another_program_is_left_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "other.db"
    other = apsw.Connection(str(path))
    other.pragma("journal_mode", mode)
    other.execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
    other.close()
    before = path.read_bytes()

    assert refusal(path) == "not_a_store"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.glob("other*")] == ["other.db"]


def test_the_database_of_another_program_with_our_version_but_no_table_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = apsw.Connection(str(path))
    other.pragma("user_version", 1)
    other.close()
    before = path.read_bytes()

    assert refusal(path) == "not_a_store"
    assert path.read_bytes() == before


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "path_not_found"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there are no such files here")
def test_a_device_is_not_a_store() -> None:
    assert refusal(Path("/dev/null")) in {"not_a_store", "store_unavailable", "store_read_only"}


def test_an_empty_file_becomes_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()

    made(path)

    with open_memory(path) as memory:
        assert memory.stats().records == 50


# ---- damaged


@pytest.mark.parametrize("left", [0.1, 0.5, 0.9])
def test_a_store_that_was_cut_short_is_told_to_be_damaged(tmp_path: Path, left: float) -> None:
    path = tmp_path / "memory.db"
    whole = made(path)
    cut = whole[: int(len(whole) * left)]
    path.write_bytes(cut)

    assert harm(path) <= {"found", "store_corrupt"}
    assert harm(path)
    assert path.read_bytes()[: len(cut)] == cut


def test_a_store_with_a_page_of_rubbish_is_told_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    whole = bytearray(made(path))
    pages = range(4_096, len(whole), 4_096)
    for page in pages[1::2]:
        whole[page : page + 4_096] = b"\xa5" * 4_096
    path.write_bytes(whole)

    assert harm(path) <= {"found", "store_corrupt"}
    assert harm(path)


HARM = {
    "words": "DELETE FROM words_data WHERE id > 10",
    "stray words": "UPDATE words_docsize SET id = id + 4096000",
    "vectors": "DELETE FROM vectors WHERE passage % 3 = 0",
    "stray vectors": "INSERT INTO vectors SELECT embedder, scope, passage + 4096000, vector FROM vectors LIMIT 3",
    "contents": "DELETE FROM passages WHERE number % 5 = 0",
    "counters": "UPDATE scopes SET passages = passages + 7, terms = 3",
}


@pytest.mark.parametrize("what", HARM)
def test_damage_to_what_is_derived_is_found_and_mended_by_a_reindex(tmp_path: Path, what: str) -> None:
    path = tmp_path / "memory.db"
    made(path)
    db = apsw.Connection(str(path))
    db.execute(HARM[what])
    db.close()

    with open_memory(path) as memory:
        assert what.split()[-1] in {finding.check for finding in memory.check() if finding.severity == "error"}

        memory.reindex()

        assert [finding for finding in memory.check() if finding.severity == "error"] == []
        assert memory.search("harmed", mode="words")


# ---- read-only


@pytest.fixture
def shared() -> Generator[Path]:
    """A folder that somebody else than root can enter, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="commonplace-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def opened_by_somebody_else(folder: Path) -> "subprocess.CompletedProcess[str]":
    """What becomes of opening `memory.db` under permissions that bind, as they do not bind root."""
    script = f"""
import os
from commonplace import open_memory
from commonplace.errors import CommonplaceError
with open_memory(":memory:", embedder="none") as memory:
    memory.put("everything is loaded while it may be read")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
try:
    with open_memory("memory.db", embedder="none") as memory:
        memory.put("written")
    print("written")
except CommonplaceError as refused:
    print(refused.code)
"""
    environment = os.environ | {"COMMONPLACE_HOME": str(folder / "home")}
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no such permissions here")
def test_a_new_store_in_a_read_only_folder_is_refused(shared: Path) -> None:
    shared.chmod(0o555)

    told = opened_by_somebody_else(shared)

    assert (told.stdout, told.stderr) == ("store_read_only\n", "")
    assert list(shared.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no such permissions here")
@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o755), (0o444, 0o777), (0o444, 0o555), (0o666, 0o555)])
def test_a_store_that_may_not_be_written_is_refused_and_unchanged(shared: Path, file: int, folder: int) -> None:
    path = shared / "memory.db"
    with open_memory(path, embedder="none") as memory:
        memory.put("here before")
    before = path.read_bytes()
    path.chmod(file)
    shared.chmod(folder)

    told = opened_by_somebody_else(shared)

    assert (told.stdout, told.stderr) == ("store_read_only\n", "")
    assert path.read_bytes() == before


def test_a_folder_where_nothing_can_be_made_is_refused() -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("there is no such folder here")

    assert refusal(Path("/proc/self/memory.db")) in {"store_read_only", "store_unavailable"}


# ---- full


@pytest.mark.anyio
async def test_a_full_disk_refuses_the_write_and_loses_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    draft = Drafting(clock)
    db = open_writer(tmp_path / "memory.db")
    store = SqliteStore(tmp_path / "memory.db", WriterThread(db), Readers(tmp_path / "memory.db"), clock)
    await store.maintenance.set_embedders({EMBEDDER: DIMENSION})
    kept = [(await store.records.put([draft(f"small {n}")]))[0].record for n in range(5)]
    # The writing thread is idle now: its connection may be spoken to.
    pages = db.pragma("page_count")
    db.pragma("max_page_count", pages + 4)

    with pytest.raises(StoreFull):
        await store.records.put([draft("word " * 100_000)])
    async with anyio.create_task_group() as tasks:
        for n in range(4):
            tasks.start_soon(refused_or_kept, store, draft(f"large {n} " * 5_000))
    assert (await store.records.get("default/default", [record.id for record in kept])) == kept
    assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []

    db.pragma("max_page_count", 1 << 30)
    await store.records.put([draft("word " * 100_000)])
    assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []
    await store.aclose()


async def refused_or_kept(store: SqliteStore, draft: Any) -> None:
    try:
        written = await store.records.put([draft])
    except StoreFull:
        return
    assert await store.records.get("default/default", [written[0].record.id]) == [written[0].record]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="there is no such limit here")
def test_a_file_that_may_not_grow_refuses_the_write_and_works_again_when_it_may(tmp_path: Path) -> None:
    script = f"""
import resource, signal
from commonplace import open_memory
from commonplace.errors import CommonplaceError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
endless = resource.RLIM_INFINITY
with open_memory({str(tmp_path / "memory.db")!r}) as memory:
    memory.put("kept from before")
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, endless))
    kept, refused = 1, None
    while refused is None and kept < 1_000:
        try:
            memory.put("a further record " * 500)
            kept += 1
        except CommonplaceError as error:
            refused = error.code
    print(refused, memory.stats().records == kept, memory.search("kept from before", mode="words")[0].record.text)
    resource.setrlimit(resource.RLIMIT_FSIZE, (endless, endless))
    memory.put("there is room again")
    print(memory.stats().records == kept + 1, [one for one in memory.check() if one.severity == "error"])
"""
    assert resource.RLIMIT_FSIZE >= 0

    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)

    assert told.stderr == ""
    assert told.stdout.splitlines() == ["store_full True kept from before", "True []"]
