"""
Which files of a folder are worth importing, and their contents.

Markdown and plain text of at most 2 MiB, and code and JSON if somebody asks for them; not what is hidden, built, or ignored by a
`.gitignore` at any level of the folder. Files of other kinds are counted. No link is followed, not even to see where it leads: one to a path inside the folder leads to a file that is found
anyway, and one to a path outside is reported. The folder stays open from the survey to the last file (`markdown/reader`), so that
whoever swaps a file, a folder or the root for a link in between gains nothing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, MemoryFileTooLarge, PathEscape, PathNotFound
from commonplace.markdown.confine import Parts
from commonplace.markdown.reader import FolderEntry, FolderReader, Identity, is_link, open_folder
from commonplace.values.record import MAX_TEXT_BYTES
from commonplace.values.transfer import FileKind, Layout

EXTENSIONS: Final = frozenset({".md", ".markdown", ".mdx", ".txt"})
OF_KIND: Final[Mapping[FileKind, frozenset[str]]] = {
    "code": frozenset(
        ".bash .c .cc .clj .cpp .cs .css .cxx .dart .erl .ex .exs .go .h .hpp .hs .java .jl .js .jsx .kt .kts .lua .mjs .cjs .ml .php .pl "
        ".ps1 .py .pyi .r .rb .rs .scala .scss .sh .sql .svelte .swift .ts .tsx .vue .zig .zsh".split()
    ),
    "json": frozenset({".json", ".jsonl", ".ndjson"}),
}
MACHINE_MADE: Final = re.compile(
    r"\.min\.(js|css)$|^(package-lock|npm-shrinkwrap|composer\.lock)\.json$", re.IGNORECASE
)
"""What nobody wrote and nobody reads."""
NO_SUFFIX: Final = "(none)"
SKIPPED: Final = frozenset({"node_modules", "dist", "build", "target", ".git", ".next", ".turbo", ".cache"})
OUTSIDE: Final = "a link that leads out of the folder"
SWAPPED: Final = "it became a link, or lies in a folder that did, while it was imported"
PRIVATE_FOLDER: Final = "a folder of Commonplace itself"
IGNORE_FILE: Final = ".gitignore"
LARGEST_IGNORE_FILE: Final = 128 * 1024
MAX_WILDCARDS: Final = 3
"""In one name of a rule, and `**` in the whole of it: the time to match grows with the length of a name to this power."""
DEEPEST: Final = 100
_STARS: Final = re.compile(r"\*++")
_DAY: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")

Reasons = list[tuple[str, str]]
"""Names and why they were not imported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFile:
    """
    A file by its path below the root in forward slashes, and what the folder says about it. One that came with a request
    has its `content` here, and is in no folder.
    """

    name: str
    size: int
    mtime: int
    at: datetime | None = None
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """
    What to import: `parts` below `anchor`, whose path is trusted; below it we follow no link, and enter no folder in `barred`.
    `own`: we read for the person whose process this is.
    """

    anchor: Path
    parts: Parts = ()
    barred: frozenset[Identity] = frozenset()
    own: bool = False

    @property
    def path(self) -> Path:
        return self.anchor.joinpath(*self.parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFolder:
    """
    `root` is what names are relative to, `whole` whether all of it was surveyed; `files` are in the order of their
    names; those in `problems` could not be read, those in `left_out` must not be imported, each with its reason. `reader`
    has the folder open; close it.
    """

    root: Path
    whole: bool
    files: tuple[SourceFile, ...]
    problems: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...] = ()
    skipped_kinds: tuple[tuple[str, int], ...] = ()
    """Files of kinds that are not imported, counted by suffix."""
    others: frozenset[str] = frozenset()
    """Their names. An earlier import may have asked for them, and they are not gone."""
    reader: FolderReader | None = None

    def content(self, file: SourceFile) -> tuple[bytes, int]:
        """
        The bytes of a file as it is now, and when it was last changed, in milliseconds. Raises OSError or CommonplaceError, which
        `reason_of` explains.
        """
        if file.content is not None:
            return file.content, file.mtime
        assert self.reader is not None  # a file without content is one of a folder
        current = self.reader.read(tuple(file.name.split("/")), MAX_TEXT_BYTES)
        return current.data, current.stamp.mtime // 1_000_000

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()


def extensions(kinds: Iterable[FileKind]) -> frozenset[str]:
    """The suffixes of the files to import. Raises InvalidInput if there is no such kind."""
    unknown = [kind for kind in kinds if kind not in OF_KIND]
    if unknown:
        raise InvalidInput(f"{unknown[0]!r:.40} is no kind of files. Use {' or '.join(OF_KIND)}.")
    return EXTENSIONS.union(*(OF_KIND[kind] for kind in kinds))


def is_importable(name: str, suffixes: frozenset[str]) -> bool:
    return Path(name).suffix.lower() in suffixes and not MACHINE_MADE.search(name)


