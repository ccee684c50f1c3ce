"""Services over a store in a file, with the language model that a test scripts, or none."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.learning import House
from commonplace.testing.models import ScriptedModel


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "memory.db", clock)
    yield opened
    await opened.aclose()


@pytest.fixture
def housed(store: SqliteStore, clock: FakeClock) -> Callable[[ScriptedModel], House]:
    """`housed(ScriptedModel(…))` asks that model."""

    def made(model: ScriptedModel) -> House:
        return House.over(store, clock, model)

    return made


@pytest.fixture
def house(store: SqliteStore, clock: FakeClock) -> House:
    """Has no model."""
    return House.over(store, clock)
