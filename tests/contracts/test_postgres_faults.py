"""What can go wrong around a PostgreSQL store: servers that go away, writers that meet, databases that are not ours."""

import logging
import re
import traceback
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import psycopg
import pytest
from psycopg import sql

from commonplace.errors import (
    CommonplaceError,
    InvalidInput,
    InvalidText,
    NotAStore,
    RecordChanged,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from commonplace.stores.postgres import PostgresStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting, passages_of
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import Draft, Record
from commonplace.values.scope import DEFAULT_TENANT

pytestmark = pytest.mark.anyio

T = DEFAULT_TENANT
PASSWORD = "s3cret-Pa55word"


@pytest.fixture
async def store(address: str, clock: FakeClock) -> AsyncGenerator[PostgresStore]:
    async with await PostgresStore.open(address, clock, patience=4) as store:
        await store.maintenance.set_embedders({EMBEDDER: DIMENSION})
        yield store


def admin(server: Any) -> psycopg.Connection[Any]:
    return psycopg.connect(server.get_uri(), autocommit=True)


async def everything(store: PostgresStore) -> list[Record]:
    return list((await store.records.find(T, Filter(states=ALL_STATES), "oldest", 10_000, None)).records)


async def test_connections_that_died_while_idle_are_replaced_unnoticed(
    store: PostgresStore, server: Any, schema: str, draft: Drafting
) -> None:
    await store.records.put([draft("before")])
    with admin(server) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 4000) FROM pg_stat_activity WHERE application_name = %s", (schema,)
        )

    await store.records.put([draft("after")])

    assert len(await everything(store)) == 2


async def test_a_write_that_is_cut_in_the_middle_is_refused_and_nothing_of_it_is_kept(
    store: PostgresStore, server: Any, schema: str, draft: Drafting
) -> None:
    [first] = [written.record for written in await store.records.put([draft("held", key="k")])]
    refused: list[CommonplaceError] = []

    async def write() -> None:
        with pytest.raises(StoreUnavailable) as caught:
            await store.records.put([draft("lost", key="k"), draft("lost too")])
        refused.append(caught.value)

    with anyio.fail_after(5), held_scopes(server, schema):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await cut_the_waiting(server, schema)

    assert [error.code for error in refused] == ["store_unavailable"]
    assert await everything(store) == [first]
    [written] = await store.records.put([draft("kept", key="k")])
    assert written.record.version == 2
    assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []


@contextmanager
def held_scopes(server: Any, schema: str) -> Generator[None]:
    """The rows of the scopes are held here, so that a write waits in the middle of its transaction."""
    with admin(server) as connection, connection.transaction():
        connection.execute(sql.SQL("SELECT 1 FROM {}.scopes FOR UPDATE").format(sql.Identifier(schema)))
        yield


async def cut_the_waiting(server: Any, schema: str) -> None:
    """End the connection that waits for a lock, as soon as there is one."""
    await until_one_waits(server, schema, "pg_terminate_backend(pid)")


async def until_one_waits(server: Any, schema: str, then: str = "true") -> None:
    asking = f"SELECT {then} FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    async with await psycopg.AsyncConnection.connect(server.get_uri(), autocommit=True) as connection:
        while not (await (await connection.execute(asking.encode(), (schema,))).fetchall()):
            await anyio.lowlevel.checkpoint()


async def test_a_write_that_is_cancelled_keeps_nothing_and_the_next_one_works(
    store: PostgresStore, server: Any, schema: str, draft: Drafting
) -> None:
    [first] = [written.record for written in await store.records.put([draft("held", key="k")])]

    with anyio.fail_after(5), held_scopes(server, schema):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.records.put, [draft("lost", key="k")])
            await until_one_waits(server, schema)
            tasks.cancel_scope.cancel()

    assert await everything(store) == [first]
    [written] = await store.records.put([draft("kept", key="k")])
    assert written.record.version == 2


