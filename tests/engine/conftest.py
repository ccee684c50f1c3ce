"""A clock that tests set, and a store in a file of the test's own."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "memory.db", clock)
    yield opened
    await opened.aclose()
