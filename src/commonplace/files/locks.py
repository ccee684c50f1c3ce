"""
A lock on an open file, the system's own: it ends with the process that holds it, however that one ends, so none is ever stale.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import random
from typing import Final

PATIENCE: Final = 10.0
_PAUSE: Final = 0.002
_LOCK: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":

    def flocked(file: int, *, shared: bool = False) -> bool:
        """Windows has no such lock. Raises OSError."""
        raise OSError(f"no lock on file {file} ({shared=}): this system has none that ends with its holder")

else:
    import fcntl

    def flocked(file: int, *, shared: bool = False) -> bool:
        """Take the lock of an open file, alone or with others who share it. False: somebody else holds it."""
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def locked_file(path: Path, patience: float = PATIENCE, *, create: bool = False) -> Generator[None]:
    """
    Hold the lock of the file at `path`, which is there or, with `create`, is made.

    Raises:
        TimeoutError: somebody else held it for longer than `patience` seconds.
        FileNotFoundError: it is not there, or was taken away while we waited.
        OSError: it cannot be opened; a link is never followed.
    """
    deadline = time.monotonic() + patience
    file = os.open(path, _LOCK | (os.O_CREAT if create else 0), 0o600)
    try:
        while not flocked(file):
            if time.monotonic() >= deadline:
                raise TimeoutError
            time.sleep(_PAUSE * (0.5 + random()))
        # Whoever removed it held the lock: what we hold then is the lock of nothing.
        if not os.path.samestat(os.fstat(file), path.stat(follow_symlinks=False)):
            raise FileNotFoundError(path)
        yield
    finally:
        os.close(file)
