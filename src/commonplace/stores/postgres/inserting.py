"""Rows on their way into a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import sql

from commonplace.stores.postgres.connection import Connection
from commonplace.stores.postgres.rows import Table

_FEW = 40


def are_few(values: Sequence[tuple[Any, ...]]) -> bool:
    """Whether these rows can be inserted within a pipeline."""
    return len(values) <= _FEW


async def insert(connection: Connection, table: Table, values: Sequence[tuple[Any, ...]]) -> None:
    """A few rows by pipelined INSERTs, many by COPY, which cannot be part of a pipeline."""
    if not values:
        return
    names = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    if are_few(values):
        marks = sql.SQL(", ").join([sql.SQL("%b")] * len(table.columns))
        command = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table.name), names, marks)
        await connection.cursor().executemany(command, values)
        return
    command = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table.name), names)
    async with connection.cursor().copy(command) as copy:
        copy.set_types(list(table.columns.values()))
        for row in values:
            await copy.write_row(row)
