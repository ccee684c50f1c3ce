"""What only PostgreSQL has to get right: ids in the order of commits, listeners that survive the server, rows that COPY brought."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import psycopg
import pytest
from psycopg import sql

from commonplace.errors import AlreadyAnswered, InvalidFile, StoreReadOnly, StoreUnavailable
from commonplace.ports.journal import Entries, IdempotentReply
from commonplace.ports.knowledge import Layer
from commonplace.ports.store import Store
from commonplace.stores.postgres import PostgresStore
from commonplace.stores.postgres.relay import channel
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting
from commonplace.values.audit import AuditQuery, AuditRow
from commonplace.values.event import Event, News
from commonplace.values.moment import new_id
from commonplace.values.principal import Key
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Written
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
MINUTE = timedelta(minutes=1)
LEFT_BEHIND = "INSERT INTO outbox (tenant, type, at, admins, data) VALUES ('default/default', %s, 0, false, '{}')"


@pytest.fixture
async def store(address: str, clock: FakeClock) -> AsyncGenerator[PostgresStore]:
    async with await PostgresStore.open(address, clock, patience=4) as store:
        await store.maintenance.set_embedders({EMBEDDER: DIMENSION})
        yield store


def admin(server: Any, schema: str) -> psycopg.Connection[Any]:
    return psycopg.connect(server.get_uri(), autocommit=True, options=f"-c search_path={schema}")


def news(clock: FakeClock, what: str) -> News:
    return News(type=what, tenant=T, at=clock.now())


async def tell(store: PostgresStore, clock: FakeClock, *whats: str) -> None:
    await store.journal.note(Entries(events=tuple(news(clock, what) for what in whats)))


def names(events: Sequence[Event]) -> list[tuple[int, str]]:
    return [(event.id, event.news.type) for event in events]


async def heard(events: Any, many: int) -> list[tuple[int, str]]:
    found: list[Event] = []
    with anyio.fail_after(5):
        while len(found) < many:
            found += await anext(events)
    return names(found)


def listeners(server: Any, schema: str) -> list[int]:
    asking = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND query LIKE 'LISTEN%%'"
    with admin(server, schema) as connection:
        return [pid for (pid,) in connection.execute(asking, (schema,)).fetchall()]


async def until_nobody_listens(server: Any, schema: str) -> None:
    with anyio.fail_after(5):
        while listeners(server, schema):
            await anyio.lowlevel.checkpoint()


def as_the_daemon_sees_it(store: PostgresStore) -> Store:
    """That this is so is for the type checker to see."""
    return store


# ---- the order of events


async def test_a_write_that_began_first_and_ended_last_is_told_last(
    store: PostgresStore, server: Any, schema: str, clock: FakeClock
) -> None:
    with admin(server, schema) as slow:
        with slow.transaction():
            slow.execute(LEFT_BEHIND, ("slow",))
            await tell(store, clock, "quick")
            first = await store.events.read_events(0, 10)
        both = await store.events.read_events(0, 10)

    assert names(first) == [(1, "quick")]
    assert names(both) == [(1, "quick"), (2, "slow")]


async def test_a_write_that_was_given_up_leaves_no_gap(
    store: PostgresStore, server: Any, schema: str, clock: FakeClock
) -> None:
    with admin(server, schema) as connection, connection.transaction(force_rollback=True):
        connection.execute(LEFT_BEHIND, ("never",))
    await tell(store, clock, "a")
    await tell(store, clock, "b")

    assert names(await store.events.read_events(0, 10)) == [(1, "a"), (2, "b")]


async def test_several_relays_at_once_move_each_event_once(
    store: PostgresStore, address: str, server: Any, schema: str, clock: FakeClock
) -> None:
    with admin(server, schema) as connection, connection.cursor() as cursor:
        cursor.executemany(LEFT_BEHIND, [(str(n),) for n in range(200)])

    async with await PostgresStore.open(address, clock) as other, anyio.create_task_group() as tasks:
        for n in range(8):
            tasks.start_soon((store, other)[n % 2].events.event_range)

    assert names(await store.events.read_events(0, 1000)) == [(n + 1, str(n)) for n in range(200)]


async def test_trimming_leaves_no_hole_where_a_clock_was_slow(store: PostgresStore, clock: FakeClock) -> None:
    late = clock.now() + MINUTE
    dated = [(clock.now(), "old"), (late, "kept"), (clock.now(), "dated too early"), (late, "kept too")]
    await store.journal.note(Entries(events=tuple(News(type=what, tenant=T, at=at) for at, what in dated)))

    assert await store.events.trim_events(before=late, keep=100) == 1
    assert [event.id for event in await store.events.read_events(0, 10)] == [2, 3, 4]


async def test_listeners_are_notified_with_the_commit(
    store: PostgresStore, server: Any, schema: str, clock: FakeClock
) -> None:
    async with await psycopg.AsyncConnection.connect(server.get_uri(), autocommit=True) as ear:
        await ear.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel(schema))))

        await tell(store, clock, "a")
        told = [notify.channel async for notify in ear.notifies(timeout=5, stop_after=1)]

    assert told == [channel(schema)]
    assert names(await store.events.read_events(0, 10)) == [(1, "a")]


async def test_what_is_told_just_before_the_store_closes_is_not_lost(address: str, clock: FakeClock) -> None:
    async with await PostgresStore.open(address, clock) as first:
        await tell(first, clock, "last words")

    async with await PostgresStore.open(address, clock) as second:
        assert names(await second.events.read_events(0, 10)) == [(1, "last words")]


# ---- followers


async def test_a_follower_is_told_what_a_daemon_left_that_died(
    store: PostgresStore, server: Any, schema: str, clock: FakeClock
) -> None:
    async with aclosing(store.events.follow_events(0)) as events:
        await tell(store, clock, "a")
        first = await heard(events, 1)
        with admin(server, schema) as connection:
            connection.execute(LEFT_BEHIND, ("left behind",))
        second = await heard(events, 1)

    assert (first, second) == ([(1, "a")], [(2, "left behind")])


async def test_a_follower_whose_connection_is_cut_misses_nothing(
    store: PostgresStore, server: Any, schema: str, clock: FakeClock
) -> None:
    async with aclosing(store.events.follow_events(0)) as events:
        await tell(store, clock, "before")
        before = await heard(events, 1)
        with admin(server, schema) as connection:
            for pid in listeners(server, schema):
                connection.execute("SELECT pg_terminate_backend(%s, 4000)", (pid,))
        await tell(store, clock, "while it is deaf")
        after = await heard(events, 1)
        await tell(store, clock, "when it hears again")
        after += await heard(events, 1)

        assert (before, after) == ([(1, "before")], [(2, "while it is deaf"), (3, "when it hears again")])
        assert len(listeners(server, schema)) == 1


async def test_a_follower_waits_for_a_server_that_was_stopped_and_keeps_its_place(
    address: str, server: Any, clock: FakeClock
) -> None:
    async with await PostgresStore.open(address, clock, patience=0.5) as store:
        told: list[tuple[int, str]] = []
        first = anyio.Event()

        async def follow() -> None:
            async with aclosing(store.events.follow_events(0)) as events:
                async for batch in events:
                    told.extend(names(batch))
                    first.set()
                    if len(told) == 2:
                        return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await tell(store, clock, "before")
            with anyio.fail_after(5):
                await first.wait()
            server.stop()
            server.ensure_postgres_running()
            with anyio.fail_after(5):
                while not await told_again(store, clock):
                    await anyio.lowlevel.checkpoint()

    assert told == [(1, "before"), (2, "after")]


async def told_again(store: PostgresStore, clock: FakeClock) -> bool:
    try:
        await tell(store, clock, "after")
    except StoreUnavailable:
        return False
    return True


async def test_a_follower_that_goes_away_leaves_no_connection(
    store: PostgresStore, server: Any, schema: str, clock: FakeClock
) -> None:
    async with aclosing(store.events.follow_events(0)) as events:
        await tell(store, clock, "a")
        await heard(events, 1)
        there = listeners(server, schema)

    assert len(there) == 1
    await until_nobody_listens(server, schema)


async def test_a_follower_that_is_busy_when_the_store_closes_is_told_the_end_later(
    store: PostgresStore, server: Any, schema: str, clock: FakeClock
) -> None:
    events = store.events.follow_events(0)
    await tell(store, clock, "a")
    first = await heard(events, 1)

    await store.aclose()

    await until_nobody_listens(server, schema)
    with anyio.fail_after(5):
        rest = [event async for event in events]
    assert (first, rest) == ([(1, "a")], [])


async def test_a_follower_that_waits_for_the_server_ends_with_the_store(
    address: str, server: Any, clock: FakeClock
) -> None:
    async with await PostgresStore.open(address, clock, patience=30) as store:
        ended = anyio.Event()

        async def follow() -> None:
            assert [event async for event in store.events.follow_events(0)] == []
            ended.set()

        async with anyio.create_task_group() as tasks:
            server.stop()
            try:
                tasks.start_soon(follow)
                await anyio.wait_all_tasks_blocked()
                await store.aclose()
                with anyio.fail_after(5):
                    await ended.wait()
            finally:
                server.ensure_postgres_running()


async def test_one_who_may_only_read_reads_what_was_relayed(
    store: PostgresStore, server: Any, schema: str, address: str, clock: FakeClock
) -> None:
    await tell(store, clock, "a")
    assert await store.events.event_range() == (1, 1)
    with admin(server, schema) as connection:
        connection.execute(LEFT_BEHIND, ("not yet",))
        for command in (
            "DROP ROLE IF EXISTS reader",
            "CREATE ROLE reader LOGIN",
            f'GRANT USAGE ON SCHEMA "{schema}" TO reader',
            f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO reader',
        ):
            connection.execute(command.encode())

    async with await PostgresStore.open(address.replace("//postgres:", "//reader:"), clock) as reader:
        assert names(await reader.events.read_events(0, 10)) == [(1, "a")]
        with pytest.raises(StoreReadOnly):
            await tell(reader, clock, "refused")


# ---- entries


def many(clock: FakeClock, written: Sequence[Written], reply: IdempotentReply | None = None) -> Entries:
    """An audit row and an event for each record."""
    now = clock.now()
    rows = [
        AuditRow(id=new_id(now), at=now, tenant=T, actor="ann", action="record.put", record=one.record.id)
        for one in written
    ]
    return Entries(audit=tuple(rows), events=tuple(news(clock, one.record.id) for one in written), reply=reply)


@pytest.mark.parametrize("count", [1, 40, 41, 200])
async def test_few_or_many_entries_are_kept_in_their_order(
    store: PostgresStore, draft: Drafting, clock: FakeClock, count: int
) -> None:
    written = await store.records.put(
        [draft(f"record {n}") for n in range(count)], beside=lambda done: many(clock, done)
    )

    ids = [one.record.id for one in written]
    assert [event.news.type for event in await store.events.read_events(0, 1000)] == ids
    page = await store.journal.audit(T, AuditQuery(), 1000, None)
    assert [row.record for row in page.rows] == ids[::-1]


@pytest.mark.parametrize("count", [1, 100])
async def test_an_answer_that_is_there_refuses_few_records_or_many(
    store: PostgresStore, draft: Drafting, clock: FakeClock, count: int
) -> None:
    reply = IdempotentReply(tenant=T, owner="ann", key="k", fingerprint=b"f", expires_at=clock.now() + MINUTE)
    await store.journal.note(Entries(reply=reply))

    with pytest.raises(AlreadyAnswered):
        await store.records.put([draft(str(n)) for n in range(count)], beside=lambda done: many(clock, done, reply))

    assert (await store.records.find(T, Filter(states=ALL_STATES), "oldest", 10, None)).records == ()
    assert await store.events.event_range() == (1, 0)
    assert (await store.journal.audit(T, AuditQuery(), 10, None)).rows == ()


async def test_what_writes_no_record_still_keeps_what_is_beside_it(store: PostgresStore, clock: FakeClock) -> None:
    told: list[int] = []

    def beside(written: Sequence[Any]) -> Entries:
        told.append(len(written))
        return Entries(events=(news(clock, "nothing"),))

    await store.records.put([], beside=beside)
    await store.records.revise([], beside=beside)
    await store.records.load([], beside=beside)
    await store.records.purge(T, [Filter(key="unknown")], beside=beside)

    assert told == [0, 0, 0, 0]
    assert await store.events.event_range() == (1, 4)


async def test_the_audit_cannot_be_emptied(store: PostgresStore, server: Any, schema: str, clock: FakeClock) -> None:
    row = AuditRow(id=new_id(clock.now()), at=clock.now(), tenant=T, actor="ann", action="key.create")
    await store.journal.note(Entries(audit=(row,)))

    with admin(server, schema) as connection, pytest.raises(psycopg.errors.RestrictViolation):
        connection.execute("TRUNCATE audit")

    assert (await store.journal.audit(T, AuditQuery(), 10, None)).rows == (row,)


# ---- layers and backups


def layer(record: str, text: str = "in short") -> Layer:
    return Layer(record=record, version=1, name="L0", text=text, tokens=2)


async def test_layers_that_are_put_while_their_record_is_purged_do_not_stay_behind(
    store: PostgresStore, server: Any, schema: str, draft: Drafting
) -> None:
    for _ in range(5):
        written = await store.records.put([draft(f"record {n}") for n in range(5)])
        async with anyio.create_task_group() as tasks:
            for one in written:
                tasks.start_soon(store.knowledge.put_layers, T, [layer(one.record.id)])
            tasks.start_soon(store.records.purge, T, [Filter(states=ALL_STATES)])

    with admin(server, schema) as connection:
        assert connection.execute("SELECT count(*) FROM layers").fetchone() == (0,)


async def test_no_byte_of_a_purged_layer_is_left_in_the_files_of_the_tables(
    store: PostgresStore, server: Any, schema: str, draft: Drafting
) -> None:
    needle = "bassoon-1729-walrus"
    [gone, kept] = await store.records.put([draft("a long story"), draft("another", scope="user:ann")])
    await store.knowledge.put_layers(T, [layer(gone.record.id, needle), layer(kept.record.id)])
    assert is_in_files(server, needle)

    await store.records.purge(T, [Filter(ids=(gone.record.id,), states=ALL_STATES)])

    assert not is_in_files(server, needle)
    assert await store.knowledge.layers(T, [kept.record.id]) == [layer(kept.record.id)]


def is_in_files(server: Any, needle: str) -> bool:
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    tables = Path(server.pgdata) / "base"
    return any(needle.encode() in path.read_bytes() for path in tables.rglob("*") if path.is_file())


async def test_a_store_with_keys_is_not_restored_over(
    store: PostgresStore, second_address: str, clock: FakeClock, draft: Drafting, tmp_path: Path
) -> None:
    await store.records.put([draft("a")])
    await store.maintenance.backup(tmp_path / "copy")
    key = Key(id="k1", name="ci", tenant=T, role="writer", created_at=clock.now(), created_by="operator")

    async with await PostgresStore.open(second_address, clock) as other:
        await other.keys.add_key(key, b"hash", Entries())
        with pytest.raises(InvalidFile):
            await other.maintenance.restore(tmp_path / "copy")

        assert await other.keys.list_keys(None) == [key]


async def test_a_backup_takes_along_what_waits_in_the_outbox(
    store: PostgresStore, second_address: str, server: Any, schema: str, clock: FakeClock, tmp_path: Path
) -> None:
    await tell(store, clock, "a")
    assert await store.events.event_range() == (1, 1)
    with admin(server, schema) as connection:
        connection.execute(LEFT_BEHIND, ("waits",))
    await store.maintenance.backup(tmp_path / "copy")

    async with await PostgresStore.open(second_address, clock) as other:
        await other.maintenance.restore(tmp_path / "copy")
        await tell(other, clock, "new")

        assert names(await other.events.read_events(0, 10)) == [(1, "a"), (2, "waits"), (3, "new")]


async def test_every_kind_of_row_survives_a_backup(
    store: PostgresStore, second_address: str, clock: FakeClock, draft: Drafting, tmp_path: Path
) -> None:
    [written] = await store.records.put([draft("a")])
    key = Key(id="k1", name="ci", tenant=T, role="writer", created_at=clock.now(), created_by="operator")
    await store.keys.add_key(key, b"hash", Entries())
    await store.knowledge.put_layers(T, [layer(written.record.id)])
    await store.quotas.spend(T, "run", MINUTE, {"queries": 2}, {})
    await store.maintenance.backup(tmp_path / "copy")

    async with await PostgresStore.open(second_address, clock) as other:
        await other.maintenance.restore(tmp_path / "copy")

        assert await other.keys.key_by_secret(b"hash") == key
        assert await other.knowledge.layers(T, [written.record.id]) == [layer(written.record.id)]
        assert await other.quotas.spent(T, "run", MINUTE) == {"queries": 2}
        await other.keys.add_key(replace(key, id="k2"), b"other", Entries())
        assert [one.id for one in await other.keys.list_keys(T)] == ["k2", "k1"]