def count_kinds(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """How many files there are of each suffix, the most frequent first."""
    return tuple(Counter(Path(name).suffix.lower()[:20] or NO_SUFFIX for name in names).most_common())


def survey(path: Path | Location, layout: Layout, kinds: Sequence[FileKind] = ()) -> SourceFolder:
    """
    Look through a folder, or at a single file. A path is one of the person whose process this is.

    Raises:
        PathNotFound: there is nothing at `path`, or it cannot be read.
        PathEscape: a link stands in the way.
        Forbidden: it is a folder that is not to be entered.
        InvalidInput: it is neither a folder nor a file that can be imported.
    """
    suffixes = extensions(kinds)
    location = path if isinstance(path, Location) else _own_location(path)
    reader, name = _opened(location)
    try:
        if name is not None:
            return _single(location.path, reader, name, suffixes)
        base = _openclaw_base(reader) if layout == "openclaw" else ()
        if base:
            outer, reader = reader, reader.below(base)
            outer.close()
        walk = _Walk(location.path.joinpath(*base), reader, suffixes)
        files = walk.openclaw() if layout == "openclaw" else walk.directory()
    except BaseException:
        reader.close()
        raise
    return SourceFolder(
        root=walk.root,
        whole=True,
        files=tuple(sorted(files, key=lambda file: file.name)),
        problems=tuple(walk.problems),
        left_out=tuple(sorted(walk.left_out)),
        skipped_kinds=count_kinds(walk.skipped),
        others=frozenset(walk.skipped),
        reader=reader,
    )


def reason_of(error: OSError | CommonplaceError, largest: int = MAX_TEXT_BYTES) -> str:
    """Why a file of at most `largest` bytes, or a folder, could not be read, for the report."""
    if isinstance(error, MemoryFileTooLarge):
        kib = largest // 1024
        return f"larger than {kib} KiB" if kib < 1024 else f"larger than {kib // 1024} MiB"
    if isinstance(error, CommonplaceError):
        return error.message
    return SWAPPED if is_link(error) else error.strerror or "cannot be read"


def dated(file: SourceFile) -> SourceFile:
    """A daily note is about the day in its name."""
    day = _DAY.match(file.name.rpartition("/")[2])
    if day is None:
        return file
    try:
        at = datetime(*(int(part) for part in day.groups()), tzinfo=UTC)  # pyright: ignore[reportArgumentType]
    except ValueError:
        return file
    return replace(file, at=at)


def readable(path: Path) -> str:
    """A path as text that can be kept, whatever bytes its name is made of."""
    return os.fsencode(path).decode("utf-8", "replace")


# ---- the root


def _own_location(path: Path) -> Location:
    try:
        real = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise PathNotFound(f"There is no file or folder {path}.", path=str(path)) from error
    if real.is_dir():
        return Location(anchor=real, own=True)
    return Location(anchor=real.parent, parts=(real.name,), own=True)


def _opened(location: Location) -> tuple[FolderReader, str | None]:
    """The folder to look through, or the folder around a single file and the file's name."""
    path, parts = location.path, location.parts
    try:
        try:
            return open_folder(location.anchor, parts, barred=location.barred, own=location.own), None
        except OSError as error:
            if not parts or not is_link(error):
                raise
        reader = open_folder(location.anchor, parts[:-1], barred=location.barred, own=location.own)
    except OSError as error:
        if is_link(error):
            raise PathEscape(f"A link stands in the way to {path}. Name the folder itself.", path=str(path)) from error
        raise PathNotFound(f"Cannot read {path}: {error.strerror}.", path=str(path)) from error
    entry = reader.entry(parts[-1:])
    if entry is not None and entry.kind == "file":
        return reader, entry.name
    reader.close()
    if entry is not None and entry.kind == "link":
        raise PathEscape(f"{path} is a link. Name the file itself.", path=str(path))
    raise InvalidInput(f"{path} is neither a folder nor a file.", path=str(path))


def _single(path: Path, reader: FolderReader, name: str, suffixes: frozenset[str]) -> SourceFolder:
    if path.suffix.lower() not in suffixes:
        more = "" if suffixes > EXTENSIONS else " Code and JSON are imported with --kind code, --kind json."
        raise InvalidInput(f"{path} is not one of {', '.join(sorted(EXTENSIONS))}.{more}", path=str(path))
    entry = reader.entry((name,))
    files = () if entry is None else (_source_file(entry, ()),)
    return SourceFolder(root=path.parent, whole=False, files=files, problems=(), reader=reader)


def _openclaw_base(reader: FolderReader) -> Parts:
    """Where the notes are: in the workspace itself, or in the folder around it."""
    for base in ((), ("workspace",)):
        notes, days = reader.entry((*base, "MEMORY.md")), reader.entry((*base, "memory"))
        if (notes and notes.kind == "file") or (days and days.kind == "folder"):
            return base
    return ()


# ---- the walk


Ignores = tuple[tuple[Parts, GitIgnoreSpec], ...]


@dataclass(slots=True)
class _Walk:
    root: Path
    reader: FolderReader
    suffixes: frozenset[str] = EXTENSIONS
    problems: Reasons = field(default_factory=Reasons)
    left_out: Reasons = field(default_factory=Reasons)
    skipped: list[str] = field(default_factory=list[str])
    """Names of files of other kinds."""

    def directory(self) -> list[SourceFile]:
        return list(self._below(()))

    def openclaw(self) -> list[SourceFile]:
        notes, days = self.reader.entry(("MEMORY.md",)), self.reader.entry(("memory",))
        files: list[SourceFile] = []
        if notes is not None and notes.kind == "file":
            files.append(_source_file(notes, ()))
        if days is not None and days.kind == "folder":
            files += self._below(("memory",))
        for entry in (notes, days):
            if entry is not None:
                self._report_link(entry, (), ())
        return [dated(file) for file in files]

    def _below(self, start: Parts) -> Iterator[SourceFile]:
        todo: list[tuple[Parts, Ignores]] = [(start, ())]
        while todo:
            here, outer = todo.pop()
            entries = self._entries(here)
            ignores = self._with_own(here, entries, outer)
            if ignores is None:
                continue
            for entry in entries:
                path = (*here, entry.name)
                if entry.name.startswith("."):
                    continue
                if entry.kind == "link":
                    self._report_link(entry, here, ignores)
                elif entry.kind == "folder":
                    if entry.name not in SKIPPED and not _ignored(path, ignores, is_folder=True):
                        todo.append((path, ignores))
                elif entry.kind == "file" and not _ignored(path, ignores, is_folder=False):
                    if is_importable(entry.name, self.suffixes):
                        yield _source_file(entry, here)
                    else:
                        self.skipped.append("/".join(path))

    def _entries(self, here: Parts) -> list[FolderEntry]:
        if len(here) > DEEPEST:
            self.problems.append((_text(here), f"nested more than {DEEPEST} folders deep"))
            return []
        try:
            return sorted(self.reader.entries(here), key=lambda entry: entry.name)
        except Forbidden:
            self.left_out.append((_text(here), PRIVATE_FOLDER))
        except OSError as error:
            if not here:
                raise PathNotFound(f"Cannot read {self.root}: {error.strerror}.", path=str(self.root)) from error
            if not isinstance(error, FileNotFoundError):
                self.problems.append((_text(here), reason_of(error)))
        return []

    def _with_own(self, here: Parts, entries: list[FolderEntry], ignores: Ignores) -> Ignores | None:
        """With the rules of the folder itself; None if they cannot be read, and so nobody knows what to leave out."""
        # One that is a link has no effect, as in git.
        if not any(entry.name == IGNORE_FILE and entry.kind == "file" for entry in entries):
            return ignores
        try:
            data = self.reader.read((*here, IGNORE_FILE), LARGEST_IGNORE_FILE).data
        except FileNotFoundError:
            return ignores
        except (OSError, CommonplaceError) as error:
            self.problems.append(
                (_text(here), f"its {IGNORE_FILE} cannot be read: {reason_of(error, LARGEST_IGNORE_FILE)}")
            )
            return None
        lines = data.decode("utf-8", "replace").splitlines()
        costly = next(filter(_is_costly, lines), None)
        if costly is not None:
            reason = f"its {IGNORE_FILE} has a rule with more than {MAX_WILDCARDS} wildcards: {costly[:80]}"
            self.problems.append((_text(here), reason))
            return None
        return (*ignores, (here, GitIgnoreSpec.from_lines(lines)))

    def _report_link(self, entry: FolderEntry, here: Parts, ignores: Ignores) -> None:
        """Report a link to something outside that could be imported if it were here; no other link."""
        if entry.kind != "link" or entry.name in SKIPPED:
            return
        path, suffix = (*here, entry.name), Path(entry.name).suffix
        # We do not look at the target of the link: without an extension it may be a folder.
        may_be_folder = not suffix[1:2].isalpha()
        if suffix.lower() not in self.suffixes and not may_be_folder:
            return
        target = os.path.normpath(self.root.joinpath(*here, entry.target))
        if Path(target).is_relative_to(self.root):
            return
        if not any(_ignored(path, ignores, is_folder=is_folder) for is_folder in {False, may_be_folder}):
            self.left_out.append((_text(path), OUTSIDE))


def _is_costly(rule: str) -> bool:
    """Whether there are names that take seconds or years to match against the rule."""
    names = [] if rule.startswith("#") else rule.split("/")
    if sum(name == "**" for name in names) > MAX_WILDCARDS:
        return True
    return any(len(_STARS.findall(name)) > MAX_WILDCARDS for name in names)


def _source_file(entry: FolderEntry, here: Parts) -> SourceFile:
    return SourceFile(name="/".join((*here, entry.name)), size=entry.size, mtime=entry.mtime // 1_000_000)


def _ignored(path: Parts, ignores: Ignores, *, is_folder: bool) -> bool:
    """The deepest `.gitignore` that says something about a path decides."""
    for folder, spec in reversed(ignores):
        name = "/".join(path[len(folder) :]) + ("/" if is_folder else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def _text(path: Parts) -> str:
    return readable(Path(*path))
