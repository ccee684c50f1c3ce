# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Connections to the file: one writer thread that commits in groups, a few readers, and SQLite's errors in our words.

Every write of this process goes through one thread. It takes what has gathered in its queue, runs each job in a
savepoint of one transaction and commits once, so that sixteen threads pay for one flush of the disk together. A job
that fails rolls back alone. Other processes are kept out by `BEGIN IMMEDIATE`, tried for a minute before we give up.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import queue
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw
import sqlite_vec

from commonplace.errors import (
    CommonplaceError,
    NotAStore,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNotAdopted,
    StoreReadOnly,
    StoreUnavailable,
)

T = TypeVar("T")
Job = Callable[[apsw.Connection], T]

APPLICATION_ID = 0x43504C43
PATIENCE = 60.0
READERS = 4
_GROUP = 512
_BUSY_MS = 250

_NAMED: tuple[tuple[type[apsw.Error], type[CommonplaceError]], ...] = (
    (apsw.BusyError, StoreBusy),
    (apsw.LockedError, StoreBusy),
    (apsw.ReadOnlyError, StoreReadOnly),
    (apsw.PermissionsError, StoreReadOnly),
    (apsw.FullError, StoreFull),
    (apsw.NotADBError, NotAStore),
    (apsw.CorruptError, StoreCorrupt),
    # What may not be written into a store of somebody else: see `foreign`.
    (apsw.AuthError, StoreNotAdopted),
)
# A file system without room, a quota that is used up, a file that may not grow.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextlib.contextmanager
def named_errors() -> Generator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except apsw.Error as error:
        raise named(error) from error
    except UnicodeDecodeError as error:
        raise StoreCorrupt from error


def named(error: apsw.Error, system: int = 0) -> CommonplaceError:
    """`system` is the number of the system's last error, where the connection can tell it."""
    for theirs, ours in _NAMED:
        if isinstance(error, theirs):
            return ours()
    if isinstance(error, apsw.CantOpenError):
        return StoreUnavailable("The store's file cannot be opened. Check that its folder exists and may be written.")
    if isinstance(error, apsw.IOError):
        if system in _NO_ROOM:
            return StoreFull()
        return StoreUnavailable(f"Reading or writing the store's file failed: {error}")
    return StoreError(f"SQLite refused: {error}")


def make_private(path: Path) -> None:
    """
    An empty file that only its owner may open, whatever the umask is; not one that exists. SQLite gives its log and its journal
    the mode of the file they belong to.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
    try:
        os.close(os.open(os.path.realpath(path), flags, 0o600))
    except OSError:
        # It exists; or SQLite says better what is wrong.
        return


def connect(path: Path, *, writes: bool) -> apsw.Connection:
    """A connection with our settings. It creates the file where `writes` and there is none."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if writes else 0)
    if writes:
        make_private(path)
    db = apsw.Connection(str(path), flags=flags)
    db.set_busy_timeout(_BUSY_MS)
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.enable_load_extension(False)
    db.execute("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY")
    db.execute(f"PRAGMA cache_size = -{64_000 if writes else 16_000}")
    return db


