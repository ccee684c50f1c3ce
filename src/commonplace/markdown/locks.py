"""
One writer at a time for a file, in this process or any other.

The lock is the system's own, on a file beside the one it guards. It ends with the process that holds it, however that one
ends, so no lock is ever stale. Whoever lets go removes the lock's file while still holding it; whoever comes next
checks that the locked file still has that name.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from random import random
from stat import S_ISREG
from typing import Final

from commonplace.errors import ManagedMemoryUnavailable, MemoryWriteTimeout, PathEscape

if sys.platform == "win32":

    def _flocked(file: int, *, shared: bool = False) -> bool:
        raise ManagedMemoryUnavailable(lock=file, shared=shared)

else:
    import fcntl

    def _flocked(file: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


PATIENCE: Final = 30.0
_PAUSE: Final = 0.01
_LOCK: Final = (
    os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


@contextmanager
def locked(folder: int, name: str, patience: float = PATIENCE) -> Generator[None]:
    """
    Hold the lock of `name` in the folder open as `folder`.

    Raises:
        MemoryWriteTimeout: somebody else held it for longer than `patience` seconds.
    """
    lock = f".{name}.lock"
    handle = _acquired(folder, lock, patience)
    try:
        yield
    finally:
        # The folder may have been removed meanwhile, with all that is in it.
        with suppress(FileNotFoundError):
            os.unlink(lock, dir_fd=folder)
        os.close(handle)


@contextmanager
def gated(folder: int, name: str, *, shared: bool, patience: float = PATIENCE) -> Generator[int]:
    """
    Hold the gate `name` in the folder open as `folder`, together with others who share it or alone. Yields the gate's file.
    It is never removed: while some share it, nobody could say whether another file took its name.

    Raises:
        MemoryWriteTimeout: others held it for longer than `patience` seconds.
    """
    deadline = time.monotonic() + patience
    gate = os.open(name, _LOCK, 0o600, dir_fd=folder)
    try:
        while not _taken(gate, shared=shared):
            if time.monotonic() >= deadline:
                raise MemoryWriteTimeout(lock=name)
            time.sleep(_PAUSE * (0.2 + random()))
        yield gate
    finally:
        os.close(gate)


def _acquired(folder: int, lock: str, patience: float) -> int:
    deadline = time.monotonic() + patience
    while True:
        handle = os.open(lock, _LOCK, 0o600, dir_fd=folder)
        try:
            if _taken(handle) and _still_named(handle, folder, lock):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() >= deadline:
            raise MemoryWriteTimeout(lock=lock)
        time.sleep(_PAUSE * (0.2 + random()))


def _taken(file: int, *, shared: bool = False) -> bool:
    if not S_ISREG(os.fstat(file).st_mode):
        raise PathEscape("The lock of a file of memory is no plain file. Remove it.")
    return _flocked(file, shared=shared)


def _still_named(handle: int, folder: int, lock: str) -> bool:
    try:
        current = os.stat(lock, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), current)
