"""
`MEMORY.md` of a workspace and of the home folder, as a door shows it and adds to it.

What is added goes into the section `## Added Memories`, before the heading after it; the rest of the file is its owner's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from commonplace.errors import (
    CommonplaceError,
    ContentTooLarge,
    InvalidContent,
    InvalidMode,
    InvalidScope,
    SecretRefused,
)
from commonplace.markdown.confine import LARGEST_EVER, FileSnapshot, Folder
from commonplace.markdown.locks import PATIENCE
from commonplace.markdown.roots import INDEX
from commonplace.text.scrub import scrub

FileScope = Literal["workspace", "global"]
Mode = Literal["append", "replace"]
HEADING: Final = "## Added Memories"
MOST_CONTENT: Final = 1024 * 1024
MOST_EXISTING: Final = 16 * 1024 * 1024
RULES: Final = (".commonplace", "rules")
_HEADING: Final = re.compile(r"##[ \t]++Added Memories[ \t]*+#*+[ \t]*+")
_NEXT: Final = re.compile(r"#{1,2}[ \t]+\S.*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}+|~{3,}+)(.*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryFile:
    path: str
    scope: FileScope
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """`errors` are files that are there and cannot be read: path and reason."""

    workspace: str
    files: tuple[MemoryFile, ...]
    rules: int
    errors: tuple[tuple[str, str], ...]

    @property
    def initialized(self) -> bool:
        return bool(self.files or self.errors)

    @property
    def total_bytes(self) -> int:
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryFileWrite:
    """`bytes_written` is the size of the whole file, even if nothing changed."""

    path: str
    bytes_written: int
    mode: Mode
    changed: bool
    redactions: int = 0


def survey(workspace: Path, home: Path) -> Survey:
    """Which files of memory there are, and how large."""
    files: list[MemoryFile] = []
    errors: list[tuple[str, str]] = []
    places: tuple[tuple[FileScope, Path], ...] = (("workspace", workspace), ("global", home))
    for scope, folder in places:
        path = str(folder / INDEX)
        try:
            size = len(Folder(folder).read((INDEX,), LARGEST_EVER).data)
            files.append(MemoryFile(path=path, scope=scope, bytes=size))
        except CommonplaceError as error:
            if error.code != "path_not_found":
                errors.append((path, error.message))
    return Survey(workspace=str(workspace), files=tuple(files), rules=_rules(workspace), errors=tuple(errors))


def add(
    workspace: Path, home: Path, *, scope: object, content: object, mode: object = None, patience: float = PATIENCE
) -> MemoryFileWrite:
    """
    Add to `MEMORY.md` of the workspace or of the home folder, or replace it. Only white space to add changes nothing.

    Raises:
        InvalidScope, InvalidMode, InvalidContent, ContentTooLarge: what is wrong with the request.
        SecretRefused: the content holds what must never rest in memory.
        MemoryFileTooLarge: the file has more than 16 MiB.
        MemoryWriteTimeout, FileError, PathEscape: the file cannot be written.
    """
    file_scope, write_mode, text = _checked(scope, mode, content)
    anchor = workspace if file_scope == "workspace" else home
    scrubbed = scrub(text)
    if scrubbed.report.status == "blocked":
        raise SecretRefused
    folder = Folder(anchor, mode=0o644 if file_scope == "workspace" else 0o600, patience=patience)
    changed = False

    def compose(snapshot: FileSnapshot | None) -> bytes | None:
        nonlocal changed
        if write_mode == "replace":
            data = scrubbed.text.encode("utf-8")
        elif not text.strip():
            return None
        else:
            data = appended(snapshot.data if snapshot else b"", scrubbed.text)
        changed = snapshot is None or data != snapshot.data
        return data

    snapshot = folder.change((INDEX,), compose, LARGEST_EVER if write_mode == "replace" else MOST_EXISTING)
    size = len(snapshot.data) if snapshot else 0
    redactions = scrubbed.report.redactions
    path = str(anchor / INDEX)
    return MemoryFileWrite(path=path, bytes_written=size, mode=write_mode, changed=changed, redactions=redactions)


def appended(existing: bytes, content: str) -> bytes:
    """`existing` with `content` at the end of its section, which is added if there is none."""
    # Bytes that are no text belong to the owner of the file and stay what they are.
    text = existing.decode("utf-8", "surrogateescape")
    ending = "\r\n" if "\r\n" in text else "\n"
    added = content.strip("\r\n").replace("\r\n", "\n").replace("\n", ending)
    lines = text.splitlines(keepends=True) if text else []
    place = _end_of_section(lines)
    if place is None:
        gap = "" if not text or text.endswith(("\n\n", "\r\n\r\n")) else ending
        gap = gap if not text or text.endswith("\n") else gap + ending
        return f"{text}{gap}{HEADING}{ending}{added}{ending}".encode("utf-8", "surrogateescape")
    before, after = "".join(lines[:place]), "".join(lines[place:])
    joint = "" if before.endswith("\n") else ending
    gap = ending if after.strip() and not after.startswith(("\n", "\r\n")) else ""
    return f"{before}{joint}{added}{ending}{gap}{after}".encode("utf-8", "surrogateescape")


def _end_of_section(lines: Sequence[str]) -> int | None:
    """Where the section ends: after its last line that is not empty. None if there is no such section."""
    fence = ""
    last: int | None = None
    for number, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        was = fence
        fence = _fence_after(bare, fence)
        if not was and not fence:
            if last is None and _HEADING.fullmatch(bare):
                last = number
            elif last is not None and _NEXT.fullmatch(bare):
                break
        if last is not None and bare.strip():
            last = number
    return None if last is None else last + 1


def _fence_after(line: str, fence: str) -> str:
    """The code fence that is open after `line`, if any: it ends with at least as many of the same marks."""
    match = _FENCE.fullmatch(line)
    if match is None:
        return fence
    marks, rest = match[1], match[2]
    if not fence:
        return "" if marks[0] == "`" and "`" in rest else marks
    return "" if marks.startswith(fence) and not rest.strip() else fence


def _checked(scope: object, mode: object, content: object) -> tuple[FileScope, Mode, str]:
    if scope not in ("workspace", "global"):
        raise InvalidScope("The scope must be workspace or global.")
    if mode is not None and mode not in ("append", "replace"):
        raise InvalidMode
    if not isinstance(content, str):
        raise InvalidContent
    try:
        size = len(content.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidContent("The content holds a lone surrogate, which is no character.") from None
    if size > MOST_CONTENT:
        raise ContentTooLarge
    if "\0" in content:
        raise InvalidContent("The content holds a NUL character.")
    return scope, mode or "append", content


def _rules(workspace: Path) -> int:
    """How many files of rules the workspace has."""
    try:
        return len(Folder(workspace, RULES).walk())
    except CommonplaceError:
        return 0