def patiently(act: Callable[[], T], patience: float = PATIENCE) -> T:
    """Try until no other process is in the way. SQLite's own waiting ends early where it fears a deadlock."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return act()
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.002)


class WriterThread:
    """Owns the writing connection. Jobs are run in the order they came."""

    def __init__(self, db: apsw.Connection, patience: float = PATIENCE) -> None:
        self._db = db
        self._patience = patience
        self._jobs: queue.SimpleQueue[tuple[Job[object], Future[object], bool] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="commonplace-writer", daemon=True)
        self._closed = False
        # No job may come in behind the end of the queue, where nobody would run it.
        self._handing_in = threading.Lock()
        self._thread.start()

    async def run(self, job: Job[T], *, alone: bool = False) -> T:
        """
        Run `job` in a transaction, and return when it is on the disk. `alone`: outside any transaction, for what
        SQLite does only there.
        """
        future: Future[object] = Future()
        with self._handing_in:
            if self._closed:
                raise StoreClosed
            self._jobs.put((job, future, alone))
        return await asyncio.wrap_future(future)  # pyright: ignore[reportReturnType]

    def close(self) -> None:
        """Finish what was handed in, then close the connection."""
        with self._handing_in:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            group = [first]
            while not group[-1][2] and len(group) < _GROUP:
                try:
                    following = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    self._jobs.put(None)
                    break
                group.append(following)
            last = group.pop() if group[-1][2] else None
            if group:
                self._commit([(job, future) for job, future, _ in group if future.set_running_or_notify_cancel()])
            if last and last[1].set_running_or_notify_cancel():
                self._settle(*last[:2])
        with contextlib.suppress(apsw.Error):
            self._db.execute("PRAGMA optimize")
        self._db.close()

    def _commit(self, group: list[tuple[Job[object], Future[object]]]) -> None:
        try:
            patiently(lambda: self._db.execute("BEGIN IMMEDIATE"), self._patience)
            answers = [self._savepoint(job, future) for job, future in group]
            patiently(lambda: self._db.execute("COMMIT"), self._patience)
        except apsw.Error as error:
            if self._db.in_transaction:
                # Whatever becomes of it, the callers must be told.
                with contextlib.suppress(apsw.Error):
                    self._db.execute("ROLLBACK")
            for _, future in group:
                future.set_exception(self._named(error))
            return
        for answer in answers:
            answer()

    def _savepoint(self, job: Job[object], future: Future[object]) -> Callable[[], None]:
        """
        Run one job, and return how to answer its caller. No answer is given before the commit, a refusal neither: who is
        told that another was first must be able to read what that other wrote.
        """
        self._db.execute("SAVEPOINT job")
        try:
            result = job(self._db)
        except Exception as error:  # the top of a worker: whatever a job raises belongs to its caller
            if not self._db.in_transaction:
                # SQLite rolled the whole transaction back (a full disk, say): nobody's work was kept.
                raise error if isinstance(error, apsw.Error) else apsw.AbortError(str(error)) from error
            self._db.execute("ROLLBACK TO job")
            self._db.execute("RELEASE job")
            return partial(future.set_exception, self._named(error))
        self._db.execute("RELEASE job")
        return partial(future.set_result, result)

    def _settle(self, job: Job[object], future: Future[object]) -> None:
        try:
            future.set_result(job(self._db))
        except Exception as error:  # the top of a worker, as above
            future.set_exception(self._named(error))

    def _named(self, error: Exception) -> Exception:
        return named(error, self._db.system_errno) if isinstance(error, apsw.Error) else error


class _ReadTask:
    """A read in a thread. Whoever waits for it may give it up: the statement that runs is interrupted, and no other begins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db: apsw.Connection | None = None
        self.is_given_up = False

    def begin(self, db: apsw.Connection) -> None:
        with self._lock:
            self._db = db

    def end(self) -> None:
        """From here on the connection is somebody else's."""
        with self._lock:
            self._db = None

    def give_up(self) -> None:
        with self._lock:
            self.is_given_up = True
            if self._db is not None:
                self._db.interrupt()


def _end_reading(db: apsw.Connection) -> None:
    """End a snapshot. What was read of a damaged file counts, not that SQLite complains of the damage once more."""
    try:
        db.execute("COMMIT")
    except apsw.CorruptError:
        if db.in_transaction:
            db.execute("ROLLBACK")


class Readers:
    """
    A few threads, each with a connection of its own, each read in one snapshot. `prepare` sees each connection first. A read whose
    caller is cancelled ends, so that nobody has to wait for what nobody waits for.
    """

    def __init__(self, path: Path, prepare: Callable[[apsw.Connection], None] | None = None) -> None:
        self._path = path
        self._prepare = prepare
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="commonplace-reader")
        self._own = threading.local()
        self._opened: list[apsw.Connection] = []
        self._closed = False
        self._handing_in = threading.Lock()

    async def run(self, job: Job[T]) -> T:
        with self._handing_in:
            if self._closed:
                raise StoreClosed
            try:
                task = _ReadTask()
                reading = self._threads.submit(self._read, job, task)
            except RuntimeError:
                # The program is ending, and its threads take no more work.
                raise StoreClosed from None
        try:
            return await asyncio.wrap_future(reading)
        except asyncio.CancelledError:
            task.give_up()
            raise

    def _read(self, job: Job[T], task: _ReadTask) -> T:
        with named_errors():
            db = self._connection()
            patiently(lambda: db.execute("BEGIN"))
            self._own.task = task
            task.begin(db)
            try:
                return patiently(lambda: job(db))
            finally:
                task.end()
                self._own.task = None
                _end_reading(db)

    def _connection(self) -> apsw.Connection:
        """This thread's own."""
        db: apsw.Connection | None = getattr(self._own, "db", None)
        if db is None:
            db = connect(self._path, writes=False)
            if self._prepare is not None:
                self._prepare(db)
            db.exec_trace = self._goes_on
            self._own.db = db
            self._opened.append(db)
        return db

    def _goes_on(self, *_: object) -> bool:
        """Before each statement: an interrupt ends only one that runs."""
        task: _ReadTask | None = getattr(self._own, "task", None)
        return task is None or not task.is_given_up

    def close(self) -> None:
        with self._handing_in:
            self._closed = True
        self._threads.shutdown(wait=True)
        for db in self._opened:
            db.close()
