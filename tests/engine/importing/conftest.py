from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.engine.importing.notes import Notes

from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncGenerator[Notes]:
    clock = FakeClock()
    store = await SqliteStore.open(tmp_path / "memory.db", clock)
    folder = tmp_path / "notes"
    folder.mkdir()
    yield Notes(folder, store, clock)
    await store.aclose()
