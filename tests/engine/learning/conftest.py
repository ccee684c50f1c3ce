"""Services over a store in a file, with the language model that a test scripts, or none."""

from collections.abc import Callable

import pytest

from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.learning import House
from commonplace.testing.models import ScriptedModel


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
