# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""
Files of older releases are brought forward, files of newer ones are left alone, and both ways lead to one schema.

`files/` holds a store of each release, never changed once it is out. `python tests/migration/test_sqlite.py` writes the
one of the release to come, when its schema has changed.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import apsw
import numpy as np
import pytest

from commonplace import Memory, Turn, __version__, open_memory
from commonplace.errors import InvalidFile, StoreTooNew
from commonplace.ports.embedder import Floats
from commonplace.ports.journal import Entries
from commonplace.stores.sqlite.connection import APPLICATION_ID
from commonplace.stores.sqlite.schema import SCHEMA, migrations, open_writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT

FILES = Path(__file__).parent / "files"
RELEASES = sorted(file.name for file in FILES.glob("*.db"))
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Hashing:
    """Eight numbers from a hash: the same in every release."""

    name = "hashing-8"
    dimension = 8

    async def embed(self, texts: Sequence[str]) -> Floats:
        rows = [list(sha256(text.encode()).digest()[:8]) for text in texts]
        floats = np.array(rows, dtype=np.float32).reshape(len(texts), 8) - np.float32(127.5)
        return floats / np.linalg.norm(floats, axis=1, keepdims=True)

    async def aclose(self) -> None: ...


def schema(path: Path) -> list[tuple[str, ...]]:
    """Every table and index as it was declared, and the numbers that mark the file."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    declared = list(db.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"))
    marks = (str(db.pragma("application_id")), str(db.pragma("user_version")))
    db.close()
    return [*declared, marks]


def write(path: Path) -> None:
    """What the store of every release holds."""
    clock = FakeClock(BEGIN)
    with open_memory(path, embedder=Hashing(), clock=clock, actor="ana") as memory:
        deploy = memory.put("Deploy with make ship", scope="workspace:web", key="deploy", importance=80, tags=["ops"])
        memory.put("部署前先运行测试", scope="workspace:web", metadata={"from": {"page": 3}})
        clock.advance(timedelta(days=1))
        memory.edit(deploy.id, text="Deploy with make release", reason="renamed")
        memory.pin(deploy.id)
        turns = [Turn(speaker="ben", text="We ship on Fridays", at=BEGIN), Turn(speaker="ana", text="Not in December")]
        memory.add_turns("standup", turns, scope="channel:room 7")
        gone = memory.put("The password hint is a bird", scope="user:ana")
        memory.supersede(memory.put("Lunch is at noon", scope="user:ana").id, "Lunch is at one")
        clock.advance(timedelta(days=1))
        memory.delete(gone.id, reason="asked to")
        memory.promote(memory.put("Tabs, not spaces", scope="agent:coder").id, scope="workspace:web")


def opened(path: Path) -> Memory:
    return open_memory(path, create=False, embedder=Hashing(), clock=FakeClock(BEGIN + timedelta(days=3)))


def test_a_fresh_schema_is_the_sum_of_the_migrations(tmp_path: Path) -> None:
    open_writer(tmp_path / "fresh.db").close()
    steps = apsw.Connection(str(tmp_path / "steps.db"))
    for number, step in enumerate(migrations(), start=1):
        steps.execute(step)
        steps.execute(f"PRAGMA user_version = {number}; PRAGMA application_id = {APPLICATION_ID}")
    steps.close()

    assert len(migrations()) == SCHEMA
    assert schema(tmp_path / "fresh.db") == schema(tmp_path / "steps.db")


def test_every_release_left_a_store(tmp_path: Path) -> None:
    assert f"{__version__}.db" in RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_the_store_of_an_older_release_is_brought_forward(tmp_path: Path, release: str) -> None:
    path = tmp_path / release
    shutil.copy(FILES / release, path)
    write(tmp_path / "fresh.db")

    with opened(path) as memory:
        assert [finding for finding in memory.check() if finding.severity == "error"] == []
        deploy = memory.search("how do we deploy?", mode="words", scopes=["workspace:web"])[0].record
        assert (deploy.text, deploy.version, deploy.pinned, deploy.key) == (
            "Deploy with make release",
            3,
            True,
            "deploy",
        )
        past = memory.search("ship", mode="words", scopes=["workspace:web"], as_of=BEGIN + timedelta(hours=1))
        assert [(hit.record.id, hit.record.text) for hit in past] == [(deploy.id, "Deploy with make ship")]
        assert memory.search("测试", mode="words")[0].record.metadata == {"from": {"page": 3}}
        turns = memory.list(scopes="channel:room 7", order="position").records
        assert [(turn.speaker, turn.position) for turn in turns] == [("ben", 0), ("ana", 1)]
        (gone,) = memory.list(scopes="user:ana", states=["deleted"]).records
        assert memory.undo(gone.id).text == "The password hint is a bird"
        assert memory.put("A new record", key="new").version == 1
    assert schema(path) == schema(tmp_path / "fresh.db")


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but those that SQLite keeps for itself."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE '%fts5%'"
    names: list[str] = [name for (name,) in db.execute(named)]
    held = {name: list[tuple[object, ...]](db.execute(f'SELECT * FROM "{name}" ORDER BY 1, 2')) for name in names}
    db.close()
    return held


def test_the_store_of_the_first_release_keeps_every_row_and_takes_in_what_a_daemon_keeps(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(FILES / "0.1.0.db", path)
    before = contents(path)

    open_writer(path).close()

    after = contents(path)
    assert {name: after[name] for name in before} == before
    assert before["records"] != []
    new = after.keys() - before.keys()
    assert new >= {
        "audit",
        "events",
        "jobs",
        "replies",
        "keys",
        "users",
        "owners",
        "quotas",
        "layers",
        "ended_sessions",
    }
    assert all(after[name] == [] for name in new)


@pytest.mark.anyio
async def test_what_was_recalled_before_the_sixth_schema_is_told_by_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    old = apsw.Connection(str(path))
    for step in migrations()[:5]:
        old.execute(step)
    old.execute(f"PRAGMA user_version = 5; PRAGMA application_id = {APPLICATION_ID}")
    old.execute(
        "INSERT INTO audit (id, at, tenant, actor, action, outcome, door, details) "
        """VALUES ('a', 1, ?, 'ana', 'managed.recall', 'ok', 'native', '{"ids": ["x"]}')""",
        (DEFAULT_TENANT,),
    )
    old.close()

    store = await SqliteStore.open(path, FakeClock(BEGIN))
    found = await store.statistics.recalls(DEFAULT_TENANT, "x", 10, 10)
    await store.aclose()

    assert [(one.action, one.by) for one in found.recalls] == [("managed.recall", "ana")]


@pytest.mark.anyio
async def test_a_backup_of_the_first_release_is_restored_and_brought_forward(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "memory.db", FakeClock(BEGIN))
    now = BEGIN + timedelta(days=3)
    row = AuditRow(id=new_id(now), at=now, tenant=DEFAULT_TENANT, actor="ana", action="record.put")

    await store.maintenance.restore(FILES / "0.1.0.db")
    await store.journal.note(Entries(audit=(row,)))

    page = await store.journal.audit(DEFAULT_TENANT, AuditQuery(), 10, None)
    records = (await store.maintenance.stats(DEFAULT_TENANT)).records
    await store.aclose()
    assert page.rows == (row,)
    assert records == len(contents(FILES / "0.1.0.db")["records"])
    await asyncio.to_thread(write, tmp_path / "fresh.db")
    assert schema(tmp_path / "memory.db") == schema(tmp_path / "fresh.db")


@pytest.mark.anyio
async def test_a_backup_of_a_newer_release_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    newer = tmp_path / "newer.db"
    await asyncio.to_thread(write, newer)
    db = apsw.Connection(str(newer))
    db.pragma("user_version", SCHEMA + 1)
    db.close()
    store = await SqliteStore.open(tmp_path / "memory.db", FakeClock(BEGIN))

    with pytest.raises(InvalidFile):
        await store.maintenance.restore(newer)

    assert (await store.maintenance.stats(DEFAULT_TENANT)).records == 0
    await store.aclose()


def test_the_store_of_a_newer_release_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    write(path)
    db = apsw.Connection(str(path))
    db.pragma("user_version", SCHEMA + 1)
    db.close()
    before = path.read_bytes()

    with pytest.raises(StoreTooNew):
        opened(path)

    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.glob("newer*")] == ["newer.db"]


if __name__ == "__main__":
    target = FILES / f"{__version__}.db"
    target.unlink(missing_ok=True)
    write(target)
    small = apsw.Connection(str(target))
    small.execute("PRAGMA journal_mode = DELETE; VACUUM")
    small.close()
    sys.stdout.write(f"{target.name}: {target.stat().st_size:,} bytes\n")
