"""
Stores to hold to their ports: a SQLite file and a schema of a real PostgreSQL server, both new for each test.

After each test nothing may be left over: no task, and no connection to the server.
"""

import asyncio
import importlib
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import anyio
import anyio.lowlevel
import psycopg
import pytest
from psycopg import sql

from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting, Store

OpenStore: TypeAlias = Callable[..., Awaitable[Store]]


@pytest.fixture
def schema() -> str:
    return f"test_{secrets.token_hex(6)}"


@pytest.fixture
def address(server: Any, schema: str) -> Generator[str]:
    """Where a PostgreSQL store can be made. Its connections carry the schema's name, so that leaks can be seen."""
    uri = str(server.get_uri())
    joint = "&" if "?" in uri else "?"
    yield f"{uri}{joint}application_name={quote(schema)}&schema={schema}"
    _drop(server, schema)


@pytest.fixture
def second_address(address: str, schema: str, server: Any) -> Generator[str]:
    """Where another PostgreSQL store can be made."""
    yield address.replace(f"&schema={schema}", f"&schema={schema}_two")
    _drop(server, f"{schema}_two")


def _drop(server: Any, schema: str) -> None:
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def draft(clock: FakeClock) -> Drafting:
    return Drafting(clock)


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def open_store(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncGenerator[OpenStore]:
    """Opens the store of this test, as often as it is called: each time as another process would. Or the store `two`."""
    # Named by hand, so that the suite of one store runs where the other cannot.
    where: dict[bool, object] = {two: tmp_path / f"store{2 if two else 1}.db" for two in (False, True)}
    if kind == "postgres":
        where = {False: request.getfixturevalue("address"), True: request.getfixturevalue("second_address")}
    module: Any = importlib.import_module(f"commonplace.stores.{kind}")
    opening: Any = module.PostgresStore if kind == "postgres" else module.SqliteStore
    before = _tasks()

    async with AsyncExitStack() as opened:

        async def one(*, two: bool = False) -> Store:
            store: Store = await opening.open(where[two], clock)
            opened.push_async_callback(store.aclose)
            return store

        yield one

    with anyio.fail_after(5):
        while leaked := _tasks() - before:
            await asyncio.wait(leaked)
        if kind == "postgres":
            await _no_connections(request.getfixturevalue("server").get_uri(), request.getfixturevalue("schema"))


def _tasks() -> set[asyncio.Task[Any]]:
    """All but those of the plugin that runs the tests."""
    return {task for task in asyncio.all_tasks() if "TestRunner" not in repr(task.get_coro())}


async def _no_connections(uri: str, name: str) -> None:
    """A backend that was told goodbye takes a moment to end; one that was not stays, and the wait runs out."""
    counting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    async with await psycopg.AsyncConnection.connect(uri, autocommit=True) as connection:
        while (await (await connection.execute(counting, (name,))).fetchone()) != (0,):
            await anyio.lowlevel.checkpoint()


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """An empty store that knows one embedder."""
    store = await open_store()
    await store.set_embedders({EMBEDDER: DIMENSION})
    return store


@pytest.fixture
async def second_store(open_store: OpenStore) -> Store:
    """An empty store beside the first."""
    return await open_store(two=True)
