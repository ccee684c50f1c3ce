"""
Schemas of older releases are brought forward with all they hold, and their backups can still be restored.

`files/*.postgres.zip` are backups that the releases themselves wrote, never changed once they are out. Since a backup holds the
rows as COPY wrote them, one can be poured into a schema of its time.
"""

import json
import zipfile
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.conftest import addressed

from commonplace.ports.history import SessionFilter
from commonplace.ports.journal import Entries
from commonplace.stores.postgres import PostgresStore
from commonplace.stores.postgres.schema import made_since, migrations, newest
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting
from commonplace.values.agent_profile import AgentProfile
from commonplace.values.audit import AuditGroup, AuditQuery, AuditRow
from commonplace.values.event import News, NewsGroup
from commonplace.values.moment import new_id
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.session import MessageDraft, Session

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
FILES = Path(__file__).parent / "files"
BACKUPS = sorted(file.name for file in FILES.glob("*.postgres.zip"))
NOW = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
async def fresh(server: Any, schema: str, clock: FakeClock) -> AsyncGenerator[PostgresStore]:
    """A store that was never anything else."""
    async with await PostgresStore.open(addressed(server, f"{schema}_fresh"), clock) as store:
        yield store


def admin(server: Any) -> psycopg.Connection[Any]:
    return psycopg.connect(server.get_uri(), autocommit=True)


def pour(server: Any, schema: str, backup: Path) -> int:
    """Make the schema as the release had it, with the rows of its backup. Its version."""
    with zipfile.ZipFile(backup) as archive, admin(server) as connection, connection.transaction():
        manifest = json.loads(archive.read("manifest.json"))
        version = int(manifest["schema"])
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}", public',))
        made = (
            "CREATE TABLE schema_version (version integer PRIMARY KEY, application text DEFAULT 'commonplace' NOT NULL)"
        )
        connection.execute(made)
        for number, step in migrations():
            if number <= version:
                connection.execute(step.encode())
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
        for table, part in manifest["tables"].items():
            names = sql.SQL(", ").join(map(sql.Identifier, part["columns"]))
            if table == "event_counter":
                connection.execute("DELETE FROM event_counter")
            filling = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
            with connection.cursor() as cursor, cursor.copy(filling) as copy:
                copy.write(archive.read(f"{table}.copy"))
        connection.execute(_GO_ON_COUNTING)
    return version


_GO_ON_COUNTING = """
SELECT setval('scope_numbers', 1000), setval('record_numbers', 1000), setval('content_numbers', 1000),
       setval(pg_get_serial_sequence('tenants', 'number'), 1000), setval(pg_get_serial_sequence('embedders', 'number'), 1000)
"""


def declared(server: Any, schema: str) -> list[tuple[Any, ...]]:
    """Every column, index and trigger, and the versions."""
    asking = """
        SELECT 'column', table_name::text, column_name::text, concat_ws(' ', data_type, is_nullable, column_default)
        FROM information_schema.columns WHERE table_schema = %(schema)s
        UNION ALL SELECT 'index', tablename::text, indexname::text, indexdef FROM pg_indexes WHERE schemaname = %(schema)s
        UNION ALL SELECT 'trigger', event_object_table::text, trigger_name::text, event_manipulation::text
        FROM information_schema.triggers WHERE trigger_schema = %(schema)s
        ORDER BY 1, 2, 3, 4
    """
    with admin(server) as connection:
        found = connection.execute(asking, {"schema": schema}).fetchall()
        counting = sql.SQL("SELECT 'version', version::text FROM {}.schema_version ORDER BY version")
        found += connection.execute(counting.format(sql.Identifier(schema))).fetchall()
    return [tuple(str(part).replace(f"{schema}.", "") for part in row) for row in found]


async def everything(store: PostgresStore) -> list[Record]:
    return list((await store.records.find(T, Filter(states=ALL_STATES), "oldest", 1000, None)).records)


async def texts(store: PostgresStore) -> set[str]:
    return {version.text for record in await everything(store) for version in await store.records.history(T, record.id)}


TEXTS = {
    "Deploy with make ship",
    "Deploy with make release",
    "部署前先运行测试",
    "We ship on Fridays",
    "Not in December",
    "The password hint is a bird",
    "Lunch is at noon",
    "Lunch is at one",
    "Tabs, not spaces",
}


