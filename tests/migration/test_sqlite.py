# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""
Files of older releases are brought forward, files of newer ones are left alone, and both ways lead to one schema.

`files/` holds a store of each release, never changed once it is out. `python tests/migration/test_sqlite.py` writes the
one of the release to come, when its schema has changed.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import apsw
import numpy as np
import pytest

from commonplace import Memory, Turn, __version__, open_memory
from commonplace.errors import InvalidFile, StoreTooNew
from commonplace.ports.embedder import Floats
from commonplace.ports.history import SessionFilter
from commonplace.ports.journal import Entries
from commonplace.stores.sqlite.connection import APPLICATION_ID
from commonplace.stores.sqlite.schema import SCHEMA, migrations, open_writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.values.agent_profile import AgentProfile
from commonplace.values.audit import AuditGroup, AuditQuery, AuditRow
from commonplace.values.event import News, NewsGroup
from commonplace.values.moment import new_id
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session import MessageDraft, Session

FILES = Path(__file__).parent / "files"
RELEASES = sorted(file.name for file in FILES.glob("*.db"))
KEYS = ("key-bea", "key-cyd", "key-dan", "key-twin-1", "key-twin-2", "key-op")
MEMBERS = {
    ("session:bea-1", "bea"),
    ("session:cyd-1", "key/key-cyd"),
    ("session:dan-1", "key/key-dan"),
    ("session:twin-1", "key/key-twin-1"),
    ("session:twin-1", "key/key-twin-2"),
    ("session:op-1", "local"),
    ("session:open-1", "local"),
    ("user:operator", "local"),
    ("session:gone-1", "local"),
    ("channel:room 7", "local"),
}
"""Whose the scopes of `0.1.0-schema-6.db` are: each session of who wrote it first."""
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
    # SQLite's own pages of an empty word index are there from the start.
    assert all(after[name] == [] for name in new if name != "members" and not name.startswith("message_words_"))
    # What ana wrote, who had opened the file herself, belongs to whoever opens it now.
    assert [row[1:4] for row in after["members"]] == [("channel:room 7", "local", 1)]


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


def test_persons_of_the_sixth_schema_keep_what_is_theirs_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(FILES / "0.1.0-schema-6.db", path)

    open_writer(path).close()

    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    members = {(scope, subject) for scope, subject in db.execute("SELECT scope, subject FROM members")}
    keys = {id: (subject, agent) for id, subject, agent in db.execute("SELECT id, subject, agent FROM keys")}
    db.close()
    assert members == MEMBERS
    # Only bea has notes under her name alone: dan is also a user of the gateway, and `operator` is nobody's name.
    assert keys == {id: (("bea" if id == "key-bea" else None), 0) for id in KEYS}


@pytest.mark.anyio
async def test_rows_and_events_from_before_there_were_groups_are_told_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    old = apsw.Connection(str(path))
    for step in migrations()[:7]:
        old.execute(step)
    old.execute(f"PRAGMA user_version = 7; PRAGMA application_id = {APPLICATION_ID}")
    ids = [new_id(BEGIN) for _ in range(3)]
    for id in ids:
        old.execute(
            "INSERT INTO audit (id, at, tenant, actor, action, outcome, record, door) VALUES (?, 1, ?, 'a', 'b', 'ok', ?, 'c')",
            (new_id(BEGIN), DEFAULT_TENANT, id),
        )
        event = (DEFAULT_TENANT, json.dumps({"id": id}))
        old.execute("INSERT INTO events (tenant, type, at, admins, data) VALUES (?, 'record.created', 1, 0, ?)", event)
    old.close()
    row = AuditRow(id=new_id(BEGIN), at=BEGIN, tenant=DEFAULT_TENANT, actor="ana", action="record.put")
    news = News(type="record.updated", tenant=DEFAULT_TENANT, at=BEGIN)

    store = await SqliteStore.open(path, FakeClock(BEGIN))
    await store.journal.note(Entries(audit=(AuditGroup(row, tuple(ids)),), events=(NewsGroup(news, tuple(ids)),)))
    found = [await store.journal.audit(DEFAULT_TENANT, AuditQuery(record=id), 10, None) for id in ids]
    events = await store.events.read_events(0, 10)
    await store.aclose()

    assert [[(row.action, row.record) for row in page.rows] for page in found] == [
        [("record.put", id), ("b", id)] for id in ids
    ]
    assert [(event.id, event.news.data["id"]) for event in events] == list(enumerate(ids * 2, start=1))


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


def test_sessions_that_are_there_at_the_upgrade_are_counted_from_it(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "old.db"))
    for number, step in enumerate(migrations()[:9], start=1):
        db.execute(step)
        db.execute(f"PRAGMA user_version = {number}; PRAGMA application_id = {APPLICATION_ID}")
    db.execute("INSERT INTO scopes (number, tenant, kind, id) VALUES (1, 'default/default', 'session', 'chat')")
    db.close()

    open_writer(tmp_path / "old.db").close()
    open_writer(tmp_path / "new.db").close()

    milestones = [
        list(apsw.Connection(str(tmp_path / name)).execute("SELECT name, at > 1700000000000 FROM milestones"))
        for name in ("old.db", "new.db")
    ]
    assert milestones == [[("sessions_end", 1)], []]


