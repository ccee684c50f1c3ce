"""
One writer at a time for a file, in this process or any other.

The lock is the system's own, on a file beside the one it guards. It ends with the process that holds it, however that one
ends, so no lock is ever stale. Whoever lets go removes the lock's file while still holding it; whoever comes next
looks whether the file locked is still the one of that name.
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

    def _flocked(held: int) -> bool:
        raise ManagedMemoryUnavailable(lock=held)

else:
    import fcntl

    def _flocked(held: int) -> bool:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


PATIENCE: Final = 30.0
_PAUSE: Final = 0.01


@contextmanager
def locked(folder: int, name: str, patience: float = PATIENCE) -> Generator[None]:
    """
    Hold the lock of `name` in the folder open as `folder`.

    Raises:
        MemoryWriteTimeout: somebody else held it for longer than `patience` seconds.
    """
    lock = f".{name}.lock"
    held = _acquired(folder, lock, patience)
    try:
        yield
    finally:
        # The folder may have been removed meanwhile, with all that is in it.
        with suppress(FileNotFoundError):
            os.unlink(lock, dir_fd=folder)
        os.close(held)


def _acquired(folder: int, lock: str, patience: float) -> int:
    deadline = time.monotonic() + patience
    while True:
        held = os.open(
            lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder
        )
        try:
            if _taken(held) and _still_named(held, folder, lock):
                return held
        except BaseException:
            os.close(held)
            raise
        os.close(held)
        if time.monotonic() >= deadline:
            raise MemoryWriteTimeout(lock=lock)
        time.sleep(_PAUSE * (0.2 + random()))


def _taken(held: int) -> bool:
    if not S_ISREG(os.fstat(held).st_mode):
        raise PathEscape("The lock of a file of memory is no plain file. Remove it.")
    return _flocked(held)


def _still_named(held: int, folder: int, lock: str) -> bool:
    try:
        named = os.stat(lock, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(held), named)
