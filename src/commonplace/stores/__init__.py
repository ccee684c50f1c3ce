"""Stores: records in SQLite or in PostgreSQL. The two never meet."""
