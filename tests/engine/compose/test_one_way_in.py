"""An embedded memory leaves the same traces as a daemon: what one writes and reads is audited and told of like what the other does."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from commonplace import AsyncClient, AsyncMemory, Note, Rule, Turn, open_memory_async
from commonplace.errors import RecordNotFound
from commonplace.ports.journal import Entries
from commonplace.service.read_journal import ReadJournal
from commonplace.service.services import Services
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import TOKEN, served
from commonplace.values.audit import AuditQuery, AuditRow

pytestmark = pytest.mark.anyio

_READS = ("record.search", "record.context")
# Who and from where differs, and what is made anew each time.
# Ids, and what the operator is called: `local` in a program, `operator` at a daemon.
_DETAILS = ("ids", "job", "attempt", "reason", "reviewer", "approval")
_OWN = frozenset({"id", "at", "actor", "door", "key", "client", "address", "request", "record", "version", "tenant"})


async def use(memory: Any) -> None:
    """One of everything that writes, and what reads."""
    first = await memory.put("We ship on Fridays", scope="workspace:web", key="ship", run="r1")
    second, third = await memory.put_many([Note(text="Ana likes tea"), Note(text="The build takes nine minutes")])
    await memory.add_turns("s1", [Turn(speaker="ana", text="Let us move the release to Monday.")])
    await memory.edit(first.id, text="We ship on Thursdays", reason="moved")
    await memory.pin(first.id)
    await memory.pin(first.id)
    await memory.promote(first.id)
    await memory.demote(second.id)
    await memory.undo(second.id)
    await memory.expire(third.id)
    await memory.supersede(first.id, "We ship on Mondays")
    await memory.delete(second.id)
    await memory.purge(ids=[third.id])
    await memory.set_rule(Rule(scope="session:*", max_records=5))
    await memory.tidy()
    await memory.search("when do we ship?", scopes="workspace:web")
    await memory.context("when do we ship?", session="s1")
    with pytest.raises(RecordNotFound):
        await memory.get("0190ffff-ffff-7fff-bfff-ffffffffffff")


async def traces(memory: AsyncMemory) -> tuple[Sequence[Mapping[str, Any]], list[tuple[Any, ...]]]:
    """Audit rows and events, oldest first, without what is of the moment."""
    oldest = (await memory.audit(AuditQuery(), limit=1_000)).rows[::-1]
    kept = [
        {name: getattr(row, name) for name in type(row).__slots__ if name not in _OWN and name != "details"}
        | {"details": {name: value for name, value in row.details.items() if name not in _DETAILS}}
        for row in (
            *(row for row in oldest if row.action not in _READS),
            *(row for row in oldest if row.action in _READS),
        )
    ]
    events: list[tuple[Any, ...]] = []
    services: Services = vars(memory)["_services"]
    async with asyncio.timeout(5):
        heard = memory.events(after=0)
        last = (await services.desk.store.events.event_range())[1]
        async for event in heard:
            if not event.type.startswith("job."):
                events.append((event.type, event.scope, event.data.get("version"), event.data.get("kind")))
            if event.id == last:
                break
    return kept, events


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Deploys\n\nWe deploy from main.", encoding="utf-8")
    return folder


async def test_both_ways_in_leave_the_same_rows_and_events(tmp_path: Path, home: Path) -> None:
    async with open_memory_async(tmp_path / "own.db", embedder="none", clock=FakeClock()) as memory:
        await use(memory)
        embedded = await traces(memory)
    async with served(home, clock=FakeClock()) as running:
        transport = httpx.ASGITransport(app=running.app, client=("127.0.0.1", 50_000))
        async with AsyncClient("http://127.0.0.1:4170", TOKEN, transport=transport) as client:
            await use(client)
    async with open_memory_async(home / "memory.db", embedder="none", clock=FakeClock()) as memory:
        daemon = await traces(memory)

    assert embedded[0] == daemon[0]
    assert embedded[1] == daemon[1]
    assert {row["action"] for row in embedded[0]} >= {"record.put", "record.purge", "record.search", "record.context"}


async def test_an_embedded_memory_acts_as_the_subject_local(tmp_path: Path) -> None:
    async with open_memory_async(tmp_path / "own.db", embedder="none") as memory:
        record = await memory.put("We ship on Fridays")
        [row] = (await memory.audit()).rows

    assert (record.actor, row.actor, row.door, row.record) == ("local", "local", "embedded", record.id)


async def test_an_import_without_a_daemon_leaves_its_rows_and_events(tmp_path: Path, folder: Path) -> None:
    async with open_memory_async(tmp_path / "own.db", embedder="none") as memory:
        report = await memory.import_folder(folder, scope="workspace:docs")
        rows, events = await traces(memory)

    assert report.indexed_files == 1
    assert [(row["action"], row["outcome"]) for row in rows] == [("record.import", "ok")] * 2
    assert [event[0] for event in events] == ["record.created"]


async def test_rows_of_reads_are_written_in_groups_and_at_close(tmp_path: Path) -> None:
    async with open_memory_async(tmp_path / "own.db", embedder="none") as memory:
        await memory.put("We ship on Fridays")
        for _ in range(3):
            await memory.search("when do we ship?")
        journal = vars(memory)["_services"].desk.store.journal
        before = await journal.audit(memory.tenant, AuditQuery(actions=("record.search",)), 10, None)

    async with open_memory_async(tmp_path / "own.db") as memory:
        after = await memory.audit(AuditQuery(actions=("record.search",)))

    assert len(before.rows) == 0
    assert len(after.rows) == 3


async def test_rows_of_reads_are_written_within_a_second_by_themselves(store: SqliteStore, clock: FakeClock) -> None:
    reads = ReadJournal(store.journal, delay=0.01)
    row = AuditRow(
        id="1", at=clock.now(), tenant="default/default", actor="local", action="record.search", outcome="ok"
    )

    await reads.note(Entries(audit=(row,)))

    async with asyncio.timeout(5):
        while not (await store.journal.audit(None, AuditQuery(), 10, None)).rows:
            await anyio.lowlevel.checkpoint()
    await reads.aclose()


async def test_a_store_that_cannot_be_written_costs_the_rows_and_not_the_search(
    store: SqliteStore, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    reads = ReadJournal(store.journal)
    row = AuditRow(
        id="1", at=clock.now(), tenant="default/default", actor="local", action="record.search", outcome="ok"
    )
    await reads.note(Entries(audit=(row,)))
    await store.aclose()

    await reads.aclose()

    assert "lost" in caplog.text


async def test_what_was_recalled_is_known_before_its_row_was_due(tmp_path: Path) -> None:
    async with open_memory_async(tmp_path / "own.db", embedder="none") as memory:
        record = await memory.put("We ship on Fridays")
        await memory.search("when do we ship?")

        assert len((await memory.recalls(record.id)).recalls) == 1