async def test_a_server_that_was_stopped_is_missed_and_found_again_when_it_is_back(
    address: str, server: Any, clock: FakeClock, draft: Drafting
) -> None:
    async with await PostgresStore.open(address, clock, patience=0.5) as store:
        await store.records.put([draft("before", embedder=None)])
        server.stop()
        try:
            with pytest.raises(StoreUnavailable):
                await store.records.put([draft("lost", embedder=None)])
            with pytest.raises(StoreUnavailable):
                await everything(store)
            with pytest.raises(StoreUnavailable):
                await PostgresStore.open(address, clock, patience=0.5)
        finally:
            server.ensure_postgres_running()
        with anyio.fail_after(5):
            await put_until_it_is_back(store, draft)

        assert sorted(record.text for record in await everything(store)) == ["after", "before"]


async def put_until_it_is_back(store: PostgresStore, draft: Drafting) -> None:
    after = draft("after", embedder=None)
    while True:
        try:
            await store.records.put([after])
        except StoreUnavailable:
            continue
        return


async def test_of_writers_of_the_same_key_who_expect_a_version_none_loses_an_update(
    store: PostgresStore, address: str, clock: FakeClock, draft: Drafting
) -> None:
    await store.records.put([draft("0", key="counter")])
    refusals: list[int] = []

    async def count(writer: PostgresStore, times: int) -> None:
        done = 0
        while done < times:
            [held] = (await writer.records.find(T, Filter(key="counter"), "newest", 1, None)).records
            following = str(int(held.text) + 1)
            try:
                await writer.records.put([draft(following, key="counter", expected=held.version)])
            except RecordChanged:
                refusals.append(1)
                continue
            done += 1

    async with await PostgresStore.open(address, clock) as other, anyio.create_task_group() as tasks:
        for writer in (store, other, store, other):
            tasks.start_soon(count, writer, 10)

    [held] = await everything(store)
    assert (held.text, held.version) == ("40", 41)
    assert [record.text for record in await store.records.history(T, held.id)] == [str(n) for n in range(41)]


async def test_writers_of_many_scopes_in_any_order_all_get_through(
    store: PostgresStore, address: str, clock: FakeClock, draft: Drafting
) -> None:
    names = [f"workspace:w{n}" for n in range(6)]

    async def write(writer: PostgresStore, order: list[str]) -> None:
        for n in range(5):
            await writer.records.put([draft(f"{n}", scope=name, key="shared") for name in order])

    async with await PostgresStore.open(address, clock) as other, anyio.create_task_group() as tasks:
        tasks.start_soon(write, store, names)
        tasks.start_soon(write, other, names[::-1])
        tasks.start_soon(write, other, names[3:] + names[:3])

    assert len(await everything(store)) == 6
    assert [finding for finding in await store.maintenance.check() if finding.severity == "error"] == []


async def test_daemons_that_start_together_make_one_store(address: str, clock: FakeClock) -> None:
    stores: list[PostgresStore] = []

    async def start() -> None:
        stores.append(await PostgresStore.open(address, clock, pool_size=2))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(start)

    for store in stores:
        await store.aclose()
    assert len(stores) == 4


async def test_a_store_of_a_newer_commonplace_is_refused(
    store: PostgresStore, server: Any, schema: str, address: str, clock: FakeClock
) -> None:
    with admin(server) as connection:
        newer = sql.SQL("INSERT INTO {}.schema_version (version) VALUES (9999)").format(sql.Identifier(schema))
        connection.execute(newer)

    with pytest.raises(StoreTooNew):
        await PostgresStore.open(address, clock)


@pytest.mark.parametrize(
    "table", ["records (id integer)", "schema_version (version integer)", "schema_version (rev text)"]
)
async def test_other_peoples_tables_are_left_alone(
    server: Any, schema: str, address: str, clock: FakeClock, table: str
) -> None:
    name = table.partition(" ")[0]
    with admin(server) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        make = f'CREATE TABLE "{schema}".{table}'
        connection.execute(make.encode())

        with pytest.raises(NotAStore):
            await PostgresStore.open(address, clock)

        listing = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
        assert connection.execute(listing, (schema,)).fetchall() == [(name,)]


