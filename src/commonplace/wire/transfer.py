"""Memories in and out, on the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from commonplace.values.json import Natural
from commonplace.values.transfer import ImportReport, Layout, SentFile
from commonplace.wire.shapes import MAX_LIST, MAX_TEXT, Answer, Body, Line, ScopeName
from commonplace.wire.tasks import TaskAnswer


class ImportBody(Body):
    """A folder or a file of the machine the daemon runs on."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"path": "/srv/notes", "scope": "workspace:web"}]})

    path: Line
    scope: ScopeName = "global"
    format: Layout = "directory"
    sync_deletes: bool = Field(default=False, description="Also delete what came from files that are gone.")


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
    lead out of the folder, and the daemon's home folder.
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

    def value(self) -> ImportReport:
        lists = ("problems", "left_out")
        counts = {name: value for name, value in self if name not in lists}
        problems, left_out = (tuple((entry.file, entry.reason) for entry in getattr(self, name)) for name in lists)
        return ImportReport(**counts, problems=problems, left_out=left_out)
