# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Opening a file: is it ours, is it too new, does it need a migration."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import apsw

from commonplace.errors import NotAStore, StoreReadOnly, StoreTooNew
from commonplace.stores.sqlite.connection import APPLICATION_ID, connect, named_errors, patiently
from commonplace.stores.sqlite.private_notes import bring_home

SCHEMA = 19
NOTES_AT_HOME = 12
"""Before this schema, private notes may lie in scopes of several persons."""


def migrations() -> list[str]:
    """The SQL of each step, the first making schema 1."""
    folder = files("commonplace.stores.sqlite").joinpath("migrations")
    steps = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [folder.joinpath(step).read_text(encoding="utf-8") for step in steps]


def open_writer(path: Path, prepare: Callable[[apsw.Connection], None] | None = None) -> apsw.Connection:
    """
    The writing connection of a store, created or brought up to date. `prepare` sees it first.

    Raises:
        NotAStore, StoreTooNew: the file is left as it was.
    """
    if path.is_dir():
        raise NotAStore(f"{path} is a folder. Name a file.")
    if not path.exists() and path.parent.is_dir() and not os.access(path.parent, os.W_OK):
        raise StoreReadOnly(f"The folder {path.parent} cannot be written: a new store cannot be made there.")
    with named_errors():
        db = patiently(lambda: connect(path, writes=True))
        try:
            if prepare is not None:
                prepare(db)
            version = _recognise(db)
            if version < SCHEMA:
                _write_ahead(db)
                migrate(db)
            else:
                _write_ahead(db)
            if db.readonly("main"):
                raise StoreReadOnly
        except BaseException:
            db.close()
            raise
    return db


def _recognise(db: apsw.Connection) -> int:
    application, version, tables = patiently(
        lambda: (
            db.pragma("application_id"),
            db.pragma("user_version"),
            db.execute("SELECT count(*) FROM sqlite_schema").get,
        )
    )
    if application != APPLICATION_ID and (application or version or tables):
        raise NotAStore
    if version > SCHEMA:
        raise StoreTooNew(
            f"The store has schema {version}, this Commonplace knows {SCHEMA}. Upgrade it to open the store."
        )
    return version


def _write_ahead(db: apsw.Connection) -> None:
    patiently(lambda: db.execute("PRAGMA journal_mode = WAL"))
    db.execute("PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864")


def migrate(db: apsw.Connection) -> None:
    """Every step that the file has not seen yet, all or none."""
    patiently(lambda: db.execute("BEGIN EXCLUSIVE"))
    try:
        # Another process may have been quicker.
        version = _recognise(db)
        for number, step in enumerate(migrations()[version:], start=version + 1):
            db.execute(step)
            db.execute(f"PRAGMA user_version = {number}; PRAGMA application_id = {APPLICATION_ID}")
        if version < NOTES_AT_HOME:
            bring_home(db)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
