# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""
Private notes that the governed door of an older release put where everybody reads go to whose they are, on both stores.

`files/governed/` was written by the daemon of commit c49a086 (schema 6), over HTTP: by the keys ana, bo, twin and twin, an admin's key
`engine` with capabilities for carl, bo and gus, and the operator. gus is a user of the gateway.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import addressed
from tests.migration.test_postgres import admin, pour

from commonplace.errors import CommonplaceError, NotFound
from commonplace.stores.postgres import PostgresStore
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.callers import caller, operator
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, served
from commonplace.values.query import ALL_STATES, Filter, Query
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
FILES = Path(__file__).parent / "files" / "governed"
NOW = datetime(2026, 1, 6, tzinfo=UTC)
SHOP = "workspace:shop"
HOMES = {
    "Ana plans a surprise dinner": "ana",
    "Ana dislikes the new logo": "ana",
    "Ana wants to leave in May": "ana",
    "Ana doubts the budget": "ana",
    "Ana deleted this thought": "ana",
    "Bo likes coffee": "bo",
    "Carl likes tea": "user:carl",
    "The operator likes rain": "user:local",
    "Gus likes soup": "user:key/unclaimed/gus",
    "One of the twins owes money": "user:key/unclaimed/twin",
    "A twin thinks so, too": "user:key/unclaimed/twin",
    "Ship on Tuesdays": SHOP,
    "Ana once shared this and took it back": SHOP,
    "Bo put words into Ana's mouth": SHOP,
    "Everybody deploys with make ship": SHOP,
}
"""Whose each text is: of a key by its name, else in which scope. What was shared once, and what another wrote in ana's name, stays."""
EVERYBODYS = {text for text, home in HOMES.items() if home == SHOP}
Store = SqliteStore | PostgresStore


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store of the older release."""
    if request.param == "sqlite":
        shutil.copy(FILES / "schema-6.db", tmp_path / "memory.db")
        return str(tmp_path / "memory.db")
    server, schema = request.getfixturevalue("server"), request.getfixturevalue("schema")
    pour(server, schema, FILES / "schema-6.postgres.zip")
    return addressed(server, schema)


async def opened(address: str, clock: FakeClock) -> Store:
    if "://" in address:
        return await PostgresStore.open(address, clock)
    return await SqliteStore.open(Path(address), clock)


@asynccontextmanager
async def brought_forward(address: str, clock: FakeClock) -> AsyncGenerator[Store]:
    store = await opened(address, clock)
    try:
        yield store
    finally:
        await store.aclose()


async def places(store: Store) -> dict[str, set[str]]:
    """The scopes of every text of every version; keys' own scopes by the key's name."""
    names = {f"user:{key.subject}": key.name for key in await store.keys.list_keys(T)}
    everything = (await store.records.find(T, Filter(states=ALL_STATES), "oldest", 1000, None)).records
    found: dict[str, set[str]] = {}
    for record in everything:
        for version in await store.records.history(T, record.id):
            found.setdefault(version.text, set()).add(names.get(str(version.scope), str(version.scope)))
    return found


async def one(store: Store, text: str) -> Record:
    everything = (await store.records.find(T, Filter(states=ALL_STATES), "oldest", 1000, None)).records
    return next(record for record in everything if record.text == text)


async def test_each_note_goes_with_all_its_versions_to_whose_it_is(old: str, clock: FakeClock) -> None:
    async with brought_forward(old, clock) as store:
        found = await places(store)
        plan = await one(store, "Ana plans a surprise dinner")
        versions = await store.records.history(T, plan.id)
        findings = await store.maintenance.check()

    assert found == {
        **{text: {home} for text, home in HOMES.items()},
        "Ana plans a surprise party": {"ana"},
    }
    assert [(version.version, version.pinned, version.actor) for version in versions] == [
        (1, False, "ana"),
        (2, False, "ana"),
        (3, True, "ana"),
    ]
    # Words, vectors and the counters of every scope are as if the notes had always been there.
    assert [finding for finding in findings if finding.severity == "error"] == []


async def test_a_backup_of_the_older_release_is_restored_in_the_same_way(
    tmp_path: Path, address: str, clock: FakeClock
) -> None:
    for target, backup in ((str(tmp_path / "new.db"), "schema-6.db"), (address, "schema-6.postgres.zip")):
        async with brought_forward(target, clock) as store:
            await store.maintenance.restore(FILES / backup)

            assert await places(store) == {
                **{text: {home} for text, home in HOMES.items()},
                "Ana plans a surprise party": {"ana"},
            }
            assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []
            # What other steps bring forward is not left out, either: the session is ana's.
            [member] = await store.members.members(T, Scope("session", "r1"))
            [ana] = [key for key in await store.keys.list_keys(T) if key.name == "ana"]
            assert (member.subject, member.owner) == (ana.subject, True)


async def test_a_second_opening_moves_nothing_more(old: str, clock: FakeClock) -> None:
    async with brought_forward(old, clock) as store:
        before = await places(store)
        again = await store.maintenance.bring_notes_home()

    async with brought_forward(old, clock) as store:
        assert again == 0
        assert await places(store) == before


@asynccontextmanager
async def daemon(address: str, home: Path) -> AsyncGenerator[InProcess]:
    async with served(home, store=address, clock=FakeClock(NOW), embedder="static") as running:
        yield running


async def test_the_owner_finds_her_notes_by_words_by_meaning_and_as_they_were(old: str, tmp_path: Path) -> None:
    async with daemon(old, tmp_path / "home") as running:
        services = running.services
        [key] = [key for key in await services.desk.store.keys.list_keys(T) if key.name == "ana"]
        ana = caller("writer", name=key.subject)

        async def texts(text: str, **more: Any) -> set[str]:
            hits = await services.recall.search(ana, Query(text=text, **more))
            return {hit.record.text for hit in hits}

        own = Filter(scopes=(ana.home,))
        assert await texts("dinner", mode="words", filter=own) == {"Ana plans a surprise dinner"}
        assert "Ana plans a surprise dinner" in await texts("a meal with friends", mode="meaning", filter=own)
        then = datetime(2026, 1, 5, 0, 7, 30, tzinfo=UTC)
        assert await texts("party", mode="words", as_of=then, filter=own) == {"Ana plans a surprise party"}
        shop = Filter(scopes=(Scope.parse(SHOP),))
        assert await texts("party", mode="words", as_of=then, filter=shop) == set()


async def test_a_stranger_reads_and_hears_of_no_note_at_any_native_door(old: str, tmp_path: Path) -> None:
    async with daemon(old, tmp_path / "home") as running:
        made = await running.client.post("/v1/keys", json={"name": "ana", "role": "reviewer"})
        headers = {"Authorization": f"Bearer {made.json()['secret']}"}
        private = [record for record in await _all(running) if record.text not in EVERYBODYS]
        answers = [
            await running.stranger.request(method, path, headers=headers, json=body)
            for method, path, body in (
                ("GET", "/v1/records?limit=1000&state=live&state=demoted&state=deleted", None),
                ("GET", f"/v1/records?scope={SHOP}&limit=1000&state=live&state=demoted&state=deleted", None),
                ("GET", "/v1/export", None),
                ("GET", f"/v1/export?scope={SHOP}&scope=global", None),
                ("POST", "/v1/search", {"text": "surprise dinner logo May tea coffee soup rain money", "limit": 100}),
                ("POST", "/v1/context", {"query": "Ana surprise dinner"}),
                ("GET", "/memory?limit=1000", None),
                ("POST", "/memory/search", {"query": "surprise dinner", "project_id": "shop"}),
            )
        ]
        gets = [await running.stranger.get(f"/v1/records/{record.id}", headers=headers) for record in private]

    assert len(private) == len(HOMES) - len(EVERYBODYS)
    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert [record.text for record in private if record.id in answer.text or record.text in answer.text] == []
    assert {answer.status_code for answer in gets} == {404}


async def test_events_from_before_are_replayed_to_whose_notes_they_tell_of(old: str, clock: FakeClock) -> None:
    async with brought_forward(old, clock) as store:
        homes = {record.id: record.scope for record in await _records(store)}
        events = await store.events.read_events(0, 1000)

    told = [(event.news.scope, homes[str(event.news.data["id"])]) for event in events if "id" in event.news.data]
    assert len(told) > len(HOMES)
    assert [pair for pair in told if pair[0] != pair[1]] == []


async def test_doctor_names_notes_that_fit_no_one_person_until_an_admin_shares_them(old: str, tmp_path: Path) -> None:
    twin = Scope("user", "key/unclaimed/twin")
    async with daemon(old, tmp_path / "home") as running:
        services = running.services

        async def unclaimed() -> list[str]:
            findings = await services.keeping.check(operator())
            return [finding.message for finding in findings if finding.check == "persons"]

        before = await unclaimed()
        first, _ = [key for key in await services.desk.store.keys.list_keys(T) if key.name == "twin"]
        one_twin = caller("writer", name=first.subject)
        with pytest.raises(NotFound):
            await services.members.share(one_twin, twin, first.subject)
        await services.members.share(operator(), twin, first.subject)
        after = await unclaimed()
        hits = await services.recall.search(one_twin, Query(text="money", mode="words"))

    assert sorted(name for message in before for name in ("gus", "twin") if repr(name) in message) == ["gus", "twin"]
    assert [name for message in after for name in ("gus", "twin") if repr(name) in message] == ["gus"]
    assert [hit.record.text for hit in hits] == ["One of the twins owes money"]


async def test_an_export_of_an_older_release_is_loaded_in_the_same_way(old: str, tmp_path: Path) -> None:
    async with daemon(old, tmp_path / "home") as running:
        export = (await running.client.get("/v1/export?everyone=true")).text
    for text in HOMES.keys() - EVERYBODYS:
        assert text in export
    earlier = tmp_path / "export.jsonl"
    # As the older release wrote it: every version where everybody reads it.
    lines = [_as_of_old(line) for line in export.splitlines()]
    earlier.write_text("\n".join(lines) + "\n", encoding="utf-8")

    async with served(tmp_path / "fresh", clock=FakeClock(NOW), embedder="static") as running:
        loaded = await running.services.moving.load(operator(), earlier)
        again = await running.services.moving.load(operator(), earlier)
        reader = await running.client.post("/v1/keys", json={"name": "reader", "role": "reader"})
        headers = {"Authorization": f"Bearer {reader.json()['secret']}"}
        answer = await running.stranger.get(f"/v1/records?scope={SHOP}&limit=100", headers=headers)

    assert (loaded.records, again.created) == (len(HOMES), 0)
    assert [text for text in HOMES.keys() - EVERYBODYS if text in answer.text] == []
    assert "Everybody deploys with make ship" in answer.text


def _as_of_old(line: str) -> str:
    return re.sub(r'"user:(key/|carl|local)[^"]*"', f'"{SHOP}"', line)


async def _records(store: Store) -> list[Record]:
    return list((await store.records.find(T, Filter(states=ALL_STATES), "oldest", 1000, None)).records)


async def _all(running: InProcess) -> list[Record]:
    return await _records(running.services.desk.store)  # pyright: ignore[reportArgumentType] -- one of the two


# ---- killed in the middle


_DIES = """
import os, signal, sys
from pathlib import Path
from commonplace.stores.sqlite.schema import open_writer

