"""Memories in and out, on the wire."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ConfigDict, Field

from commonplace.values.json import Natural
from commonplace.values.quarantine import Withheld
from commonplace.values.transfer import FileKind, ImportOptions, ImportReport, Layout, SentFile
from commonplace.wire.shapes import MAX_LIST, MAX_TEXT, Answer, Body, Line, ScopeName
from commonplace.wire.tasks import TaskAnswer

_FORCE: Final = (
    "Delete even if that is more than half of what the folder brought (otherwise `removal_refused`), and overwrite what a person has "
    "edited since the last import (otherwise in `kept_edits`)."
)
_KINDS: Final = "Import code, or JSON, beside Markdown and plain text."


class ImportBody(Body):
    """A folder or a file of the machine the daemon runs on."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"path": "/srv/notes", "scope": "workspace:web"}]})

    path: Line
    scope: ScopeName = "global"
    format: Layout = "directory"
    sync_deletes: bool = Field(default=False, description="Also delete what came from files that are gone.")
    force: bool = Field(default=False, description=_FORCE)
    kinds: list[FileKind] = Field(default=[], max_length=10, description=_KINDS)

    @property
    def options(self) -> ImportOptions:
        kinds = tuple(dict.fromkeys(self.kinds))
        return ImportOptions(layout=self.format, sync_deletes=self.sync_deletes, force=self.force, kinds=kinds)


class FileBody(Body):
    path: Line = Field(description="Relative, with forward slashes: `notes/a.md`.")
    text: str = Field(max_length=MAX_TEXT)


class ImportFilesBody(Body):
    """Files that come with the request."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"scope": "workspace:web", "files": [{"path": "notes/ship.md", "text": "We ship on Fridays."}]}
            ]
        }
    )

    files: list[FileBody] = Field(min_length=1, max_length=MAX_LIST)
    scope: ScopeName = "global"
    format: Layout = "directory"
    force: bool = Field(default=False, description=_FORCE)
    kinds: list[FileKind] = Field(default=[], max_length=10, description=_KINDS)

    @property
    def options(self) -> ImportOptions:
        return ImportOptions(layout=self.format, force=self.force, kinds=tuple(dict.fromkeys(self.kinds)))

    def sent(self) -> list[SentFile]:
        return [SentFile(path=file.path, text=file.text) for file in self.files]


class QueuedAnswer(Answer):
    """The work goes on; `GET /v1/tasks/{id}` tells how far it is."""

    job: TaskAnswer


class ImportProblem(Answer):
    """A file or a link that was not imported."""

    file: str
    reason: str


class ImportReportAnswer(Answer):
    """
    The `result` of a task that imported something. `problems` could not be imported, what is in `left_out` was not to be: links that
    lead out of the folder, and the daemon's home folder. `skipped_kinds` counts files of kinds that are not imported, by suffix. The records
    of `kept_edits` were edited by a person since: the edit stands.
    """

    discovered_files: Natural
    files_processed: Natural
    indexed_files: Natural
    skipped_files: Natural
    deleted_files: Natural
    chunks_created: Natural
    errors: Natural
    problems: list[ImportProblem]
    left_out: list[ImportProblem] = Field(default=[])
    skipped_kinds: dict[str, Natural] = Field(default={})
    kept_edits: list[ImportProblem] = Field(default=[])
    warned: list[ImportProblem] = Field(
        default=[], description="The first hundred that have marks of a prompt or hidden characters, and are recalled."
    )
    quarantined: Natural = Field(default=0, description="So many of them wait for a reviewer.")
    withheld: list[Withheld] = Field(
        default=[], description="The first hundred of those, and the sentence that caused it."
    )

    def value(self) -> ImportReport:
        lists = ("problems", "left_out", "kept_edits", "warned")
        fields: dict[str, Any] = {name: value for name, value in self if name not in lists}
        fields |= {name: tuple((entry.file, entry.reason) for entry in getattr(self, name)) for name in lists}
        fields |= {"skipped_kinds": tuple(self.skipped_kinds.items()), "withheld": tuple(self.withheld)}
        return ImportReport(**fields)
