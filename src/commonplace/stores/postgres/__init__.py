"""The store for teams: PostgreSQL with pgvector, any number of daemons side by side."""

from commonplace.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
