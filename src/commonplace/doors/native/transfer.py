"""Memories in and out, at the native door: imports, exports, loads."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from commonplace.doors.native.conditions import problems
from commonplace.doors.native.streams import LINES, LINES_OUT, nothing, spooled, streamed
from commonplace.server.auth import Caller, Served
from commonplace.values.scope import Scope, scopes_of
from commonplace.values.transfer import LoadReport
from commonplace.wire.queries import ExportQuery
from commonplace.wire.tasks import TaskAnswer
from commonplace.wire.transfer import ImportBody, ImportFilesBody, QueuedAnswer

router = APIRouter(prefix="/v1", tags=["native"])

_LINES_IN: Final[dict[str, Any]] = {
    "requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}
}


@router.post("/import", status_code=202, summary="Import a folder", responses=problems(404))
async def import_folder(body: ImportBody, who: Caller, served: Served, response: Response) -> QueuedAnswer:
    """
    Bring in Markdown and text files of the machine the daemon runs on, in the background. Files that did not change are
    left alone, so it may be repeated. Keys other than the operator's import below `import_roots` only, and nothing
    of the daemon's home folder.
    """
    job = await served.moving.queue_import(who, body.path, scope=Scope.parse(body.scope), options=body.options)
    response.headers["Location"] = f"/v1/tasks/{job.id}"
    return QueuedAnswer(job=TaskAnswer.of(job))


@router.post("/import/files", status_code=202, summary="Import files that come along", responses=problems(413))
async def import_files(body: ImportFilesBody, who: Caller, served: Served, response: Response) -> QueuedAnswer:
    """
    Bring in Markdown and text files that are sent with the request, up to 1,000 of them, in the background. A record comes from
    the path that was sent; the same file again changes nothing. The task's `result` names the files that were left out,
    and why.
    """
    job = await served.moving.queue_files(who, body.sent(), scope=Scope.parse(body.scope), options=body.options)
    response.headers["Location"] = f"/v1/tasks/{job.id}"
    return QueuedAnswer(job=TaskAnswer.of(job))


@router.get(
    "/export",
    summary="All records as a file",
    response_class=StreamingResponse,
    responses={200: LINES_OUT, **problems()},
)
async def export(query: Annotated[ExportQuery, Query()], who: Caller, served: Served) -> StreamingResponse:
    """
    Every record that you may read, with all its versions, one a line. The last line says how many there were: a file
    without it was cut short. `POST /v1/load` reads it, here or elsewhere.
    """
    return await streamed(
        served.moving.export(who, scopes_of(query.scope), everyone=query.everyone), "commonplace.jsonl"
    )


@router.post("/load", summary="Read an export", responses=problems(409, 413), openapi_extra=_LINES_IN)
async def load(request: Request, who: Caller, served: Served) -> LoadReport:
    """
    Records with all their versions, ids and times unchanged. Those that are here already, at the same version or a later
    one, are left alone. For admins. Send it as `application/x-ndjson`.
    """
    # What the caller may not load is not kept for a moment either: the service refuses before it reads.
    async with spooled(request) if who.is_at_least("admin") else nothing() as path:
        return await served.moving.load(who, path)
