"""
Connections and transactions, and what their failures mean to a caller.

A transaction that cannot begin because its pooled connection died meanwhile is begun again on another. One that loses
to another writer (deadlock, serialization) is run again from its start. One that is cut in the middle is not: it
raises StoreUnavailable, and the next call connects anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, TypeAlias, TypeVar

import anyio
import psycopg
from psycopg import AsyncConnection, IsolationLevel, errors
from psycopg.rows import TupleRow
from psycopg.types import TypeInfo
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    InvalidText,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from commonplace.stores.postgres.adapt import register
from commonplace.stores.postgres.address import DatabaseAddress
from commonplace.stores.queries import load
from commonplace.values.retry import Backoff

Connection: TypeAlias = AsyncConnection[TupleRow]
Params: TypeAlias = Mapping[str, Any] | Sequence[Any] | None
T = TypeVar("T")

PACKAGE = "commonplace.stores.postgres"
_ATTEMPTS = 8
_BACKOFF = Backoff(first=0.02, jitter=(0.0, 1.0))
_MANY = 2_000
_SESSION = """
SELECT set_config('search_path', %(path)s, false), set_config('lock_timeout', '30s', false),
       set_config('idle_in_transaction_session_timeout', '120s', false), set_config('jit', 'off', false),
       set_config('work_mem', '32MB', false), set_config('plan_cache_mode', 'force_custom_plan', false)
"""
_MEANINGS: tuple[tuple[type[psycopg.Error], type[CommonplaceError], str | None], ...] = (
    (errors.DiskFull, StoreFull, None),
    (errors.ReadOnlySqlTransaction, StoreReadOnly, "The database takes no writes now. Use its primary server."),
    (errors.InsufficientPrivilege, StoreReadOnly, "The database does not let this user write there. Grant it rights."),
    (errors.LockNotAvailable, StoreBusy, "Another connection has held a lock for too long. Try again."),
    (errors.SerializationFailure, StoreBusy, "Too many others wrote at the same time. Try again."),
    (errors.DeadlockDetected, StoreBusy, "Too many others wrote at the same time. Try again."),
    (
        errors.UniqueViolation,
        Conflict,
        "Another record of the scope has the same key, mark or id. Nothing was written.",
    ),
    (errors.DataCorrupted, StoreCorrupt, "The database is damaged. Run `commonplace doctor`, or restore a backup."),
    (
        errors.IndexCorrupted,
        StoreCorrupt,
        "An index is damaged. Run REINDEX on the database, then `commonplace doctor`.",
    ),
    (errors.UndefinedTable, StoreCorrupt, "A table of the store is gone. Restore a backup."),
    (psycopg.OperationalError, StoreUnavailable, None),
    (psycopg.InterfaceError, StoreUnavailable, None),
    (psycopg.DataError, InvalidText, "The database cannot store this: NUL characters or numbers that are too large."),
)
_UNKNOWN = (
    "The store went away while the write was being confirmed: whether it was kept is not known. "
    "Read it back when the store is there again; a write with a key may simply be repeated."
)


@cache
def statements(file: str) -> Mapping[str, bytes]:
    """The blocks of a file of SQL. A block may stand in another as `{its name}`."""
    blocks = load(PACKAGE, file)
    by_name: dict[str, bytes] = {}
    for name, sql in blocks.items():
        whole = sql
        for part, text in blocks.items():
            whole = whole.replace("{" + part + "}", text)
        by_name[name] = whole.encode()
    return by_name


def meaning(error: psycopg.Error) -> CommonplaceError:
    """What a failure of the database means to a caller. The driver's words, which may quote data, stay behind."""
    for kind, ours, message in _MEANINGS:
        if isinstance(error, kind):
            return ours(message)
    return StoreError(f"The database refused the work ({error.sqlstate or type(error).__name__}).")


async def rows(connection: Connection, sql: bytes, params: Params = None) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(sql, params, binary=True)
    return await cursor.fetchall()