async def test_a_reader_without_rights_to_write_is_told_so(
    store: PostgresStore, server: Any, schema: str, address: str, clock: FakeClock, draft: Drafting
) -> None:
    await store.records.put([draft("here")])
    with admin(server) as connection:
        for command in (
            "DROP ROLE IF EXISTS onlooker",
            "CREATE ROLE onlooker LOGIN",
            f'GRANT USAGE ON SCHEMA "{schema}" TO onlooker',
            f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO onlooker',
        ):
            connection.execute(command.encode())

    async with await PostgresStore.open(address.replace("//postgres:", "//onlooker:"), clock) as onlooker:
        assert len(await everything(onlooker)) == 1
        with pytest.raises(StoreReadOnly):
            await onlooker.records.put([draft("refused")])


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db?nonsense=1",
        f"postgresql://ann:{PASSWORD}%zz@127.0.0.1:1/db",
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db?schema=public",
        f"postgresql://ann:{PASSWORD}@[::1/db",
        f"mysql://ann:{PASSWORD}@127.0.0.1:1/db",
    ],
)
async def test_a_password_never_shows(address: str, clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    with pytest.raises((StoreUnavailable, InvalidInput)) as caught:
        await PostgresStore.open(address, clock, patience=0.2)

    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.details) + caplog.text
    # The traceback quotes this test's own lines, not its values.
    assert PASSWORD not in told


async def test_a_password_never_shows_when_the_server_goes_away(
    address: str, server: Any, clock: FakeClock, draft: Drafting, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = re.sub(r"//postgres:[^@]*@", f"//postgres:{PASSWORD}@", address)
    async with await PostgresStore.open(secret, clock, patience=0.3) as store:
        server.stop()
        try:
            with pytest.raises(StoreUnavailable) as caught:
                await store.records.put([draft("lost", embedder=None)])
        finally:
            server.ensure_postgres_running()

    assert PASSWORD in secret
    assert PASSWORD not in "".join(traceback.format_exception(caught.value)) + caplog.text


@pytest.mark.parametrize(
    "fields", [{"text": "nul \x00 byte"}, {"source": "lone \ud800 surrogate"}, {"tags": ("\x00",)}]
)
async def test_what_postgresql_cannot_hold_is_refused_by_name(
    store: PostgresStore, draft: Drafting, fields: dict[str, Any]
) -> None:
    good = draft("good")
    bad = Draft(record=replace(good.record, id="01890000-0000-7000-8000-000000000000", **fields))

    with pytest.raises(InvalidText):
        await store.records.put([good, bad])

    assert await everything(store) == []


async def test_no_byte_of_a_purged_text_is_left_in_the_files_of_the_tables(
    store: PostgresStore, server: Any, draft: Drafting, clock: FakeClock
) -> None:
    needle = "xylophone-4711-quagga"
    kept = [draft(f"harmless neighbour {n}") for n in range(50)]
    [first, *_] = await store.records.put([draft(f"the secret is {needle}"), *kept])
    revised = replace(first.record, text=f"now it is {needle}-2", updated_at=clock.now())
    await store.records.revise([Draft(record=revised, passages=passages_of(revised.text), expected=1)])
    assert needle_is_in_files(server, needle)

    await store.records.purge(T, [Filter(ids=(first.record.id,), states=ALL_STATES)])

    assert not needle_is_in_files(server, needle)
    assert len(await everything(store)) == 50


def needle_is_in_files(server: Any, needle: str) -> bool:
    with admin(server) as connection:
        connection.execute("CHECKPOINT")
    tables = Path(server.pgdata) / "base"
    return any(needle.encode() in path.read_bytes() for path in tables.rglob("*") if path.is_file())
