"""Looking after the store: its size and faults, its embedders, copies of it, its rules and their log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from commonplace.errors import InvalidFile, StoreBusy
from commonplace.ports.maintenance import Content, Progress
from commonplace.stores.postgres.archive import ArchiveReader, ArchiveWriter
from commonplace.stores.postgres.checks import findings
from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.private_notes import bring_home
from commonplace.stores.postgres.rows import PASSAGES, VECTORS, insert, moment, ms
from commonplace.stores.postgres.schema import bring_forward, newest, remake
from commonplace.stores.postgres.transactions import Transactions
from commonplace.stores.postgres.writes import (
    Counters,
    Place,
    known_embedders,
    lock,
    of_numbers,
    own_store,
    passage_rows,
)
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.record import Passage, Unreadable
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Finding, Rule, ScopeStats, Stats, Upkeep

_SQL = statements("sql/maintenance.sql")
_ROUNDS = 10
_CHUNK = 1 << 20
_MILLISECOND = timedelta(milliseconds=1)


class SqlMaintenance:
    """Satisfies the port `StoreMaintenance`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def stats(self, tenant: str) -> Stats:
        async def work(connection: Connection) -> Stats:
            tenants = await rows(connection, _SQL["tenant"], {"tenant": tenant})
            # No tenant has the number 0.
            params = {"tenant": tenants[0][0] if tenants else 0, "now": to_ms(self._transactions.now())}
            [(records, live, deleted)] = await rows(connection, _SQL["totals"], params)
            [(versions,)] = await rows(connection, _SQL["past_versions"], params)
            [(size,)] = await rows(connection, _SQL["size"])
            scopes = [
                ScopeStats(scope=Scope(kind, id), records=count, passages=passages)
                for kind, id, passages, count in await rows(connection, _SQL["by_scope"], params)
            ]
            return Stats(
                store="postgres",
                tenant=tenant,
                schema=newest(),
                records=records,
                live=live,
                deleted=deleted,
                versions=versions,
                passages=sum(scope.passages for scope in scopes),
                bytes=size,
                embedders=dict(await rows(connection, _SQL["active_embedders"])),
                scopes=tuple(scopes),
            )

        return await self._transactions.read(work)

    async def check(self) -> list[Finding]:
        async def work(connection: Connection) -> list[Finding]:
            [(version,)] = await rows(connection, _SQL["schema_version"])
            return await findings(connection, version)

        return await self._transactions.read(work)

    def removal(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def keep_reserve(self) -> None:
        """The server has a disk of its own to look after."""

    async def damage(self) -> tuple[Unreadable, ...]:
        return self._transactions.damage.items

    async def is_sound(self) -> bool:
        count = (await self._transactions.ask(_SQL["damaged_pages"]))[0][0]
        if count:
            self._transactions.damage.note("pages", f"the server met {count:,} pages with a wrong checksum")
        return not count

    async def embedders(self) -> dict[str, int]:
        return dict(await self._transactions.ask(_SQL["active_embedders"]))

    async def set_embedders(self, embedders: Mapping[str, int]) -> None:
        async def work(connection: Connection) -> None:
            await own_store(connection)
            present = await known_embedders(connection)
            unchanged = {name for name, embedder in present.items() if embedders.get(name) == embedder.dimension}
            params = {"kept": [present[name].number for name in unchanged]}
            if unchanged != present.keys():
                await connection.execute(_SQL["drop_other_vectors"], params)
                await connection.execute(_SQL["drop_other_embedders"], params)
            await connection.execute(_SQL["activate"])
            for name, dimension in embedders.items():
                if name not in unchanged:
                    await connection.execute(_SQL["add_embedder"], {"name": name, "dimension": dimension})

        await self._transactions.write(work)

    async def contents(self, after: int, limit: int) -> list[Content]:
        result = await self._transactions.ask(_SQL["contents"], {"after": after, "limit": limit})
        return [Content(number, text, by, moment(at)) for number, text, by, at in result]

    async def index(self, contents: Mapping[int, Sequence[Passage]]) -> None:
        async def work(connection: Connection) -> None:
            owners = await lock_owners(connection, list(contents), epochs=1)
            params = of_numbers([row[0] for row in owners], "contents")
            counters = Counters()
            await connection.execute(_SQL["drop_vectors"], params)
            for scope, length in await rows(connection, _SQL["drop_passages"], params):
                if scope is not None:
                    counters.take(scope, length)
            passages: list[tuple[Any, ...]] = []
            vectors: list[tuple[Any, ...]] = []
            embedders = await known_embedders(connection)
            for content, record, _, _, _, scope, live in owners:
                new_passages, new_vectors = passage_rows(
                    record, content, scope if live else None, contents[content], embedders
                )
                passages += new_passages
                vectors += new_vectors
                for passage in contents[content] if live else ():
                    counters.add(scope, passage.length)
            await insert(connection, PASSAGES, passages)
            await insert(connection, VECTORS, vectors)
            await counters.write(connection)

        if contents:
            await self._transactions.write(work)

    async def backup(self, target: Path, progress: Progress | None = None) -> None:
        async def work(connection: Connection) -> None:
            archive = await asyncio.to_thread(ArchiveWriter, target, newest())
            try:
                await _copy_out(connection, archive, progress)
                await asyncio.to_thread(archive.finish)
            finally:
                await asyncio.to_thread(archive.abandon)

        await self._transactions.read(work)

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        archive = await asyncio.to_thread(ArchiveReader, source, newest())

        async def work(connection: Connection) -> None:
            await own_store(connection)
            [(empty,)] = await rows(connection, _SQL["is_empty"])
            if not empty:
                raise InvalidFile("The store is not empty. Restore into a new one; add ?schema=another to the address.")
            if archive.schema < newest():
                await remake(connection, archive.schema)
            await _copy_in(connection, archive, progress)
            await bring_forward(connection, archive.schema, sequences=_SQL["set_sequences"])

        try:
            await self._transactions.write(work)
        finally:
            await asyncio.to_thread(archive.close)

    async def bring_notes_home(self) -> int:
        return await self._transactions.write(bring_home)

    async def idle_sessions(self, before: datetime, limit: int) -> list[tuple[str, Scope]]:
        result = await self._transactions.ask(_SQL["idle_sessions"], {"before": to_ms(before), "limit": limit})
        return [(tenant, Scope("session", id)) for tenant, id in result]

    async def rules(self, tenant: str) -> list[Rule]:
        result = await self._transactions.ask(_SQL["rules"], {"tenant": tenant})
        return [
            Rule(scope=scope, max_age=None if age is None else age * _MILLISECOND, max_records=most)
            for scope, age, most in result
        ]

    async def set_rule(self, tenant: str, rule: Rule) -> None:
        async def work(connection: Connection) -> None:
            age = None if rule.max_age is None else rule.max_age // _MILLISECOND
            params = {"tenant": tenant, "scope": rule.scope, "max_age": age, "max_records": rule.max_records}
            await connection.execute(_SQL["make_tenant"], params)
            limited = rule.max_age is not None or rule.max_records is not None
            await connection.execute(_SQL["set_rule" if limited else "drop_rule"], params)

        await self._transactions.write(work)

    async def log(self, tenant: str, entries: Sequence[Upkeep]) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute(_SQL["make_tenant"], {"tenant": tenant})
            lines = [
                {
                    "tenant": tenant,
                    "at": to_ms(entry.at),
                    "action": entry.action,
                    "scope": entry.scope,
                    "records": entry.records,
                    "detail": entry.detail,
                }
                for entry in entries
            ]
            await connection.cursor().executemany(_SQL["log"], lines)

        if entries:
            await self._transactions.write(work)

    async def read_log(self, tenant: str, since: datetime | None, limit: int) -> list[Upkeep]:
        params = {"tenant": tenant, "since": ms(since), "limit": limit}
        result = await self._transactions.ask(_SQL["read_log"], params)
        return [
            Upkeep(at=from_ms(at), action=action, scope=scope, records=records, detail=detail)
            for at, action, scope, records, detail in result
        ]


async def lock_owners(connection: Connection, contents: Sequence[int], *, epochs: int) -> list[tuple[Any, ...]]:
    """Whose these contents are, with all their scopes locked; with `epochs`, readers of those must read anew."""
    locked: set[Place] = set()
    for _ in range(_ROUNDS):
        owners = await rows(connection, _SQL["owners"], of_numbers(contents, "contents"))
        missing = {(row[2], Scope(row[3], row[4])) for row in owners} - locked
        if not missing:
            return owners
        await lock(connection, sorted(missing), epochs=epochs)
        locked |= missing
    raise StoreBusy("The records to index kept moving. Try again.")


async def _copy_out(connection: Connection, archive: ArchiveWriter, progress: Progress | None) -> None:
    tables = await rows(connection, _SQL["columns"])
    counting = sql.SQL("SELECT count(*) FROM {}")
    counts = [
        await (await connection.execute(counting.format(sql.Identifier(table)))).fetchone() for table, _ in tables
    ]
    total, count = sum(count[0] for count in counts if count), 0
    for table, columns in tables:
        await asyncio.to_thread(archive.begin, table)
        before, waiting, size = count, list[bytes](), 0
        async with connection.cursor().copy(_copy("COPY {} ({}) TO STDOUT", table, columns)) as copy:
            async for row in copy:
                waiting.append(bytes(row))
                count, size = count + 1, size + len(row)
                if size >= _CHUNK:
                    await asyncio.to_thread(archive.write, b"".join(waiting))
                    waiting, size = list[bytes](), 0
                    if progress:
                        progress(count, total)
        await asyncio.to_thread(archive.write, b"".join(waiting))
        await asyncio.to_thread(archive.end, table, columns, count - before)
    if progress:
        progress(total, total)


async def _copy_in(connection: Connection, archive: ArchiveReader, progress: Progress | None) -> None:
    ours = {table: tuple(columns) for table, columns in await rows(connection, _SQL["columns"])}
    if ours != {table: part.columns for table, part in archive.tables.items()}:
        raise InvalidFile("The backup holds other tables than this store has. Nothing was changed.")
    total, count = sum(part.rows for part in archive.tables.values()), 0
    for table, part in archive.tables.items():
        if table not in ("audit", "seals"):
            # These are empty, or we would not be here, and nobody may empty them.
            await connection.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(table)))
        try:
            async with connection.cursor().copy(_copy("COPY {} ({}) FROM STDIN", table, part.columns)) as copy:
                chunks = archive.chunks(table)
                while data := await asyncio.to_thread(next, chunks, b""):
                    await copy.write(data)
        except psycopg.DataError as error:
            raise InvalidFile("The backup is damaged. Nothing was changed.") from error
        count += part.rows
        if progress:
            progress(count, total)


def _copy(command: str, table: str, columns: Sequence[str]) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL(command).format(sql.Identifier(table), names)  # pyright: ignore[reportArgumentType] -- ours, a line above
