"""The knowledge registry at the native door, over a store of its own: a SQLite file, or (`either`) PostgreSQL as well."""

import secrets
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from commonplace.server.native import knowledge
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import served
from commonplace.testing.governed import Door


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def door(home: Path, clock: FakeClock) -> AsyncGenerator[Door]:
    """Entered by the operator."""
    async with served(home, clock=clock, routers=[knowledge.router]) as running:
        yield Door(running)


@pytest.fixture
def address(server: Any) -> Generator[str]:
    postgres, schema = str(server.get_uri()), f"test_{secrets.token_hex(6)}"
    yield f"{postgres}{'&' if '?' in postgres else '?'}schema={schema}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


@pytest.fixture(params=["sqlite", "postgres"])
async def either(request: pytest.FixtureRequest, home: Path, clock: FakeClock) -> AsyncGenerator[Door]:
    given = {"store": request.getfixturevalue("address")} if request.param == "postgres" else {}
    async with served(home, clock=clock, routers=[knowledge.router], **given) as running:
        yield Door(running)