class Database:
    """A pool of connections whose search path is our schema."""

    def __init__(self, pool: AsyncConnectionPool[Connection], address: DatabaseAddress) -> None:
        self._pool = pool
        self.schema = address.schema
        self.conninfo = address.conninfo
        self._grown = 0
        self._stale_at = _MANY

    @classmethod
    async def open(
        cls, address: DatabaseAddress, halfvec: TypeInfo, path: str, *, size: int, patience: float
    ) -> Database:
        async def configure(connection: Connection) -> None:
            await connection.execute(_SESSION, {"path": path})
            register(connection, halfvec)

        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            address.conninfo,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=size,
            open=False,
            configure=configure,
            name="commonplace",
            timeout=patience,
            # A server that is away is looked for again at the next call, not in the background for minutes.
            reconnect_timeout=patience,
            max_idle=300.0,
        )
        try:
            await pool.open(wait=True, timeout=patience)
        except PoolTimeout:
            await pool.close()
            raise StoreUnavailable from None
        return cls(pool, address)

    async def aclose(self) -> None:
        await self._pool.close()

    async def write(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` in a transaction, again from its start where it lost to another writer."""
        return await self._run(work, IsolationLevel.READ_COMMITTED, read_only=False)

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` on one snapshot of the database."""
        return await self._run(work, IsolationLevel.REPEATABLE_READ, read_only=True)

    async def ask(self, sql: bytes, params: Params = None) -> list[tuple[Any, ...]]:
        """One statement, a snapshot of its own."""

        async def one(connection: Connection) -> list[tuple[Any, ...]]:
            return await rows(connection, sql, params)

        return await self._run(one, None, read_only=True)

    async def outside(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` outside of any transaction, as VACUUM must."""
        return await self._run(work, None, read_only=False)

    async def _run(
        self, work: Callable[[Connection], Awaitable[T]], level: IsolationLevel | None, *, read_only: bool
    ) -> T:
        for attempt in range(1, _ATTEMPTS + 1):
            attempted = _Attempt()
            try:
                return await self._once(work, level, read_only=read_only, attempt=attempted)
            except PoolClosed:
                raise StoreClosed from None
            except PoolTimeout:
                raise StoreUnavailable from None
            except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                if attempt == _ATTEMPTS:
                    raise meaning(error) from error
                # Writers that met once would meet again if they came back in step.
                await anyio.sleep(_BACKOFF.after(attempt))
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if attempt == _ATTEMPTS or not attempted.may_be_repeated(error, read_only=read_only):
                    raise attempted.meaning(error, read_only=read_only) from error
                await self._drop_dead()
            except psycopg.Error as error:
                raise meaning(error) from error
            except UnicodeEncodeError:
                raise InvalidText from None
        raise StoreUnavailable

    async def _once(
        self,
        work: Callable[[Connection], Awaitable[T]],
        level: IsolationLevel | None,
        *,
        read_only: bool,
        attempt: _Attempt,
    ) -> T:
        async with self._pool.connection() as connection:
            if level is None:
                result = await work(connection)
                attempt.began = True
                return result
            async with _transaction(connection, level, read_only=read_only):
                attempt.began = True
                result = await work(connection)
                attempt.ended = True
            return result

    async def grown(self, rows: int) -> None:
        """
        After a write of so many rows: let the planner know, each time the store has doubled. The server would notice by
        itself, but minutes later, and until then would read a large store with plans made for an empty one.
        """
        self._grown += rows
        if self._grown < self._stale_at:
            return
        self._stale_at = 2 * self._grown
        # The write is kept, whatever becomes of this.
        with suppress(StoreError):
            await self.outside(_analyse)

    async def _drop_dead(self) -> None:
        try:
            await self._pool.check()
        except PoolClosed:
            raise StoreClosed from None


async def _analyse(connection: Connection) -> None:
    await connection.execute(b"ANALYZE records, versions, contents, passages, vectors, scopes")


def _is_cut(error: psycopg.Error) -> bool:
    """The connection is gone, as against a server that refused one statement."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def _cancellation(error: BaseException) -> asyncio.CancelledError | None:
    """The driver, cancelled in the middle of a pipeline, complains of the pipeline. Its caller must hear of the cause."""
    before = error.__context__
    if before is None:
        return None
    if isinstance(before, asyncio.CancelledError):
        return asyncio.CancelledError(*before.args)
    return _cancellation(before)


class _Attempt:
    """How far a transaction came before it failed."""

    def __init__(self) -> None:
        self.began = False
        self.ended = False

    def may_be_repeated(self, error: psycopg.Error, *, read_only: bool) -> bool:
        """Nothing can have been written, and it was the connection that failed."""
        return (read_only or not self.began) and _is_cut(error) and _cancellation(error) is None

    def meaning(self, error: psycopg.Error, *, read_only: bool) -> BaseException:
        failure = meaning(error)
        if self.ended and not read_only and isinstance(failure, StoreUnavailable):
            failure = StoreUnavailable(_UNKNOWN, outcome="unknown")
        return _cancellation(error) or failure


@asynccontextmanager
async def _transaction(connection: Connection, level: IsolationLevel, *, read_only: bool) -> AsyncGenerator[None]:
    begin = b"BEGIN ISOLATION LEVEL " + level.name.replace("_", " ").encode()
    await connection.execute(begin + (b" READ ONLY" if read_only else b""))
    try:
        yield
    except Exception:
        # What went wrong counts, not that it cannot be tidied up; the pool throws a broken connection away.
        with suppress(psycopg.Error):
            await connection.rollback()
        raise
    except BaseException:
        # Cancelled, perhaps in the middle of a pipeline: this connection is of no use any more.
        await connection.close()
        raise
    await connection.commit()
