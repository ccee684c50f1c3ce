"""Memories on their way in and out: what a folder is, and what became of an import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Self, TypeAlias, TypedDict

from commonplace.values.json import JsonObject, Natural
from commonplace.values.quarantine import Withheld, withheld
from commonplace.values.record import Unreadable, Written
from commonplace.values.scope import Scope

Layout = Literal["directory", "openclaw"]
MOST_NAMED: Final = 100
"""So many of what was withheld are named in a report. The review lists all."""
FileKind = Literal["code", "json"]
"""What is imported beside Markdown and plain text, if somebody asks for it."""
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SentFile:
    """A file that comes with a request: its path, relative and of forward slashes, and its text."""

    path: str
    text: str


class ExportCount(int):
    """How many records an export holds. `unreadable` names what a damaged store could not hand out."""

    unreadable: tuple[Unreadable, ...]

    def __new__(cls, count: int, unreadable: Sequence[Unreadable] = ()) -> Self:
        number = super().__new__(cls, count)
        number.unreadable = tuple(unreadable)
        return number


class ImportFields(TypedDict, total=False):
    """How to import, as callers name it: into which scope (global), from what (`directory`), and see `ImportOptions`."""

    scope: Scope | str
    format: Layout
    force: bool
    kinds: Sequence[FileKind]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOptions:
    """
    How to import. `sync_deletes`: also delete what came from files that are gone. `force`: delete even if that is more than half of what was
    imported, and overwrite what a person has edited since. `kinds` are imported beside Markdown and text. `binding` names the connection it
    comes by: each record says so, under `source_binding_id` in its metadata.
    """

    layout: Layout = "directory"
    sync_deletes: bool = False
    force: bool = False
    kinds: tuple[FileKind, ...] = ()
    binding: str | None = None

    @classmethod
    def of(cls, fields: ImportFields, *, sync_deletes: bool = False) -> ImportOptions:
        return cls(
            layout=fields.get("format", "directory"),
            sync_deletes=sync_deletes,
            force=fields.get("force", False),
            kinds=tuple(fields.get("kinds", ())),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadReport(JsonObject):
    """
    `unchanged` were here already, at the same version or a later one. `quarantined` of those that were brought in wait for a
    reviewer; `withheld` names the first of them. `sessions` and `messages` of the history were in the file.
    """

    records: Natural = 0
    created: Natural = 0
    updated: Natural = 0
    unchanged: Natural = 0
    quarantined: Natural = 0
    withheld: tuple[Withheld, ...] = ()
    sessions: Natural = 0
    messages: Natural = 0

    def plus(self, results: Sequence[Written]) -> LoadReport:
        outcomes = [result.outcome for result in results]
        waiting = withheld(result.record for result in results if result.outcome != "unchanged")
        return replace(
            self,
            records=self.records + len(outcomes),
            created=self.created + outcomes.count("created"),
            updated=self.updated + outcomes.count("updated"),
            unchanged=self.unchanged + outcomes.count("unchanged"),
            quarantined=self.quarantined + len(waiting),
            withheld=(*self.withheld, *waiting)[:MOST_NAMED],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """
    `problems` are the files that could not be imported, each with its reason; there are `errors` of them. What is `left_out`
    was not to be imported: links that lead out of the folder, and the daemon's home folder. `skipped_kinds` are files of kinds that are not
    imported, counted by suffix; `kept_edits` are files whose record a person has edited since: the edit stands. `quarantined` of the files
    that were imported wait for a reviewer; `withheld` names the first of them, each with the sentence for which it waits. `warned` are files
    that give an agent no order and have marks of a prompt or hidden characters: they are recalled, labelled as coming from outside.
    """

    discovered_files: int = 0
    files_processed: int = 0
    indexed_files: int = 0
    skipped_files: int = 0
    deleted_files: int = 0
    chunks_created: int = 0
    errors: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    quarantined: int = 0
    withheld: tuple[Withheld, ...] = ()
    skipped_kinds: tuple[tuple[str, int], ...] = ()
    kept_edits: tuple[tuple[str, str], ...] = ()
    warned: tuple[tuple[str, str], ...] = ()
