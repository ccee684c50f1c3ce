# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Looking after a SQLite store."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path

import apsw

from commonplace.errors import InvalidFile, NotAStore, PathNotFound, StoreError, StoreTooNew
from commonplace.ports.maintenance import Content, Progress
from commonplace.stores.queries import load
from commonplace.stores.sqlite.checks import check_file, findings, must_rebuild_words
from commonplace.stores.sqlite.connection import APPLICATION_ID, connect, make_private, named_errors, patiently
from commonplace.stores.sqlite.private_notes import bring_home
from commonplace.stores.sqlite.rows import moment, one, rows
from commonplace.stores.sqlite.schema import SCHEMA, migrate
from commonplace.stores.sqlite.transactions import Transactions
from commonplace.stores.sqlite.writes import PASSAGES, check_vector, words_of
from commonplace.values.moment import from_ms, to_ms
from commonplace.values.record import Passage, Unreadable
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Finding, Rule, ScopeStats, Stats, Upkeep

SQL = load("commonplace.stores.sqlite", "sql/maintenance.sql")
_PAGES_A_STEP = 2048
_MILLISECOND = timedelta(milliseconds=1)


class SqlMaintenance:
    """Satisfies the port `StoreMaintenance`. `path` is where the file is."""

    def __init__(self, transactions: Transactions, path: Path) -> None:
        self._transactions = transactions
        self._path = path

    async def stats(self, tenant: str) -> Stats:
        return await self._transactions.read(lambda db: _stats(db, self._path, tenant, self._transactions.now()))

    async def check(self) -> list[Finding]:
        return await self._transactions.write(lambda db: findings(db, self._path), alone=True)

    def removal(self) -> AbstractAsyncContextManager[None]:
        return self._transactions.removal()

    async def keep_reserve(self) -> None:
        await self._transactions.keep_reserve()

    async def damage(self) -> tuple[Unreadable, ...]:
        return self._transactions.damage.items

    async def is_sound(self) -> bool:
        finding = await self._transactions.read(check_file)
        if finding.severity == "error":
            self._transactions.damage.note("file", finding.message)
        return finding.severity != "error"

    async def embedders(self) -> dict[str, int]:
        return await self._transactions.read(_embedders)

    async def set_embedders(self, embedders: Mapping[str, int]) -> None:
        await self._transactions.write(lambda db: _set_embedders(db, embedders))

    async def contents(self, after: int, limit: int) -> list[Content]:
        result = await self._transactions.read(lambda db: rows(db, SQL["contents"], (after, limit)))
        return [Content(number, text, speaker, moment(at)) for number, text, speaker, at in result]

    async def index(self, contents: Mapping[int, Sequence[Passage]]) -> None:
        await self._transactions.write(lambda db: _index(db, contents))

    async def backup(self, target: Path, progress: Progress | None = None) -> None:
        await self._transactions.read(lambda db: _backup(db, target, progress))

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        await self._transactions.write(lambda db: _restore(db, source, progress), alone=True)

    async def bring_notes_home(self) -> int:
        return await self._transactions.write(bring_home)

    async def idle_sessions(self, before: datetime, limit: int) -> list[tuple[str, Scope]]:
        bound = {"before": to_ms(before), "limit": limit}
        result = await self._transactions.read(lambda db: rows(db, SQL["idle_sessions"], bound))
        return [(tenant, Scope("session", id)) for tenant, id in result]

    async def rules(self, tenant: str) -> list[Rule]:
        result = await self._transactions.read(lambda db: rows(db, SQL["rules"], (tenant,)))
        return [
            Rule(scope=scope, max_age=None if age is None else age * _MILLISECOND, max_records=most)
            for scope, age, most in result
        ]

    async def set_rule(self, tenant: str, rule: Rule) -> None:
        def work(db: apsw.Connection) -> None:
            db.execute("DELETE FROM rules WHERE tenant = ? AND scope = ?", (tenant, rule.scope))
            if rule.max_age is not None or rule.max_records is not None:
                age = None if rule.max_age is None else rule.max_age // _MILLISECOND
                db.execute("INSERT INTO rules VALUES (?, ?, ?, ?)", (tenant, rule.scope, age, rule.max_records))

        await self._transactions.write(work)

    async def log(self, tenant: str, entries: Sequence[Upkeep]) -> None:
        lines = [(tenant, to_ms(entry.at), entry.action, entry.scope, entry.records, entry.detail) for entry in entries]

        def work(db: apsw.Connection) -> None:
            db.executemany(SQL["log"], lines)

        await self._transactions.write(work)

    async def read_log(self, tenant: str, since: datetime | None, limit: int) -> list[Upkeep]:
        bound = (tenant, 0 if since is None else to_ms(since), limit)
        result = await self._transactions.read(lambda db: rows(db, SQL["read_log"], bound))
        return [
            Upkeep(at=from_ms(at), action=action, scope=scope, records=records, detail=detail)
            for at, action, scope, records, detail in result
        ]


