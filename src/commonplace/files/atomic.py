"""A file that is written whole: whoever looks finds the one before or the new one, never a part."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
DRAFT: Final = ".tmp"
"""What the name of a file that is not whole yet ends in."""


def write_whole(path: Path, data: bytes, *, durable: bool) -> None:
    """
    Give the file at `path` this content in one step. One that can be made again need not be `durable`: it is whole after a killed
    process, but may be the earlier one, or empty, after a loss of power. Raises OSError.
    """
    draft = path.with_name(f".{path.name}.{token_hex(4)}{DRAFT}")
    try:
        write_new(draft, data, durable=durable)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_new(path: Path, data: bytes, *, durable: bool) -> None:
    """Make the file at `path`, for its owner alone. Raises FileExistsError, OSError."""
    file = os.open(path, _NEW, 0o600)
    try:
        write_all(file, data)
        if durable:
            os.fsync(file)
    finally:
        os.close(file)


def write_all(file: int, data: bytes) -> None:
    """A write may take less than all of it at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def make_private(folder: Path) -> None:
    """Make the folder and those above it that are missing, for their owner alone."""
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in the folder survive a loss of power."""
    opened = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
