"""
Files inside one folder, and no way out of it.

A path is walked a name at a time, each step from the open folder before it (`openat`) and none through a link, so that there
is no moment between looking at a path and using it: what was opened is what was looked at. A file is used only if it is a
plain file with no second name elsewhere. Nothing is written in place: a new file is made whole beside the old one and takes
its name in one step, under a lock that all our processes share, and only if the old one is still what it was when it
was read. Where somebody changed it in between, theirs stays.

A person's editor does not know our lock. Between the last look and the step that gives the new file its name lie a few
microseconds in which a save could be lost, which no portable call can close.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Final

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
    """What a file was when it was read: enough to see that it is another now."""

    mtime: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Held:
    """A file as it was read. `mtime` of the stamp is in nanoseconds."""

    data: bytes
    stamp: Stamp
    mode: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A file below the folder, as its folder tells of it; `mark` differs after every change of the file."""

    parts: Parts
    size: int
    mtime: int
    mark: tuple[int, ...]

    @property
    def path(self) -> str:
        return "/".join(self.parts)


@dataclass(frozen=True, slots=True)
class Listed:
    name: str
    is_folder: bool
    size: int


Compose = Callable[[Held | None], bytes | None]
"""From a file as it is (None: there is none) to what it shall be (None: as it is)."""


class Folder:
    """
    The folder `inside` the trusted folder `anchor`. The anchor is taken by its real path; what is inside it is walked.
    Every method may raise PathEscape, FileError or ManagedMemoryUnavailable.
    """

    def __init__(self, anchor: Path, inside: Parts = (), *, mode: int = 0o600, patience: float = PATIENCE) -> None:
        """`mode` is that of files we make; one that is there keeps its own. `patience` is how long a lock is waited for."""
        self._anchor = anchor
        self._inside = inside
        self._mode = mode
        self._patience = patience

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folder) and (self._anchor, self._inside) == (other._anchor, other._inside)

    def __hash__(self) -> int:
        return hash((self._anchor, self._inside))

    def read(self, parts: Parts, most: int = LARGEST) -> Held:
        """
        The file at `parts`.

        Raises:
            PathNotFound: there is none.
            MemoryFileTooLarge: it has more than `most` bytes.
        """
        with self._within(parts[:-1], parts) as folder:
            return read_from(folder, parts[-1], most)

    def change(self, parts: Parts, compose: Compose, most: int = LARGEST, *, durable: bool = True) -> Held | None:
        """
        Give the file at `parts` the content that `compose` makes of the present one, under the file's lock. Answers the
        file as it is then, None where there is none. What can be made again need not be `durable`: it is whole after a
        killed process, and may be the one before after a loss of power.

        Raises:
            FileChanged: somebody changed it while `compose` was at work. It is as they left it.
            MemoryWriteTimeout: somebody else holds the lock.
        """
        with self._within(parts[:-1], parts, create=True) as folder, locked(folder, parts[-1], self._patience):
            held = _read_if_there(folder, parts[-1], most)
            data = compose(held)
            if data is None or (held is not None and data == held.data):
                return held
            if held is None:
                _refuse_new_name(folder, parts[-1])
            written = _replace(folder, parts[-1], held, data, held.mode if held else self._mode, durable)
            if durable:
                os.fsync(folder)
            return written

    def write(self, parts: Parts, data: bytes, *, expected: Stamp | None) -> Held:
        """The file as `expected` (None: there must be none) becomes `data`. Raises FileChanged."""

        def compose(held: Held | None) -> bytes:
            if (held and held.stamp) != expected:
                raise FileChanged(path="/".join(parts))
            return data

        written = self.change(parts, compose)
        assert written is not None  # `compose` never declines
        return written

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

    def listing(self, parts: Parts = ()) -> list[Listed]:
        """Plain files and folders of one folder that are not hidden, by name; links and devices are left out."""
        with self._within(parts, parts) as folder:
            entries = [entry for entry in _entries(folder) if not entry.name.startswith(".")]
            found = [Listed(e.name, S_ISDIR(told.st_mode), told.st_size) for e in entries if (told := _plain(e))]
        return sorted(found, key=lambda one: one.name)

    def walk(self, suffix: str = ".md") -> list[Found]:
        """All plain files with this ending that are not hidden, at most 10,000, by path. None where there is no folder."""
        found: list[Found] = []
        with suppress(PathNotFound), self._within((), ()) as folder:
            _walk(folder, (), suffix, found)
        return sorted(found, key=lambda one: one.parts)

    def sweep(self) -> None:
        """Remove every draft and every lock that a killed process left here or below, hidden folders included."""
        with suppress(PathNotFound), self._within((), ()) as folder:
            _sweep(folder, 0, self._patience)

    @contextmanager
    def gate(self, name: str, *, shared: bool) -> Generator[int]:
        """Hold the gate `name` of this folder, which is made where it is missing. Raises MemoryWriteTimeout."""
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
        """Make the folder, where it is missing."""
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
        with _told("/".join(whole)):
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


