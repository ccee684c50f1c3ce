"""
The keyed door over a store of its own: a SQLite file, or (`either`) a schema of a real PostgreSQL as well. `house` has all
doors, and takes longer to build.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest

from commonplace.doors.rondoflow import routes as keyed
from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, served
from commonplace.values.principal import Role

Entered: TypeAlias = Callable[..., Awaitable[dict[str, str]]]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def door(home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with served(home, clock=clock, doors=[keyed.DOOR]) as running:
        yield running


@pytest.fixture
async def house(home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    async with served(home, clock=clock) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
async def either(request: pytest.FixtureRequest, home: Path, clock: FakeClock) -> AsyncGenerator[InProcess]:
    given = {"store": request.getfixturevalue("address")} if request.param == "postgres" else {}
    async with served(home, clock=clock, doors=[keyed.DOOR], **given) as running:
        yield running


@pytest.fixture
def client(door: InProcess) -> httpx.AsyncClient:
    """Shows the operator's token."""
    return door.client


@pytest.fixture
def key(door: InProcess) -> Entered:
    """The header of a new key."""

    async def made(role: Role, *scopes: str, tenant: str = "default/default") -> dict[str, str]:
        _, secret = await door.services.identity.create_key(
            caller("admin", tenant=tenant), role, role, scopes=scopes or None
        )
        return {"Authorization": f"Bearer {secret}"}

    return made


@pytest.fixture
async def agent(client: httpx.AsyncClient) -> str:
    """The path of an agent's memories."""
    await client.post("/api/agents", json={"name": "Release notes", "id": "notes"})
    return "/api/agents/notes/memories"


@pytest.fixture
async def workspace(client: httpx.AsyncClient) -> str:
    """The path of a workspace's memories."""
    await client.post("/api/workspaces", json={"name": "Web", "id": "web"})
    return "/api/workspaces/web/memories"
