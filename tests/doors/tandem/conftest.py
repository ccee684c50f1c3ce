"""The governed door over a store of its own: a SQLite file, or (`either`) a schema of a real PostgreSQL as well."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.doors.tandem import routes as governed
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import served
from commonplace.testing.governed import Door


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def door(home: Path, clock: FakeClock) -> AsyncGenerator[Door]:
    """Entered by the operator."""
    async with served(home, clock=clock, doors=[governed.DOOR]) as running:
        yield Door(running)


@pytest.fixture(params=["sqlite", "postgres"])
async def either(request: pytest.FixtureRequest, home: Path, clock: FakeClock) -> AsyncGenerator[Door]:
    given = {"store": request.getfixturevalue("address")} if request.param == "postgres" else {}
    async with served(home, clock=clock, doors=[governed.DOOR], **given) as running:
        yield Door(running)