def read_from(folder: int | None, name: str, most: int) -> Held:
    """
    The plain file `name` in the open folder; without a folder `name` is a whole path.

    Raises:
        PathEscape: it is no plain file, or has a second name.
        MemoryFileTooLarge: it has more than `most` bytes.
        FileChanged: the name was given to another file at every attempt.
        OSError: as the system has it; ELOOP for a link.
    """
    for _ in range(_READ_ATTEMPTS):
        held = _read_once(folder, name, most)
        if held is not None:
            return held
    raise FileChanged


def _read_once(folder: int | None, name: str, most: int) -> Held | None:
    """None where the name was given to another file while this one was read."""
    opened = os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)
    with os.fdopen(opened, "rb") as file:
        told = os.fstat(opened)
        _refuse_special(told, name)
        if told.st_size > most:
            raise MemoryFileTooLarge(bytes=told.st_size, limit=most)
        data = file.read(most + 1)
        named = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not os.path.samestat(told, named):
        return None
    # A second name may have gone just before the first look.
    _refuse_special(named, name)
    if len(data) > most:
        raise MemoryFileTooLarge(bytes=len(data), limit=most)
    stamp = Stamp(told.st_mtime_ns, len(data), hashlib.sha256(data).hexdigest())
    return Held(data, stamp, S_IMODE(told.st_mode))


def _read_if_there(folder: int, name: str, most: int) -> Held | None:
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


def _refuse_special(told: os.stat_result, name: str) -> None:
    if not S_ISREG(told.st_mode):
        raise PathEscape(f"{name[:80]!a} is no plain file.")
    if told.st_nlink > 1:
        raise PathEscape(f"{name[:80]!a} has a second name (a hard link), which may be elsewhere. Copy it instead.")


def _refuse_new_name(folder: int, name: str) -> None:
    if reason := fault(name):
        raise PathEscape(f"A file or a folder cannot be called {name[:80]!a}: {reason}.")
    folded = fold(name)
    for entry in _entries(folder):
        if entry.name != name and fold(entry.name) == folded:
            raise PathEscape(f"{name[:80]!a} differs only in case or form from {entry.name[:80]!a}.")


def _replace(folder: int, name: str, held: Held | None, data: bytes, mode: int, durable: bool) -> Held:
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
            told = os.fstat(opened)
        now = _stamp_now(folder, name)
        if now != (held and held.stamp):
            raise FileChanged
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
    return Held(data, Stamp(told.st_mtime_ns, len(data), hashlib.sha256(data).hexdigest()), mode)


def _entries(folder: int) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as listed:
        return [entry for entry, _ in zip(listed, range(MOST_LISTED), strict=False)]


def _plain(entry: os.DirEntry[str]) -> os.stat_result | None:
    """What a plain file or a folder says of itself; None for anything else, and for what has just gone."""
    try:
        told = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return told if S_ISREG(told.st_mode) or S_ISDIR(told.st_mode) else None


def _walk(folder: int, above: Parts, suffix: str, found: list[Found]) -> None:
    below: list[str] = []
    for entry in _entries(folder):
        if entry.name.startswith(".") or (told := _plain(entry)) is None:
            continue
        if S_ISDIR(told.st_mode):
            below.append(entry.name)
        elif entry.name.lower().endswith(suffix) and len(found) < MOST_LISTED:
            mark = (told.st_ino, told.st_mtime_ns, told.st_ctime_ns, told.st_size)
            found.append(Found(parts=(*above, entry.name), size=told.st_size, mtime=told.st_mtime_ns, mark=mark))
    for name in below if len(above) < _DEEPEST_WALK else ():
        try:
            opened = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            # It has gone, or become a link, since it was listed: nothing of ours is in it.
            continue
        try:
            _walk(opened, (*above, name), suffix, found)
        finally:
            os.close(opened)


@contextmanager
def _told(path: str) -> Generator[None]:
    """What the system refuses, in our words."""
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
