"""Services over a store in a file, searched by words only, and callers of every kind."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.service.desk import Desk
from commonplace.service.engines import EngineRoom
from commonplace.service.keeping import Keeping
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def desk(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Desk]:
    store = await SqliteStore.open(tmp_path / "memory.db", clock)
    yield Desk(store=store, clock=clock, room=EngineRoom(store=store, clock=clock, embedders=(), count=estimate))
    await store.aclose()


@pytest.fixture
def records(desk: Desk) -> Records:
    return Records(desk)


@pytest.fixture
def recalling(desk: Desk) -> Recalling:
    return Recalling(desk)


@pytest.fixture
def keeping(desk: Desk) -> Keeping:
    return Keeping(desk)
