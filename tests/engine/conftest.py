"""A clock that tests set, a store in a file of the test's own, and what follows its log."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.events.hub import Hub
from commonplace.service.desk import Desk
from commonplace.service.engines import EngineRoom
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import TellEvents
from commonplace.text.tokens import estimate


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "memory.db", clock)
    yield opened
    await opened.aclose()


@pytest.fixture
def desk(store: SqliteStore, clock: FakeClock) -> Desk:
    return Desk(store=store, clock=clock, room=EngineRoom(store=store, clock=clock, embedders=(), count=estimate))


@pytest.fixture
async def hub(store: SqliteStore) -> AsyncGenerator[Hub]:
    hub = Hub(store.events, most=3)
    await hub.open()
    following = asyncio.create_task(hub.run())
    yield hub
    following.cancel()
    await asyncio.wait({following})


@pytest.fixture
def tell(store: SqliteStore, clock: FakeClock) -> TellEvents:
    return TellEvents(store.journal, clock)