@pytest.mark.parametrize("backup", BACKUPS)
async def test_the_schema_of_an_older_release_is_brought_forward_and_keeps_its_rows(
    server: Any, schema: str, fresh: PostgresStore, clock: FakeClock, backup: str
) -> None:
    before = pour(server, schema, FILES / backup)

    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        assert before <= newest()
        assert (await store.maintenance.stats(T)).schema == newest()
        assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []
        assert await texts(store) == TEXTS
        [deploy] = (await store.records.find(T, Filter(key="deploy"), "newest", 1, None)).records
        assert (deploy.version, deploy.pinned, deploy.importance, deploy.tags) == (3, True, 80, ("ops",))
        assert deploy.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert declared(server, schema) == declared(server, f"{schema}_fresh")


async def test_what_was_brought_forward_can_do_all_that_a_fresh_one_can(
    server: Any, schema: str, clock: FakeClock
) -> None:
    pour(server, schema, FILES / BACKUPS[0])
    news = News(type="record.created", tenant=T, at=clock.now(), scope=Scope("workspace", "web"))

    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        await store.records.put([Drafting(clock)("new", embedder=None)], beside=lambda _: Entries(events=(news,)))

        assert await texts(store) == {*TEXTS, "new"}
        assert [event.news for event in await store.events.read_events(0, 10)] == [news]


async def test_migrating_twice_changes_nothing_more(server: Any, schema: str, clock: FakeClock) -> None:
    pour(server, schema, FILES / BACKUPS[0])
    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        held = await everything(store)
    once = declared(server, schema)

    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        assert await everything(store) == held
    assert declared(server, schema) == once


@pytest.mark.parametrize("backup", BACKUPS)
async def test_the_backup_of_an_older_release_is_restored(fresh: PostgresStore, clock: FakeClock, backup: str) -> None:
    await fresh.maintenance.restore(FILES / backup)

    assert await texts(fresh) == TEXTS
    assert [finding for finding in await fresh.maintenance.check() if finding.severity == "error"] == []
    assert await fresh.events.event_range() == (1, 0)
    clock.advance(timedelta(days=1))
    [written] = await fresh.records.put([Drafting(clock)("new", embedder=None)])
    assert written.outcome == "created"


def test_an_older_backup_lacks_what_came_later() -> None:
    with zipfile.ZipFile(FILES / BACKUPS[0]) as archive:
        manifest = json.loads(archive.read("manifest.json"))

    assert manifest["schema"] == 1
    assert {"audit", "outbox", "events", "jobs", "replies", "keys", "layers"} <= made_since(1)
    assert not manifest["tables"].keys() & made_since(1)


async def test_persons_of_the_sixth_schema_keep_what_is_theirs(server: Any, schema: str, clock: FakeClock) -> None:
    version = pour(server, schema, FILES / BACKUPS[0])
    with admin(server) as connection, connection.transaction():
        connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}", public',))
        for number, step in migrations():
            if version < number <= 6:
                connection.execute(step.encode())
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
        connection.execute("UPDATE scopes SET kind = 'session', id = 'standup' WHERE kind = 'channel'")
        add = "INSERT INTO keys (tenant, id, secret, name, role, created_at, created_by) VALUES (%s, %s, %s, %s, 'writer', 1, 'x')"
        for name in ("ana", "ben"):
            connection.execute(add, (T, f"key-{name}", name.encode(), name))

    async with await PostgresStore.open(addressed(server, schema), clock):
        pass

    with admin(server) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", (f'"{schema}", public',))
        keys = connection.execute("SELECT id, subject, agent, parent FROM keys ORDER BY id").fetchall()
        members = connection.execute("SELECT scope, subject, owner FROM members").fetchall()
    # The store was written by ana, who has notes of her own in it.
    assert keys == [("key-ana", "ana", False, None), ("key-ben", None, False, None)]
    assert members == [("session:standup", "ana", True)]


