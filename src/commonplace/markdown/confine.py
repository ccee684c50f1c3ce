"""
Files inside one folder, and no way out of it.

A path is walked a name at a time, each step from the open folder before it (`openat`) and none through a link, so that there
is no moment between looking at a path and using it: what was opened is what was looked at. A file is used only if it is a
plain file with no second name elsewhere. Nothing is written in place: a new file is made whole beside the old one and takes
its name in one step, under a lock that all our processes share, and only if the old one is still what it was when it
was read. If somebody changed it in between, their version stays.

A person's editor does not know our lock. Between the last look and the step that gives the new file its name lie a few
microseconds in which a save could be lost, which no portable call can close.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Container, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Final, NamedTuple

from commonplace.errors import (
    FileChanged,
    FileError,
    ManagedMemoryUnavailable,
    MemoryFileTooLarge,
    PathEscape,
    PathNotFound,
)
from commonplace.markdown.locks import PATIENCE, gated, locked
from commonplace.markdown.names import fault, fold

Parts = tuple[str, ...]
LARGEST: Final = 1024 * 1024
LARGEST_EVER: Final = 64 * LARGEST
MOST_LISTED: Final = 10_000
_READ_ATTEMPTS: Final = 50
_DEEPEST_WALK: Final = 8
_DRAFT: Final = ".tmp"
_LOCK: Final = ".lock"
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file was when it was read: enough to see whether it has changed since."""

    mtime: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """A file as it was read. `mtime` of the stamp is in nanoseconds."""

    data: bytes
    stamp: Stamp
    mode: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FileInfo:
    """A file below the folder, as its folder lists it; `mark` differs after every change of the file."""

    parts: Parts
    size: int
    mtime: int
    mark: tuple[int, ...]

    @property
    def path(self) -> str:
        return "/".join(self.parts)


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    name: str
    is_folder: bool
    size: int


Compose = Callable[[FileSnapshot | None], bytes | None]
"""From the present file (None: there is none) to its new content (None: no change)."""


