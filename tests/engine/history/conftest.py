"""The use cases of the history over a store in a file, and people who use it."""

import pytest

from commonplace.service.desk import Desk
from commonplace.service.history import History
from commonplace.testing.callers import caller
from commonplace.values.principal import Principal


@pytest.fixture
def history(desk: Desk) -> History:
    return History(desk)


@pytest.fixture
def ana() -> Principal:
    return caller("writer", name="ana")


@pytest.fixture
def bea() -> Principal:
    return caller("writer", name="bea")
