"""
Which files of a folder are worth importing.

Markdown and plain text of at most 2 MiB; not what is hidden, built, or ignored by a `.gitignore` at any level of the
folder; and nothing that lies, by its real path, outside it. A link inside the folder leads to a file that is found
anyway, so links are never followed; those that lead out of it are told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from commonplace.errors import InvalidInput, PathNotFound
from commonplace.values.moving import Layout

EXTENSIONS: Final = frozenset({".md", ".markdown", ".mdx", ".txt"})
SKIPPED: Final = frozenset({"node_modules", "dist", "build", "target", ".git", ".next", ".turbo", ".cache"})
OUTSIDE: Final = "a link that leads out of the folder"
_DAY: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """
    A file, its path below the root in forward slashes, and what the folder says about it. One that came with a request
    brings its `content`, and lies nowhere.
    """

    path: Path
    name: str
    size: int
    mtime: int
    at: datetime | None = None
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """
    `root` is what names are relative to, `whole` whether all of it was looked through; `files` are in the order of their
    names; `problems` could not be read, and what is in `left_out` was not to be: each with its reason.
    """

    root: Path
    whole: bool
    files: tuple[Found, ...]
    problems: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...] = ()


def survey(path: Path, layout: Layout) -> Folder:
    """
    Look through a folder, or at a single file.

    Raises:
        PathNotFound: there is nothing at `path`, or it cannot be read.
        InvalidInput: it is neither a folder nor a file that can be imported.
    """
    try:
        real = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise PathNotFound(f"There is no file or folder {path}.", path=str(path)) from error
    problems: list[tuple[str, str]] = []
    left_out: list[tuple[str, str]] = []
    if real.is_file():
        if real.suffix.lower() not in EXTENSIONS:
            raise InvalidInput(f"{path} is not one of {', '.join(sorted(EXTENSIONS))}.", path=str(path))
        files = _found([real], real.parent, problems)
        return Folder(root=real.parent, whole=False, files=tuple(files), problems=tuple(problems))
    if layout == "openclaw":
        real = _openclaw_root(real)
        days = _walk(real / "memory", real, problems, left_out) if _is_folder(real / "memory") else ()
        left_out += [*_link(real / "MEMORY.md", real), *_link(real / "memory", real)]
        entries = [*_named(real, "MEMORY.md"), *days]
    else:
        entries = _walk(real, real, problems, left_out)
    files = [dated(found) if layout == "openclaw" else found for found in _found(entries, real, problems)]
    files.sort(key=lambda found: found.name)
    told = tuple(sorted(left_out))
    return Folder(root=real, whole=True, files=tuple(files), problems=tuple(problems), left_out=told)


def _openclaw_root(path: Path) -> Path:
    """Where the notes are: the workspace itself, or the folder around it."""
    for root in (path, path / "workspace"):
        if _is_folder(root) and (any(_named(root, "MEMORY.md")) or _is_folder(root / "memory")):
            return root
    return path


def _is_folder(path: Path) -> bool:
    """A link may lead out of what was to be imported: it is not followed."""
    return path.is_dir() and not path.is_symlink()


def _named(folder: Path, name: str) -> Iterator[Path]:
    path = folder / name
    if path.is_file() and not path.is_symlink():
        yield path


def dated(found: Found) -> Found:
    """A daily note tells of the day in its name."""
    day = _DAY.match(found.path.name)
    if day is None:
        return found
    try:
        at = datetime(*(int(part) for part in day.groups()), tzinfo=UTC)  # pyright: ignore[reportArgumentType]
    except ValueError:
        return found
    return replace(found, at=at)


def _found(paths: Iterator[Path] | Sequence[Path], root: Path, problems: list[tuple[str, str]]) -> Iterator[Found]:
    for path in paths:
        try:
            told = path.stat()
        except OSError as error:
            problems.append((readable(path.relative_to(root)), error.strerror or "cannot be read"))
            continue
        name = path.relative_to(root).as_posix()
        yield Found(path=path, name=name, size=told.st_size, mtime=told.st_mtime_ns // 1_000_000)


Ignores = tuple[tuple[Path, GitIgnoreSpec], ...]


def _walk(folder: Path, root: Path, problems: list[tuple[str, str]], left_out: list[tuple[str, str]]) -> Iterator[Path]:
    todo: list[tuple[Path, Ignores]] = [(folder, ())]
    while todo:
        here, ignores = todo.pop()
        try:
            with os.scandir(here) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append((readable(here.relative_to(root)), error.strerror or "cannot be read"))
            continue
        ignores = _with_own(here, ignores)
        for entry in entries:
            path = here / entry.name
            if entry.name.startswith(".") or entry.is_symlink():
                left_out += _link(path, root, ignores)
            elif entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED and not _ignored(path, ignores, is_folder=True):
                    todo.append((path, ignores))
            elif _wanted(entry, path) and not _ignored(path, ignores, is_folder=False):
                yield path


def _link(path: Path, root: Path, ignores: Ignores = ()) -> list[tuple[str, str]]:
    """What is told of a link to something outside that would be imported if it lay here; of all others nothing."""
    if path.name.startswith(".") or not path.is_symlink() or Path(os.path.realpath(path)).is_relative_to(root):
        return []
    try:
        is_folder = path.is_dir()
    except OSError:
        is_folder = False
    wanted = path.name not in SKIPPED if is_folder else path.suffix.lower() in EXTENSIONS
    if not wanted or _ignored(path, ignores, is_folder=is_folder):
        return []
    return [(readable(path.relative_to(root)), OUTSIDE)]


def _wanted(entry: os.DirEntry[str], path: Path) -> bool:
    return path.suffix.lower() in EXTENSIONS and entry.is_file(follow_symlinks=False)


def _with_own(folder: Path, ignores: Ignores) -> Ignores:
    own = folder / ".gitignore"
    try:
        if own.is_symlink() or not own.is_file():
            return ignores
        lines = own.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ignores
    return (*ignores, (folder, GitIgnoreSpec.from_lines(lines)))


def _ignored(path: Path, ignores: Ignores, *, is_folder: bool) -> bool:
    """The deepest `.gitignore` that says something about a path decides."""
    for folder, spec in reversed(ignores):
        name = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def readable(path: Path) -> str:
    """A path as text that can be kept, whatever bytes its name is made of."""
    return os.fsencode(path).decode("utf-8", "replace")
