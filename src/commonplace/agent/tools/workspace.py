"""
The folder that an agent's tools work in, and no way out of it: every access is by `markdown/confine`, which walks from open folders
and through no link. Here a model's words for a path become the names along it, and errors speak of the workspace.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

from commonplace.errors import (
    FileChanged,
    FileError,
    InvalidInput,
    MemoryFileTooLarge,
    PathEscape,
    PathNotFound,
)
from commonplace.markdown.confine import Compose, DirectoryEntry, FileInfo, FileSnapshot, Folder, Parts

LARGEST_FILE: Final = 8 * 1024 * 1024
LONGEST_PATH: Final = 1024
DEEPEST: Final = 32
SKIP: Final = frozenset({"node_modules", "__pycache__", "dist", "build", "target", "venv", "site-packages"})
"""Folders of what others made: they are not searched unless they are named."""
_CLOSED: Final = ".commonplace"
_OURS: Final = frozenset({".git", ".hg", ".svn"})
_FILE_MODE: Final = 0o644
_PATIENCE: Final = 2.0

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> T:
    """Disks can be slow, and the loop is everybody's."""
    return await asyncio.to_thread(function, *args, **options)


class TextFiles(Protocol):
    """Single files of a workspace: those on the disk (`Workspace`), or as an editor has them open. The errors are a `Workspace`'s; the calls may block."""

    def read(self, path: str) -> FileSnapshot: ...

    def change(self, path: str, compose: Compose) -> FileSnapshot | None:
        """Give the file the content that `compose` makes of the present one (None: there is none)."""
        ...


class Workspace(TextFiles):
    """
    The folder `root`. `closed` are folders whose files no tool reads or writes even inside it, such as the home folder of Commonplace.
    Each method may raise PathEscape, PathNotFound, FileError or FileChanged, worded for a model.
    """

    def __init__(self, root: Path, *, closed: Sequence[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self._folder = Folder(self.root, mode=_FILE_MODE, patience=_PATIENCE)
        self._closed = tuple(path.relative_to(self.root).parts for path in map(_real, closed) if self._holds(path))

    def parts_of(self, path: str) -> Parts:
        """
        The names along a path from the root; none for the root itself. A whole path will do if it leads into the workspace.

        Raises:
            PathEscape: it leads out, or its names mean something else than they show.
        """
        name = ascii(path[:80])
        if len(path) > LONGEST_PATH or not path.isprintable() or "\\" in path:
            raise PathEscape(f"{name} is no path here: it is too long, or has characters that do not belong in one.")
        if path.startswith("/"):
            whole = Path(os.path.normpath(path))
            if not whole.is_relative_to(self.root):
                raise PathEscape(f"{name} is outside the workspace. Name a path in it.")
            path = whole.relative_to(self.root).as_posix()
        parts = tuple(part for part in path.split("/") if part not in ("", "."))
        if ".." in parts or path.startswith("~") or len(parts) > DEEPEST:
            raise PathEscape(f"{name} leads out of the workspace, or is too deep. Name a path from its root.")
        self._refuse_closed(parts, name)
        return parts

    def read(self, path: str) -> FileSnapshot:
        parts = self._file(path)
        with self._open(path):
            return self._folder.read(parts, LARGEST_FILE)

    def listing(self, path: str) -> list[DirectoryEntry]:
        parts = self.parts_of(path)
        with self._open(path):
            return self._folder.listing(parts)

    def walk(self, path: str = ".") -> list[FileInfo]:
        """The files below, without hidden ones and without what `SKIP` names. Raises PathNotFound."""
        parts = self.parts_of(path)
        with self._open(path):
            self._folder.listing(parts)
            files = self._folder.walk("", below=parts, skip=SKIP)
        return [file for file in files if not any(file.parts[: len(c)] == c for c in self._closed)]

    def change(self, path: str, compose: Compose) -> FileSnapshot | None:
        """Give the file the content that `compose` makes of the present one, in one step, while nobody else does."""
        parts = self.changeable(path)
        with self._open(path):
            return self._folder.change(parts, compose, LARGEST_FILE)

    def changeable(self, path: str) -> Parts:
        """The names along the path of a file that a tool may change. Raises PathEscape, InvalidInput."""
        parts = self._file(path)
        if _OURS.intersection(part.casefold() for part in parts):
            raise PathEscape(f"{path[:80]!a} belongs to the version control. Use its own command.")
        return parts

    def is_hidden(self, path: str) -> bool:
        """Whether a part of it is hidden: such files steer programs, so that one is asked about each of them."""
        return any(part.startswith(".") for part in self.parts_of(path))

    @contextmanager
    def _open(self, path: str) -> Generator[None]:
        # A write would make a folder that is missing, and a link in its place would be followed.
        if os.path.realpath(self.root) != str(self.root) or not self.root.is_dir():
            raise PathNotFound("The workspace is gone. Nothing can be read or written.")
        with _worded(path):
            yield

    def _file(self, path: str) -> Parts:
        if not (parts := self.parts_of(path)):
            raise InvalidInput("This is the workspace itself. Name a file in it.")
        return parts

    def _holds(self, path: Path) -> bool:
        return path.is_relative_to(self.root) and path != self.root

    def _refuse_closed(self, parts: Parts, name: str) -> None:
        ours = any(part.casefold() == _CLOSED for part in parts)
        if ours or any(parts[: len(c)] == c for c in self._closed):
            raise PathEscape(f"{name} belongs to Commonplace itself. Use its tools of memory.")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@contextmanager
def _worded(path: str) -> Generator[None]:
    """The errors of `confine`, which speak of files of memory, for a model that works in a workspace."""
    name = ascii(path[:80])
    try:
        yield
    except PathNotFound as error:
        raise PathNotFound(f"There is no {name} in the workspace.", path=path[:80]) from error
    except MemoryFileTooLarge as error:
        raise MemoryFileTooLarge(f"{name} is larger than {LARGEST_FILE >> 20} MiB.") from error
    except FileChanged as error:
        raise FileChanged(f"Somebody changed {name} at the same time. It is as they left it; read it again.") from error
    except PathEscape as error:
        reason = "it is a link, or leads through one" if "path" in error.details else error.message
        raise PathEscape(f"{name} is not used: {reason}") from error
    except FileError as error:
        raise FileError(f"{name} could not be used: {error.details.get('reason') or error.message}.") from error
