"""
Room on the disk that is given up to whoever removes something.

SQLite writes before it frees: a delete is first written to the log, and the log reaches the file only if the file may grow. On a full
disk nothing could be removed. So a file of its own, `<store>-reserve`, takes up a little of the disk while there is room; who purges
or deletes on a full disk has it, and it is made again afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from contextvars import ContextVar
from pathlib import Path
from typing import Final

SMALLEST: Final = 1 << 20
LARGEST: Final = 32 << 20
"""Twice what the log grows to before it is written into the file."""

removing: ContextVar[bool] = ContextVar("removing", default=False)
"""Whether the work at hand makes room, and so may use what is reserved for it."""


class Reserve:
    """Beside the store at `path`. Its methods touch the disk: call them in a thread."""

    def __init__(self, path: Path) -> None:
        self._store = Path(os.path.realpath(path))
        self.file = self._store.with_name(f"{self._store.name}-reserve")
        self.is_given_up = False
        self._lock = threading.Lock()

    def make(self) -> None:
        """As large as the store, within limits; as large as there is room for after it was given up. A larger one stays."""
        with self._lock:
            size = self._size()
            if self._standing() < size:
                smallest = SMALLEST if self.is_given_up else size
                while size >= smallest and not self._allocated(size):
                    size //= 2
            if self._standing():
                self.is_given_up = False

    def give_up(self) -> None:
        """Free its room."""
        with self._lock:
            if self._standing():
                self.is_given_up = True
            with contextlib.suppress(OSError):
                self.file.unlink(missing_ok=True)

    def is_scarce(self) -> bool:
        """Whether the disk has less left than would be reserved of it."""
        try:
            return shutil.disk_usage(self._store.parent).free < self._size()
        except OSError:
            return False

    def _size(self) -> int:
        stored = sum(_size_of(file) for file in (self._store, self._store.with_name(f"{self._store.name}-wal")))
        return min(max(stored, SMALLEST), LARGEST)

    def _standing(self) -> int:
        return _size_of(self.file)

    def _allocated(self, size: int) -> bool:
        """Whether the file has that size now. One that found no room is not left behind."""
        try:
            opened = os.open(self.file, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                _allocate(opened, size)
            finally:
                os.close(opened)
        except OSError:
            with contextlib.suppress(OSError):
                self.file.unlink(missing_ok=True)
            return False
        return True


def _allocate(file: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    block = bytes(SMALLEST)
    for start in range(0, size, SMALLEST):
        os.write(file, block[: size - start])


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
