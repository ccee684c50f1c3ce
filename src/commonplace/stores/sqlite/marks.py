# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""
Marks: random words that homes write into the stores they made or adopted, each its own. And what a store claims, for whoever is to
decide about that.

They stand among the counters, so that the schema stays what it was and an older release can still open the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from commonplace.errors import NotAStore
from commonplace.stores.sqlite.connection import APPLICATION_ID, connect, named_errors, patiently
from commonplace.stores.sqlite.foreign import harden
from commonplace.stores.sqlite.rows import Row, rows
from commonplace.stores.sqlite.schema import open_writer
from commonplace.values.record import TRUSTED

_PREFIX: Final = "mark "
_MOST: Final = 10_000
_LABELS: Final = ", ".join(f"'{label}'" for label in sorted(TRUSTED))
# An older release made a store without some of these tables.
_COUNTS: Final = (
    ("records", "SELECT count(*) FROM records"),
    ("records", f"SELECT count(*) FROM records WHERE trust IN ({_LABELS})"),
    ("keys", "SELECT count(*) FROM keys WHERE revoked_at IS NULL"),
    ("users", "SELECT count(*) FROM users"),
    ("jobs", "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"),
)


class StoreClaims(NamedTuple):
    """How many records a store has, how many of them are labelled as trusted, its keys and users, and the jobs that wait in it."""

    records: int
    trusted: int
    keys: int
    users: int
    jobs: int


def has_mark(path: Path, mark: str) -> bool:
    """Whether the store at `path`, which may be anybody's, carries this mark. Nothing is written."""
    try:
        return (_PREFIX + mark,) in _names(path)
    except NotAStore:
        return False


def _names(path: Path) -> list[Row]:
    with _foreign(path) as db:
        # All of them, to be compared by us: a table in the file can be made to hold whatever it is asked for.
        return patiently(lambda: rows(db, "SELECT name FROM counters LIMIT ?", (_MOST,)))


def read_claims(path: Path) -> StoreClaims:
    """What the store at `path` says of itself. Nothing is written. Raises NotAStore."""
    with _foreign(path) as db:
        if db.pragma("application_id") != APPLICATION_ID:
            raise NotAStore
        tables = {str(name).lower() for (name,) in rows(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
        return StoreClaims(*(int(db.execute(count).get) if table in tables else 0 for table, count in _COUNTS))


@contextmanager
def _foreign(path: Path) -> Generator[apsw.Connection]:
    with named_errors():
        db = patiently(lambda: connect(path, writes=False))
        try:
            harden(db)
            yield db
        except apsw.SQLError as error:
            raise NotAStore from error
        finally:
            db.close()


def add_mark(path: Path) -> str:
    """Write a new mark into the store at `path`. Raises NotAStore, StoreTooNew, StoreReadOnly."""
    mark = secrets.token_hex(16)
    with named_errors():
        db = open_writer(path, harden)
        try:
            _insert(db, mark)
        finally:
            db.close()
    return mark


def _insert(db: apsw.Connection, mark: str) -> None:
    patiently(lambda: db.execute("INSERT INTO counters (name, next) VALUES (?, 0)", (_PREFIX + mark,)))
