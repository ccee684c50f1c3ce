"""A store in a file, and the engines over it, searched by words only: what they do does not depend on an embedder."""

import pytest

from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Preparer
from commonplace.memory.recall import Recall
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.scope import DEFAULT_TENANT


@pytest.fixture
def preparer() -> Preparer:
    return Preparer([], estimate)


@pytest.fixture
def writer(store: SqliteStore, preparer: Preparer, clock: FakeClock) -> Writer:
    return Writer(store.records, store.recall, preparer, clock, DEFAULT_TENANT)


@pytest.fixture
def recall(store: SqliteStore, clock: FakeClock) -> Recall:
    return Recall(store.recall, [], clock, DEFAULT_TENANT)


@pytest.fixture
def lifecycle(store: SqliteStore, preparer: Preparer, clock: FakeClock) -> Lifecycle:
    return Lifecycle(store.records, preparer, clock, DEFAULT_TENANT, "ada")
