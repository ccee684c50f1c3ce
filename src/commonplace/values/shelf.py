"""Files of managed memory, as people see and edit them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.record import Trust
from commonplace.values.scope import Scope

ShelfName = Literal["user", "project"]
"""Whose files: the person's own, or those of the workspace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfFile(JsonObject):
    """
    A file of a shelf. `stale`: it was last written so long ago that a recall says so. `problem` says why it is no entry; then
    it has no type, name or description.
    """

    path: str
    bytes: Natural
    modified_at: Moment
    etag: str | None = None
    type: str | None = None
    name: str | None = None
    description: str | None = None
    stale: bool = False
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfFiles(JsonObject):
    """A folder of memory: its index, and its files, newest first; `total` counts those that were left out, too."""

    root: ShelfName
    scope: Scope
    trust: Trust
    index: str
    files: tuple[ShelfFile, ...]
    total: Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfText(JsonObject):
    """A file as it is. `etag` names this very content."""

    root: ShelfName
    path: str
    text: str
    bytes: Natural
    modified_at: Moment
    etag: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfWritten(JsonObject):
    """`file` is None where it was removed, `change` None where nothing changed: there is nothing to undo then."""

    file: ShelfText | None
    change: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfChange(JsonObject):
    """A change of one or several files that can be taken back. `task` is the one that made it, where one did."""

    id: str
    root: ShelfName
    what: str
    at: Moment
    paths: tuple[str, ...]
    task: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfUndone(JsonObject):
    """What was put back, and what was left because somebody had edited it since."""

    restored: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfRecalled(JsonObject):
    """An entry that fits a question, without secrets; `body` may be cut. `note` is what to say about its age, if anything."""

    root: ShelfName
    path: str
    type: str
    name: str
    description: str
    body: str
    score: Natural
    note: str | None
    trust: Trust


@dataclass(frozen=True, kw_only=True, slots=True)
class ShelfRecall(JsonObject):
    """The entries that fit best, best first, and the block for a prompt that shows them; empty where none does."""

    entries: tuple[ShelfRecalled, ...]
    text: str