class Folder:
    """
    The folder `inside` the trusted folder `anchor`. The anchor is taken by its real path; what is inside it is walked.
    Every method may raise PathEscape, FileError or ManagedMemoryUnavailable.
    """

    def __init__(self, anchor: Path, inside: Parts = (), *, mode: int = 0o600, patience: float = PATIENCE) -> None:
        """`mode` is for new files; an existing file keeps its own. `patience` is how many seconds to wait for a lock."""
        self._anchor = anchor
        self._inside = inside
        self._mode = mode
        self._patience = patience

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folder) and (self._anchor, self._inside) == (other._anchor, other._inside)

    def __hash__(self) -> int:
        return hash((self._anchor, self._inside))

    def read(self, parts: Parts, most: int = LARGEST) -> FileSnapshot:
        """
        The file at `parts`.

        Raises:
            PathNotFound: there is none.
            MemoryFileTooLarge: it has more than `most` bytes.
        """
        with self._within(parts[:-1], parts) as folder:
            return read_from(folder, parts[-1], most)

    def change(
        self, parts: Parts, compose: Compose, most: int = LARGEST, *, durable: bool = True
    ) -> FileSnapshot | None:
        """
        Give the file at `parts` the content that `compose` makes of the present one, under the file's lock. Returns the
        file as it is then, None if there is none. A file that can be made again need not be `durable`: it is complete after
        a killed process, but may be the earlier one after a loss of power.

        Raises:
            FileChanged: somebody changed it while `compose` was at work. It is as they left it.
            MemoryWriteTimeout: somebody else holds the lock.
        """
        with self._within(parts[:-1], parts, create=True) as folder, locked(folder, parts[-1], self._patience):
            snapshot = _read_if_there(folder, parts[-1], most)
            data = compose(snapshot)
            if data is None or (snapshot is not None and data == snapshot.data):
                return snapshot
            if snapshot is None:
                _refuse_new_name(folder, parts[-1])
            replacement = _replace(
                folder, parts[-1], snapshot, data, snapshot.mode if snapshot else self._mode, durable
            )
            if durable:
                os.fsync(folder)
            return replacement

    def write(self, parts: Parts, data: bytes, *, expected: Stamp | None) -> FileSnapshot:
        """Write `data` in place of the file `expected` (None: there must be none). Raises FileChanged."""

        def compose(snapshot: FileSnapshot | None) -> bytes:
            if (snapshot and snapshot.stamp) != expected:
                raise FileChanged(path="/".join(parts))
            return data

        replacement = self.change(parts, compose)
        assert replacement is not None  # `compose` never declines
        return replacement

    def remove(self, parts: Parts, *, expected: Stamp, most: int = LARGEST, durable: bool = True) -> None:
        """Remove the file, if it is still as `expected`. One that is gone already stays gone. Raises FileChanged."""
        with self._within(parts[:-1], parts) as folder, locked(folder, parts[-1], self._patience):
            present = _read_if_there(folder, parts[-1], most)
            if present is None:
                return
            if present.stamp != expected:
                raise FileChanged(path="/".join(parts))
            os.unlink(parts[-1], dir_fd=folder)
            if durable:
                os.fsync(folder)

    def listing(self, parts: Parts = ()) -> list[DirectoryEntry]:
        """Plain files and folders of one folder that are not hidden, by name; links and devices are left out."""
        with self._within(parts, parts) as folder:
            visible = [entry for entry in _entries(folder) if not entry.name.startswith(".")]
            listing = [
                DirectoryEntry(e.name, S_ISDIR(stat.st_mode), stat.st_size) for e in visible if (stat := _plain(e))
            ]
        return sorted(listing, key=lambda entry: entry.name)

    def walk(self, suffix: str = ".md", *, below: Parts = (), skip: Container[str] = ()) -> list[FileInfo]:
        """
        All plain files with this ending that are not hidden, at most 10,000, by path. Empty if there is no folder. Only those
        `below` a folder, if it is named, and none in a folder of a name to `skip`.
        """
        files: list[FileInfo] = []
        with suppress(PathNotFound), self._within(below, below) as folder:
            _walk(folder, below, _WalkChoice(suffix, skip, len(below) + _DEEPEST_WALK), files)
        return sorted(files, key=lambda file: file.parts)

    def sweep(self) -> None:
        """Remove every draft and every lock that a killed process left here or below, hidden folders included."""
        with suppress(PathNotFound), self._within((), ()) as folder:
            _sweep(folder, 0, self._patience)

    @contextmanager
    def gate(self, name: str, *, shared: bool) -> Generator[int]:
        """Hold the gate `name` of this folder, which is made if it is missing. Raises MemoryWriteTimeout."""
        with (
            self._within((), (name,), create=True) as folder,
            gated(folder, name, shared=shared, patience=self._patience) as gate,
        ):
            yield gate

    def exists(self) -> bool:
        try:
            with self._within((), ()):
                return True
        except PathNotFound:
            return False

    def make(self) -> None:
        """Make the folder if it is missing."""
        with self._within((), (), create=True):
            pass

    @contextmanager
    def _within(self, parts: Parts, whole: Parts, *, create: bool = False) -> Generator[int]:
        """The folder at `parts`, open."""
        for name in whole:
            if name in ("", ".", "..") or "/" in name or "\0" in name:
                raise PathEscape(path="/".join(whole))
        if os.open not in os.supports_dir_fd:
            raise ManagedMemoryUnavailable
        with _own_errors("/".join(whole)):
            if create:
                self._anchor.mkdir(mode=0o700, parents=True, exist_ok=True)
            opened = os.open(self._anchor.resolve(), os.O_RDONLY | _FOLDER)
            try:
                for name in (*self._inside, *parts):
                    below = _step(opened, name, create)
                    os.close(opened)
                    opened = below
                yield opened
            finally:
                os.close(opened)


def _step(folder: int, name: str, create: bool) -> int:
    try:
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    # Hidden folders are ours: no caller from outside gets this far with one.
    if not name.startswith("."):
        _refuse_new_name(folder, name)
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)
        os.fsync(folder)
    return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)


def read_from(folder: int | None, name: str, most: int) -> FileSnapshot:
    """
    The plain file `name` in the open folder; without a folder `name` is a whole path.

    Raises:
        PathEscape: it is no plain file, or has a second name.
        MemoryFileTooLarge: it has more than `most` bytes.
        FileChanged: the name was given to another file at every attempt.
        OSError: as the system has it; ELOOP for a link.
    """
    for _ in range(_READ_ATTEMPTS):
        snapshot = _read_once(folder, name, most)
        if snapshot is not None:
            return snapshot
    raise FileChanged


def _read_once(folder: int | None, name: str, most: int) -> FileSnapshot | None:
    """None if the name was given to another file while this one was read."""
    opened = os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)
    with os.fdopen(opened, "rb") as file:
        stat = os.fstat(opened)
        _refuse_special(stat, name)
        if stat.st_size > most:
            raise MemoryFileTooLarge(bytes=stat.st_size, limit=most)
        data = file.read(most + 1)
        current = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not os.path.samestat(stat, current):
        return None
    # A second name may have gone just before the first look.
    _refuse_special(current, name)
    if len(data) > most:
        raise MemoryFileTooLarge(bytes=len(data), limit=most)
    stamp = Stamp(stat.st_mtime_ns, len(data), hashlib.sha256(data).hexdigest())
    return FileSnapshot(data, stamp, S_IMODE(stat.st_mode))


