"""
Files that come with a request, as a folder that can be imported.

Nothing is written to a disk: a path is only a name here, and still one that could mean something else is refused. What we would
leave out of a folder of the server we leave out of these, too, but report it: somebody chose them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from commonplace.errors import InvalidInput
from commonplace.importing.folders import (
    SKIPPED,
    Layout,
    SourceFile,
    SourceFolder,
    count_kinds,
    dated,
    extensions,
    is_importable,
)
from commonplace.text.scrub import scrub
from commonplace.values.record import MAX_TEXT_BYTES
from commonplace.values.transfer import FileKind, SentFile

ROOT: Final = Path("sent with a request")
"""Stands for the folder in the records' keys: a real one begins with a slash."""

MOST_FILES: Final = 1_000
LONGEST_PATH: Final = 1_024
OTHER_KIND: Final = "not Markdown, plain text, or a kind that was asked for"
_STRANGE: Final = "\ufffd"
Problems = list[tuple[str, str]]


def check_paths(files: Sequence[SentFile]) -> None:
    """
    Raises:
        InvalidInput: no file, too many, or a path that is not a plain relative one or is there twice.
    """
    if not 1 <= len(files) <= MOST_FILES:
        raise InvalidInput(f"Send 1 to {MOST_FILES:,} files at a time.")
    paths: set[str] = set()
    for file in files:
        path = file.path
        if not _is_plain(path):
            raise InvalidInput(
                f"{path[:80]!a} is no plain path. Send it relative, with forward slashes and without `..`."
            )
        if path in paths:
            raise InvalidInput(f"{path[:80]!a} was sent twice.")
        paths.add(path)


def _is_plain(path: str) -> bool:
    parts = path.split("/")
    odd = any(part in ("", ".", "..") or part != part.strip() for part in parts)
    return not odd and path.isprintable() and "\\" not in path and ":" not in parts[0] and _size(path) <= LONGEST_PATH


def sifted(
    files: Sequence[SentFile], layout: Layout, kinds: Sequence[FileKind] = ()
) -> tuple[list[SentFile], Problems]:
    """The files that can be imported, without secrets, and why the others cannot."""
    suffixes = extensions(kinds)
    importable: list[SentFile] = []
    problems: Problems = []
    home = _openclaw_home(files) if layout == "openclaw" else None
    for file in files:
        reason = _left_out(file, layout, home, suffixes) or _unreadable(file.text)
        if reason is not None:
            problems.append((file.path, reason))
            continue
        scrubbed = scrub(file.text)
        if scrubbed.report.status == "blocked":
            problems.append((file.path, "it holds a secret that must not rest in memory"))
        else:
            importable.append(SentFile(path=file.path, text=scrubbed.text))
    return importable, problems


def folder_of(files: Sequence[SentFile], problems: Problems, layout: Layout) -> SourceFolder:
    sources = [_source_file(file) for file in files]
    if layout == "openclaw":
        sources = [dated(source) for source in sources]
    sources.sort(key=lambda source: source.name)
    skipped = count_kinds(name for name, reason in problems if reason == OTHER_KIND)
    return SourceFolder(root=ROOT, whole=False, files=tuple(sources), problems=tuple(problems), skipped_kinds=skipped)


def _source_file(file: SentFile) -> SourceFile:
    content = file.text.encode("utf-8")
    return SourceFile(name=file.path, size=len(content), mtime=0, content=content)


def _left_out(file: SentFile, layout: Layout, home: tuple[str, ...] | None, suffixes: frozenset[str]) -> str | None:
    path = PurePosixPath(file.path)
    if any(part.startswith(".") or part in SKIPPED for part in path.parts):
        return "hidden, or in a folder that is left out"
    if not is_importable(path.name, suffixes):
        return OTHER_KIND
    if layout == "openclaw" and not _is_openclaw(path.parts, home):
        return "not part of an OpenClaw memory: MEMORY.md and what is in memory/"
    return None


def _is_openclaw(parts: tuple[str, ...], home: tuple[str, ...] | None) -> bool:
    if home is None or parts[: len(home)] != home:
        return False
    below = parts[len(home) :]
    return below == ("MEMORY.md",) or (len(below) > 1 and below[0] == "memory")


def _openclaw_home(files: Sequence[SentFile]) -> tuple[str, ...] | None:
    """The folder around MEMORY.md or memory/, the highest there is."""
    homes: list[tuple[str, ...]] = []
    for file in files:
        parts = PurePosixPath(file.path).parts
        if parts[-1] == "MEMORY.md":
            homes.append(parts[:-1])
        if "memory" in parts[:-1]:
            homes.append(parts[: parts.index("memory")])
    return min(homes, key=lambda home: (len(home), home), default=None)


def _unreadable(text: str) -> str | None:
    try:
        size = _size(text)
    except UnicodeEncodeError:
        return "not text"
    # A browser reads bytes that are no text as these.
    if "\0" in text or text.count(_STRANGE) > len(text) // 100:
        return "not UTF-8 text"
    if size > MAX_TEXT_BYTES:
        return f"larger than {MAX_TEXT_BYTES // 1024 // 1024} MiB"
    return None


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
