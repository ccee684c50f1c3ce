"""
Stores to hold to their ports: a SQLite file and a schema of a real PostgreSQL server, both new for each test.

After each test nothing may be left over: no task, and no connection to the server.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
import psycopg
import pytest
from tests.conftest import addressed

from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import DIMENSION, EMBEDDER, Drafting, Store

OpenStore: TypeAlias = Callable[..., Awaitable[Store]]


@pytest.fixture
def second_address(server: Any, schema: str) -> str:
    """Where another PostgreSQL store can be made."""
    return addressed(server, f"{schema}_two")


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
    counting = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, %s)"
    async with await psycopg.AsyncConnection.connect(uri, autocommit=True) as connection:
        while (await (await connection.execute(counting, (name,))).fetchone()) != (0,):
            await anyio.lowlevel.checkpoint()


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """An empty store that knows one embedder."""
    store = await open_store()
    await store.maintenance.set_embedders({EMBEDDER: DIMENSION})
    return store


@pytest.fixture
async def second_store(open_store: OpenStore) -> Store:
    """An empty store beside the first."""
    return await open_store(two=True)