rows = 0
def count(*change):
    global rows
    rows += change[2] == sys.argv[2]
    if rows == 5:
        os.kill(os.getpid(), signal.SIGKILL)

open_writer(Path(sys.argv[1]), lambda db: db.set_update_hook(count))
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("table", ["records", "events"])
async def test_a_process_that_is_killed_among_the_moves_has_moved_nothing(
    tmp_path: Path, clock: FakeClock, table: str
) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(FILES / "schema-6.db", path)

    run = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", _DIES, str(path), table], timeout=30)

    assert run.returncode == -signal.SIGKILL
    assert _version(path) == 6
    async with brought_forward(str(path), clock) as store:
        assert {text: {home} for text, home in HOMES.items()}.items() <= (await places(store)).items()
        assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []


def _version(path: Path) -> int:
    db = apsw.Connection(str(path))
    try:
        return int(db.pragma("user_version"))
    finally:
        db.close()


_CUT = """
CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.scope IS DISTINCT FROM OLD.scope THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER cut BEFORE UPDATE ON vectors FOR EACH ROW EXECUTE FUNCTION cut();
"""


async def test_a_connection_that_is_cut_among_the_moves_has_moved_nothing(
    server: Any, schema: str, clock: FakeClock
) -> None:
    version = pour(server, schema, FILES / "schema-6.postgres.zip")
    address = addressed(server, schema)
    with admin(server) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", (f'"{schema}", public',))
        connection.execute(_CUT)
        with pytest.raises(CommonplaceError):
            await PostgresStore.open(address, clock)
        [(after,)] = connection.execute("SELECT max(version) FROM schema_version").fetchall()
        where = "SELECT DISTINCT s.kind FROM records r JOIN scopes s ON s.number = r.scope AND s.tenant = r.tenant"
        kinds = {kind for (kind,) in connection.execute(where).fetchall()}
        connection.execute("DROP TRIGGER cut ON vectors; DROP FUNCTION cut()")

    assert (version, after, kinds) == (6, 6, {"workspace", "session", "global"})
    async with brought_forward(address, clock) as store:
        assert {text: {home} for text, home in HOMES.items()}.items() <= (await places(store)).items()
        assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []
