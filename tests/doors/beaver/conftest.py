"""The gateway door over a store of its own, and two people who are known there. `house` has all doors."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from commonplace.doors.beaver import routes as gateway
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, served


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def door(home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with served(home, clock=clock, doors=[gateway.DOOR]) as running:
        yield running


@pytest.fixture
async def house(home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with served(home, clock=clock) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
async def either(request: pytest.FixtureRequest, home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    given = {"store": request.getfixturevalue("address")} if request.param == "postgres" else {}
    async with served(home, clock=clock, doors=[gateway.DOOR], **given) as running:
        yield running


async def registered(door: InProcess, user: str) -> dict[str, str]:
    response = await door.client.post("/users", json={"user_id": user})
    assert response.status_code == 201, response.text
    return response.json()


@pytest.fixture
async def ana(door: InProcess) -> dict[str, str]:
    """The id and the key of a user, as every body carries them."""
    return await registered(door, "ana")


@pytest.fixture
async def bo(door: InProcess) -> dict[str, str]:
    return await registered(door, "bo")
