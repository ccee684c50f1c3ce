"""Records in one SQLite file."""

from commonplace.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