def test_the_store_of_a_newer_release_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    write(path)
    db = apsw.Connection(str(path))
    db.pragma("user_version", SCHEMA + 1)
    db.close()
    before, files = path.read_bytes(), sorted(tmp_path.glob("newer*"))

    with pytest.raises(StoreTooNew):
        opened(path)

    assert path.read_bytes() == before
    assert sorted(tmp_path.glob("newer*")) == files


if __name__ == "__main__":
    target = FILES / f"{__version__}.db"
    target.unlink(missing_ok=True)
    write(target)
    small = apsw.Connection(str(target))
    small.execute("PRAGMA journal_mode = DELETE; VACUUM")
    small.close()
    sys.stdout.write(f"{target.name}: {target.stat().st_size:,} bytes\n")


@pytest.mark.anyio
async def test_what_was_deprecated_before_the_schema_of_findings_can_be_recorded_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    steps = migrations()
    before = next(
        number for number, step in enumerate(steps) if "last_seen_at INTEGER NOT NULL,\n    supersedes" in step
    )
    old = apsw.Connection(str(path))
    for step in steps[:before]:
        old.execute(step)
    old.execute(f"PRAGMA user_version = {before}; PRAGMA application_id = {APPLICATION_ID}")
    old.execute(
        "INSERT INTO knowledge_spaces VALUES ('s', ?, 'global', NULL, 'general', 1, 1, 'promoted', NULL)",
        (DEFAULT_TENANT,),
    )
    for id, status in (("gone", "deprecated"), ("kept", "promoted")):
        old.execute(
            "INSERT INTO knowledge_items (id, tenant, space, coverage_key, dedupe_key, item_type, title, created_at, "
            "updated_at, summary, trust_level, status) VALUES (?, ?, 's', 'k', ?, 'finding', ?, 1, 2, '', ?, ?)",
            (id, DEFAULT_TENANT, f"key of {id}", id, "working", status),
        )
    old.close()

    store = await SqliteStore.open(path, FakeClock(BEGIN))
    items = {item.id: item for item in await store.knowledge.items(DEFAULT_TENANT)}
    await store.aclose()

    assert {id: item.dedupe_key for id, item in items.items()} == {"gone": None, "kept": "key of kept"}
    assert all(item.last_seen_at == item.updated_at for item in items.values())


@pytest.mark.anyio
async def test_a_store_from_before_there_was_a_history_keeps_its_rows_and_takes_in_sessions(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    before = 13
    old = apsw.Connection(str(path))
    for step in migrations()[:before]:
        old.execute(step)
    old.execute(f"PRAGMA user_version = {before}; PRAGMA application_id = {APPLICATION_ID}")
    old.execute("INSERT INTO embedder_stages VALUES ('gte', 'coming')")
    old.close()
    rows = contents(path)
    session = Session(id="s", owner="ana", agent="coder", created_at=BEGIN, updated_at=BEGIN)
    draft = MessageDraft(id="1", role="user", kind="text", text="the parser")

    store = await SqliteStore.open(path, FakeClock(BEGIN))
    await store.history.create_session(DEFAULT_TENANT, session, Entries())
    await store.history.append_messages(DEFAULT_TENANT, "s", [draft], BEGIN)
    hits = await store.history.search_messages(DEFAULT_TENANT, ["parser"], SessionFilter(owner="ana"), 10)
    await store.aclose()

    assert [hit.message.id for hit in hits] == ["1"]
    after = contents(path)
    assert {name: after[name] for name in rows} == rows


@pytest.mark.anyio
async def test_an_agent_from_before_agents_were_set_up_is_kept_and_can_be(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    before = 14
    old = apsw.Connection(str(path))
    for step in migrations()[:before]:
        old.execute(step)
    old.execute(f"PRAGMA user_version = {before}; PRAGMA application_id = {APPLICATION_ID}")
    old.execute("INSERT INTO owners VALUES (?, 'agent', 'notes', 'Notes', 1, 2, 1)", (DEFAULT_TENANT,))
    old.close()
    profile = AgentProfile(persona="You write release notes.", tools=("read",))

    store = await SqliteStore.open(path, FakeClock(BEGIN))
    agent = await store.keys.owner(DEFAULT_TENANT, "agent", "notes")
    assert agent is not None
    await store.keys.put_owner(replace(agent, profile=profile), Entries(), new=False)
    changed = await store.keys.owner(DEFAULT_TENANT, "agent", "notes")
    await store.aclose()

    assert (agent.name, agent.memory_enabled, agent.profile) == ("Notes", True, None)
    assert changed == replace(agent, profile=profile)
