"""A real PostgreSQL for the engines that are to work on it as on a file."""

import secrets
from collections.abc import Generator
from typing import Any

import psycopg
import pytest
from psycopg import sql


@pytest.fixture
def postgres_address(server: Any) -> Generator[str]:
    """Where a PostgreSQL store of this test alone can be made."""
    postgres = str(server.get_uri())
    schema = f"test_{secrets.token_hex(6)}"
    yield f"{postgres}{'&' if '?' in postgres else '?'}schema={schema}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
