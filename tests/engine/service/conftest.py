"""Services over a store in a file, searched by words only, and callers of every kind."""

import pytest

from commonplace.service.desk import Desk
from commonplace.service.maintenance import Keeping
from commonplace.service.recall import Recalling
from commonplace.service.records import Records


@pytest.fixture
def records(desk: Desk) -> Records:
    return Records(desk)


@pytest.fixture
def recalling(desk: Desk) -> Recalling:
    return Recalling(desk)


@pytest.fixture
def keeping(desk: Desk) -> Keeping:
    return Keeping(desk)
