"""
A folder that is read and never written, such as one that is imported.

The folder is opened once and stays open: whatever its name comes to mean, it is the folder that was checked. A file is opened name by
name from there, and no link is followed on the way, so that nothing can be swapped between the listing and the reading. Folders
on a list, by device and inode and so by any name, are not entered.

A system without `openat` (Windows) cannot do this. There a person's own program reads by paths, with the person's own rights,
and a daemon refuses.
"""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from threading import Lock
from typing import Final, Literal, Protocol

from commonplace.errors import Forbidden, PathEscape, PathNotFound
from commonplace.markdown.confine import FileSnapshot, Parts, read_from

_FOLDER: Final = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Enough to go on from; the folder need not be readable, as on the way of an ordinary path. Not every system has it.
_STEP: Final = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
# A link in the place of a folder is ENOTDIR on Linux, in the place of a file ELOOP; other systems differ.
_LINK_ERRORS: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR})

EntryKind = Literal["file", "folder", "link", "other"]
Identity = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderEntry:
    """`mtime` is in nanoseconds; `target` is what a link says, which nobody followed."""

    name: str
    kind: EntryKind
    size: int
    mtime: int
    target: str = ""


class FolderReader(Protocol):
    """`parts` are the names below the folder. Methods raise OSError as the system has it."""

    def entries(self, parts: Parts = ()) -> list[FolderEntry]:
        """
        All that a folder holds, in no order. What goes while it is listed is left out.

        Raises:
            Forbidden: the folder, or one above it, is not to be entered.
        """
        ...

    def entry(self, parts: Parts) -> FolderEntry | None:
        """One of them; None if there is none, or no folder above it."""
        ...

    def read(self, parts: Parts, most: int) -> FileSnapshot:
        """A plain file of at most `most` bytes. Raises as `confine.read_from`."""
        ...

    def below(self, parts: Parts) -> FolderReader:
        """Another reader, of a folder below this one."""
        ...

    def close(self) -> None: ...


def open_folder(
    anchor: Path, parts: Parts = (), *, barred: Collection[Identity] = (), own: bool = False
) -> FolderReader:
    """
    A reader of the folder at `parts` below `anchor`, whose own path is trusted. `own`: we read for the person whose process this
    is.

    Raises:
        Forbidden: it is one of the `barred` folders or below one, or this system cannot guard what it reads for others.
        OSError: as the system has it; NotADirectoryError or ELOOP if a link stands in the way.
    """
    if {os.open, os.stat, os.readlink} <= os.supports_dir_fd and os.scandir in os.supports_fd:
        return HandleReader(_descend(os.open(anchor, _STEP), parts, frozenset(barred)), barred)
    if not own:
        raise Forbidden(
            "This system cannot guard a folder while it is imported. Send the files with the request instead."
        )
    path = anchor.joinpath(*parts)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return PathReader(path)


def is_link(error: OSError) -> bool:
    """Whether a link, or something else that is no folder, stands where the next step would lead."""
    return error.errno in _LINK_ERRORS


def identities(folders: Iterable[Path]) -> frozenset[Identity]:
    """Of those that are there."""
    stats: list[os.stat_result] = []
    for folder in folders:
        try:
            stats.append(folder.stat())
        except OSError:
            continue
    return frozenset((status.st_dev, status.st_ino) for status in stats)


class HandleReader:
    """Takes over `handle`, an open folder. It is closed with the reader, or once nobody has the reader any more."""

    def __init__(self, handle: int, barred: Collection[Identity] = ()) -> None:
        self._handle = handle
        self._barred = frozenset(barred)
        self._lock = Lock()
        self._finalizer = weakref.finalize(self, os.close, handle)

    def entries(self, parts: Parts = ()) -> list[FolderEntry]:
        with self._opened(parts) as folder:
            listed = os.open(".", os.O_RDONLY | _FOLDER, dir_fd=folder)
            try:
                with os.scandir(listed) as entries:
                    return [entry for entry in (_entry_of(listed, entry.name) for entry in entries) if entry]
            finally:
                os.close(listed)

    def entry(self, parts: Parts) -> FolderEntry | None:
        try:
            with self._opened(parts[:-1]) as folder:
                return _entry_of(folder, parts[-1])
        except OSError as error:
            if error.errno == errno.ENOENT or is_link(error):
                return None
            raise

    def read(self, parts: Parts, most: int) -> FileSnapshot:
        with self._opened(parts[:-1]) as folder:
            return read_from(folder, parts[-1], most)

    def below(self, parts: Parts) -> HandleReader:
        with self._opened(parts) as folder:
            return HandleReader(os.dup(folder), self._barred)

    def close(self) -> None:
        with self._lock:
            self._finalizer()

    @contextmanager
    def _opened(self, parts: Parts) -> Generator[int]:
        # A thread may still read when its task is cancelled and the reader closed: the number of a closed handle may be another's.
        with self._lock:
            if not self._finalizer.alive:
                raise PathNotFound("The folder is no longer open.")
            start = os.dup(self._handle)
        folder = _descend(start, parts, self._barred)
        try:
            yield folder
        finally:
            os.close(folder)


class PathReader:
    """The same by paths, where there are no handles: what is swapped meanwhile may be read."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def entries(self, parts: Parts = ()) -> list[FolderEntry]:
        with os.scandir(self._root.joinpath(*parts)) as entries:
            return [entry for entry in (_entry_of(None, entry.path) for entry in entries) if entry]

    def entry(self, parts: Parts) -> FolderEntry | None:
        return _entry_of(None, os.fspath(self._root.joinpath(*parts)))

    def read(self, parts: Parts, most: int) -> FileSnapshot:
        return read_from(None, os.fspath(self._root.joinpath(*parts)), most)

    def below(self, parts: Parts) -> PathReader:
        return PathReader(self._root.joinpath(*parts))

    def close(self) -> None:
        pass


def _descend(folder: int, parts: Parts, barred: frozenset[Identity]) -> int:
    """The folder at `parts` below the open `folder`, which is closed unless it is the same."""
    try:
        _refuse_barred(folder, barred)
        for name in parts:
            if name in ("", ".", "..") or "/" in name or "\0" in name:
                raise PathEscape(path="/".join(parts))
            below = os.open(name, _STEP, dir_fd=folder)
            os.close(folder)
            folder = below
            _refuse_barred(folder, barred)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _refuse_barred(folder: int, barred: frozenset[Identity]) -> None:
    if barred:
        status = os.fstat(folder)
        if (status.st_dev, status.st_ino) in barred:
            raise Forbidden("The folder belongs to Commonplace itself. Import another.")


def _entry_of(folder: int | None, name: str) -> FolderEntry | None:
    """What stands under a name; None if that has just gone. Without a folder the name is a whole path."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    target = ""
    if S_ISLNK(status.st_mode):
        # It may be something else by now.
        with suppress(OSError):
            target = os.readlink(name, dir_fd=folder)
    return FolderEntry(
        name=Path(name).name, kind=_kind(status), size=status.st_size, mtime=status.st_mtime_ns, target=target
    )


def _kind(status: os.stat_result) -> EntryKind:
    if S_ISREG(status.st_mode):
        return "file"
    if S_ISDIR(status.st_mode):
        return "folder"
    return "link" if S_ISLNK(status.st_mode) else "other"
