"""Memories on their way in and out: what a folder is, and what became of an import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.values.json import JsonObject, Natural
from commonplace.values.record import Written

Layout = Literal["directory", "openclaw"]
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SentFile:
    """A file that comes with a request: its path, relative and of forward slashes, and its text."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadReport(JsonObject):
    """`unchanged` were here already, at the same version or a later one."""

    records: Natural = 0
    created: Natural = 0
    updated: Natural = 0
    unchanged: Natural = 0

    def plus(self, results: Sequence[Written]) -> LoadReport:
        outcomes = [result.outcome for result in results]
        return LoadReport(
            records=self.records + len(outcomes),
            created=self.created + outcomes.count("created"),
            updated=self.updated + outcomes.count("updated"),
            unchanged=self.unchanged + outcomes.count("unchanged"),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """
    `problems` are the files that could not be imported, each with its reason; there are `errors` of them. What is `left_out`
    was not to be imported: links that lead out of the folder, and the daemon's home folder.
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