async def test_rows_and_events_from_before_there_were_groups_are_told_beside_them(
    server: Any, schema: str, clock: FakeClock
) -> None:
    version = pour(server, schema, FILES / BACKUPS[0])
    ids = [new_id(clock.now()) for _ in range(3)]
    with admin(server) as connection, connection.transaction():
        connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}", public',))
        for number, step in migrations():
            if version < number <= 7:
                connection.execute(step.encode())
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
        for n, id in enumerate(ids):
            connection.execute(
                "INSERT INTO audit (tenant, at, id, actor, action, outcome, record, door, details)"
                " VALUES (%s, 1, %s, 'a', 'b', 'ok', %s, 'c', '{}')",
                (T, new_id(clock.now()), id),
            )
            # The last one was on its way when the daemon ended.
            table = "INSERT INTO outbox (tenant" if n == 2 else "INSERT INTO events (id, tenant"
            values = "VALUES (" if n == 2 else f"VALUES ({n + 1}, "
            told = f"{table}, type, at, admins, data) {values}%s, 'record.created', 1, false, %s)"
            connection.execute(told.encode(), (T, json.dumps({"id": id})))
        connection.execute("UPDATE event_counter SET last = 2")
    row = AuditRow(id=new_id(clock.now()), at=clock.now(), tenant=T, actor="ana", action="record.put")
    news = News(type="record.updated", tenant=T, at=clock.now())

    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        await store.journal.note(Entries(audit=(AuditGroup(row, tuple(ids)),), events=(NewsGroup(news, tuple(ids)),)))
        found = [await store.journal.audit(T, AuditQuery(record=id), 10, None) for id in ids]
        events = await store.events.read_events(0, 10)

    assert [[(row.action, row.record) for row in page.rows] for page in found] == [
        [("record.put", id), ("b", id)] for id in ids
    ]
    assert [(event.id, event.news.data["id"]) for event in events] == list(enumerate(ids * 2, start=1))


async def test_what_was_deprecated_before_the_schema_of_findings_can_be_recorded_again(
    server: Any, schema: str, clock: FakeClock
) -> None:
    [number] = [number for number, step in migrations() if "ALTER COLUMN dedupe_key DROP NOT NULL" in step]
    with admin(server) as connection, connection.transaction():
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}", public',))
        connection.execute(
            "CREATE TABLE schema_version (version integer PRIMARY KEY, application text DEFAULT 'commonplace' NOT NULL)"
        )
        for version, step in migrations():
            if version < number:
                connection.execute(step.encode())
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (version,))
        for id, status in (("gone", "deprecated"), ("kept", "promoted")):
            connection.execute(
                "INSERT INTO knowledge_items (tenant, id, space, coverage_key, dedupe_key, item_type, title, summary, payload, "
                "trust_level, status, artifact_refs, source_memory_ids, created_at, updated_at) "
                "VALUES (%s, %s, 's', 'k', %s, 'finding', 't', '', '{}', 'working', %s, '{}', '{}', 1, 2)",
                (T, id, f"key of {id}", status),
            )

    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        items = {item.id: item for item in await store.knowledge.items(T)}

    assert {id: item.dedupe_key for id, item in items.items()} == {"gone": None, "kept": "key of kept"}
    assert all(item.last_seen_at == item.updated_at for item in items.values())


async def test_a_store_from_before_there_was_a_history_keeps_its_rows_and_takes_in_sessions(
    server: Any, schema: str, clock: FakeClock
) -> None:
    version = pour(server, schema, FILES / BACKUPS[0])
    with admin(server) as connection, connection.transaction():
        connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}", public',))
        for number, step in migrations():
            if version < number <= 13:
                connection.execute(step.encode())
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
    session = Session(id="s", owner="ana", agent="coder", created_at=NOW, updated_at=NOW)
    draft = MessageDraft(id="1", role="user", kind="text", text="the parser")

    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        await store.history.create_session(T, session, Entries())
        await store.history.append_messages(T, "s", [draft], NOW)
        hits = await store.history.search_messages(T, ["parser"], SessionFilter(owner="ana"), 10)

        assert [hit.message.id for hit in hits] == ["1"]
        assert await texts(store) == TEXTS


async def test_an_agent_from_before_agents_were_set_up_is_kept_and_can_be(
    server: Any, schema: str, clock: FakeClock
) -> None:
    version = pour(server, schema, FILES / BACKUPS[0])
    with admin(server) as connection, connection.transaction():
        connection.execute("SELECT set_config('search_path', %s, true)", (f'"{schema}", public',))
        for number, step in migrations():
            if version < number <= 14:
                connection.execute(step.encode())
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
        columns = "tenant, kind, id, name, memory_enabled, created_at, updated_at"
        row = (T, "agent", "notes", "Notes", True, 1, 2)
        connection.execute(f"INSERT INTO owners ({columns}) VALUES (%s, %s, %s, %s, %s, %s, %s)", row)
    profile = AgentProfile(persona="You write release notes.", tools=("read",))

    async with await PostgresStore.open(addressed(server, schema), clock) as store:
        agent = await store.keys.owner(T, "agent", "notes")
        assert agent is not None
        await store.keys.put_owner(replace(agent, profile=profile), Entries(), new=False)
        changed = await store.keys.owner(T, "agent", "notes")

        assert (agent.name, agent.memory_enabled, agent.profile) == ("Notes", True, None)
        assert changed == replace(agent, profile=profile)
        assert await texts(store) == TEXTS