def _read_if_there(folder: int, name: str, most: int) -> FileSnapshot | None:
    try:
        return read_from(folder, name, most)
    except FileNotFoundError:
        return None


def _stamp_now(folder: int, name: str) -> Stamp | None:
    try:
        return read_from(folder, name, LARGEST_EVER).stamp
    except FileNotFoundError:
        return None


def _sweep(folder: int, depth: int, patience: float) -> None:
    for entry in _entries(folder):
        if (stat := _plain(entry)) is None:
            continue
        if S_ISDIR(stat.st_mode):
            if depth < _DEEPEST_WALK:
                _sweep_below(folder, entry.name, depth, patience)
        elif entry.name.startswith(".") and entry.name.endswith((_DRAFT, _LOCK)):
            # Whoever lets go of a lock removes it.
            name = entry.name[1 : -len(_DRAFT if entry.name.endswith(_DRAFT) else _LOCK)]
            with locked(folder, name, patience), suppress(FileNotFoundError):
                os.unlink(f".{name}{_DRAFT}", dir_fd=folder)


def _sweep_below(folder: int, name: str, depth: int, patience: float) -> None:
    try:
        opened = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        _sweep(opened, depth + 1, patience)
    finally:
        os.close(opened)


def _refuse_special(stat: os.stat_result, name: str) -> None:
    if not S_ISREG(stat.st_mode):
        raise PathEscape(f"{name[:80]!a} is no plain file.")
    if stat.st_nlink > 1:
        raise PathEscape(f"{name[:80]!a} has a second name (a hard link), which may be elsewhere. Copy it instead.")


def _refuse_new_name(folder: int, name: str) -> None:
    if reason := fault(name):
        raise PathEscape(f"A file or a folder cannot be called {name[:80]!a}: {reason}.")
    folded = fold(name)
    for entry in _entries(folder):
        if entry.name != name and fold(entry.name) == folded:
            raise PathEscape(f"{name[:80]!a} differs only in case or form from {entry.name[:80]!a}.")


def _replace(
    folder: int, name: str, snapshot: FileSnapshot | None, data: bytes, mode: int, durable: bool
) -> FileSnapshot:
    # Always the same name, which the lock guards: what a killed process left there is in nobody's way.
    draft = f".{name}{_DRAFT}"
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=folder)
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, mode, dir_fd=folder)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(opened, mode)
            if durable:
                os.fsync(opened)
            stat = os.fstat(opened)
        now = _stamp_now(folder, name)
        if now != (snapshot and snapshot.stamp):
            raise FileChanged
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
    return FileSnapshot(data, Stamp(stat.st_mtime_ns, len(data), hashlib.sha256(data).hexdigest()), mode)


def _entries(folder: int) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as listed:
        return [entry for entry, _ in zip(listed, range(MOST_LISTED), strict=False)]


def _plain(entry: os.DirEntry[str]) -> os.stat_result | None:
    """The status of a plain file or a folder; None for anything else, and for what has just gone."""
    try:
        stat = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat if S_ISREG(stat.st_mode) or S_ISDIR(stat.st_mode) else None


class _WalkChoice(NamedTuple):
    suffix: str
    skip: Container[str]
    deepest: int


def _walk(folder: int, above: Parts, choice: _WalkChoice, files: list[FileInfo]) -> None:
    below: list[str] = []
    for entry in _entries(folder):
        if entry.name.startswith(".") or (stat := _plain(entry)) is None:
            continue
        if S_ISDIR(stat.st_mode):
            if entry.name not in choice.skip:
                below.append(entry.name)
        elif entry.name.lower().endswith(choice.suffix) and len(files) < MOST_LISTED:
            mark = (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
            files.append(FileInfo(parts=(*above, entry.name), size=stat.st_size, mtime=stat.st_mtime_ns, mark=mark))
    for name in below if len(above) < choice.deepest else ():
        try:
            opened = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            # It has gone, or become a link, since it was listed: nothing of ours is in it.
            continue
        try:
            _walk(opened, (*above, name), choice, files)
        finally:
            os.close(opened)


@contextmanager
def _own_errors(path: str) -> Generator[None]:
    """Raise errors of ours in place of the system's."""
    try:
        yield
    except FileNotFoundError as error:
        raise PathNotFound(path=path) from error
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise PathEscape(path=path) from error
    except OSError as error:
        # ENXIO: a socket, or a pipe that nobody writes to.
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise PathEscape(path=path) from error
        raise FileError(path=path, reason=error.strerror) from error
