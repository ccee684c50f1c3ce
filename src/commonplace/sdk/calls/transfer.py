"""Folders in: the job is queued, and looked at until it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Final

from commonplace.errors import InvalidInput
from commonplace.sdk.documents import document, given, part, written
from commonplace.sdk.talk import Call, Pause, Talk, asked, error_of, waiting
from commonplace.values.job import ENDED
from commonplace.values.paths import expand_path
from commonplace.values.pauses import Pauses
from commonplace.values.record import Json, Unreadable
from commonplace.values.scope import Scope
from commonplace.values.transfer import ImportOptions, ImportReport
from commonplace.wire.tasks import TaskAnswer
from commonplace.wire.transfer import ImportReportAnswer, QueuedAnswer

NO_BACKUP: Final = "A daemon's store is backed up on its own machine: `commonplace backup FILE --store …`."
_WAIT: Final = 10.0
# Somebody wants to see how far it is.
_WAIT_WATCHED: Final = 0.5


def import_folder(
    path: str | Path,
    scope: Scope | str,
    options: ImportOptions,
    progress: Callable[[int, int], None] | None,
) -> Talk[ImportReport]:
    # Seen from here: the daemon has another current folder.
    where = str(expand_path(path).absolute())
    body = {**_options(scope, options), "path": where, "sync_deletes": options.sync_deletes}
    return (yield from _done("/v1/import", body, progress))


def import_files(
    files: Mapping[str, str],
    scope: Scope | str,
    options: ImportOptions,
    progress: Callable[[int, int], None] | None,
) -> Talk[ImportReport]:
    uploads: list[Json] = [{"path": document(path), "text": document(text)} for path, text in files.items()]
    body = {**_options(scope, options), "files": uploads}
    return (yield from _done("/v1/import/files", body, progress))


def _options(scope: Scope | str, options: ImportOptions) -> dict[str, Json]:
    return given({"scope": scope, "format": options.layout, "force": options.force or None, "kinds": options.kinds})


def _done(path: str, body: Mapping[str, Json], progress: Callable[[int, int], None] | None) -> Talk[ImportReport]:
    """The import is asked for, and looked at until it ends."""

    def read(body: bytes) -> TaskAnswer:
        return QueuedAnswer.model_validate_json(body).job

    job = yield from asked(Call(method="POST", path=path, body=written(body), decode=read))
    wait, pauses = _WAIT if progress is None else _WAIT_WATCHED, Pauses(next=0.05, longest=1.0)
    look = Call(
        method="GET",
        path=f"/v1/tasks/{part(job.id)}",
        query=waiting(wait),
        decode=TaskAnswer.model_validate_json,
        reads=True,
        waits=wait,
    )
    while job.state not in ENDED:
        began = monotonic()
        job = yield from asked(look)
        if progress is not None and job.total:
            progress(job.done, job.total)
        pause = pauses.after(monotonic() - began, wait)
        if pause and job.state not in ENDED:
            yield Pause(pause)
    if job.state == "failed":
        error = job.error
        raise error_of(error.code, error.message, {}) if error else InvalidInput("The import failed.")
    return ImportReportAnswer.model_validate(job.result).value()


def count_of(last: bytes) -> int | None:
    """How many records an export's last line says there are; None where it is not the last."""
    try:
        last_document: object = json.loads(last)
    except ValueError:
        return None
    match last_document:
        case {"end": True, "records": int(records)}:
            return records
        case _:
            return None


def unreadable_of(last: bytes) -> tuple[Unreadable, ...]:
    """What an export's last line says that a damaged store could not hand out."""
    end: dict[str, Any] = json.loads(last)
    return tuple(Unreadable(id=str(item["id"]), reason=str(item["reason"])) for item in end.get("unreadable", ()))