def _stats(db: apsw.Connection, path: Path, tenant: str, now: int) -> Stats:
    records, live, deleted = one(db, SQL["count_records"], {"tenant": tenant, "now": now}) or (0, 0, 0)
    scopes = tuple(
        ScopeStats(scope=Scope(kind, id), records=count, passages=passages)
        for kind, id, count, passages in rows(db, SQL["count_scopes"], (tenant,))
    )
    return Stats(
        store="sqlite",
        tenant=tenant,
        schema=SCHEMA,
        records=records,
        live=live or 0,
        deleted=deleted or 0,
        versions=db.execute(SQL["count_versions"], (tenant,)).get,
        passages=sum(scope.passages for scope in scopes),
        bytes=sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists()),
        embedders=_embedders(db),
        scopes=scopes,
    )


def _embedders(db: apsw.Connection) -> dict[str, int]:
    return dict[str, int](rows(db, SQL["active_embedders"]))


def _set_embedders(db: apsw.Connection, embedders: Mapping[str, int]) -> None:
    for number, name, dimension in rows(db, "SELECT number, name, dimension FROM embedders"):
        if embedders.get(name) != dimension:
            db.execute("DELETE FROM vectors WHERE embedder = ?", (number,))
            db.execute("DELETE FROM embedders WHERE number = ?", (number,))
    db.execute("DELETE FROM embedder_stages")
    for name, dimension in embedders.items():
        db.execute("INSERT INTO embedders (name, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, dimension))
    db.execute("UPDATE scopes SET epoch = epoch + 1")


def _index(db: apsw.Connection, contents: Mapping[int, Sequence[Passage]]) -> None:
    numbers = dict[str, int](rows(db, "SELECT name, number FROM embedders"))
    dimensions = dict[str, int](rows(db, "SELECT name, dimension FROM embedders"))
    touched: set[int] = set()
    if db.execute("SELECT min(number) FROM contents").get in contents:
        _mend(db)
    for content, passages in contents.items():
        row = one(db, SQL["home_of_content"], (content,))
        if row is None:
            continue
        scope, is_live = row
        touched.add(scope)
        _clear(db, content, scope)
        for n, passage in enumerate(passages):
            number = content * PASSAGES + n
            db.execute(SQL["add_passage"], (number, passage.start, passage.stop, passage.length, passage.terms))
            for name, vector in passage.vectors.items():
                check_vector(dimensions, name, vector)
                shelf = scope if is_live else -scope
                db.execute("INSERT INTO vectors VALUES (?, ?, ?, ?)", (numbers[name], shelf, number, vector))
            if is_live:
                db.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (number, words_of(scope, passage.terms)))
                db.execute(SQL["count_more"], (passage.length, scope))
    db.executemany("UPDATE scopes SET epoch = epoch + 1 WHERE number = ?", [(scope,) for scope in touched])


def _mend(db: apsw.Connection) -> None:
    """A reindex begins with the first text: first what cannot be replaced text by text is put right."""
    if must_rebuild_words(db):
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        for number, scope, terms in rows(db, SQL["live_passages"]):
            db.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (number, words_of(scope, terms)))
    db.execute(SQL["drop_stray_vectors"])
    db.execute(SQL["recount"])


def _clear(db: apsw.Connection, content: int, scope: int) -> None:
    bound = {"content": content, "scope": scope}
    for name in ("count_fewer", "clear_words", "clear_passages"):
        db.execute(SQL[name], bound)
    for (embedder,) in rows(db, "SELECT number FROM embedders"):
        db.execute(SQL["clear_vectors"], bound | {"embedder": embedder})


def _backup(db: apsw.Connection, target: Path, progress: Progress | None) -> None:
    """SQLite's own online copy: of one moment, while others write."""
    if not target.parent.is_dir():
        raise PathNotFound(f"There is no folder {target.parent}. Make it, or choose another place.")
    if target.exists():
        raise InvalidFile(f"{target} exists. Choose another name, so that no backup is overwritten.")
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        make_private(partial)
        copy = apsw.Connection(str(partial))
        try:
            with copy.backup("main", db, "main") as copying:
                while not copying.done:
                    patiently(lambda: copying.step(_PAGES_A_STEP))
                    if progress:
                        progress(copying.page_count - copying.remaining, copying.page_count)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()
        with partial.open("rb") as copied:
            os.fsync(copied.fileno())
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)


def _restore(db: apsw.Connection, source: Path, progress: Progress | None) -> None:
    if db.execute(SQL["holds_something"]).get:
        raise InvalidFile("The store to restore into is not empty. Name a new file.")
    check_backup(source)
    copy = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        with db.backup("main", copy, "main") as copying:
            while not copying.done:
                patiently(lambda: copying.step(_PAGES_A_STEP))
                if progress:
                    progress(copying.page_count - copying.remaining, copying.page_count)
    finally:
        copy.close()
    # A backup of an older release is brought forward.
    migrate(db)


def check_backup(source: Path) -> None:
    """Raises InvalidFile where `source` is no sound backup of a SQLite store."""
    if not source.is_file():
        raise InvalidFile(f"There is no backup at {source}.")
    try:
        with named_errors():
            db = connect(source, writes=False)
            try:
                damage = rows(db, "PRAGMA quick_check(1)")
                ours, version = db.pragma("application_id"), db.pragma("user_version")
            finally:
                db.close()
        if ours != APPLICATION_ID:
            raise NotAStore
        if version > SCHEMA:
            raise StoreTooNew
    except StoreError as error:
        raise InvalidFile(f"{source} is not a sound backup: {error}") from error
    if damage != [("ok",)]:
        raise InvalidFile(f"{source} is damaged: {damage[0][0]}")
