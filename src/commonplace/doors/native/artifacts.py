"""Artifacts at the native door: files in, and out again as attachments."""

from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response

from commonplace.doors.native.conditions import answer, problems
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.service.artifacts import MOST_LISTED, MOST_NAME
from commonplace.values.artifact import Artifact, ArtifactDraft, ArtifactPage, ArtifactQuery
from commonplace.values.moment import Moment
from commonplace.values.record import Record
from commonplace.values.scope import Scope
from commonplace.wire.runs import ArtifactPromotionBody
from commonplace.wire.shapes import Line

router = APIRouter(prefix="/v1/artifacts", tags=["native"])

ArtifactId = Annotated[str, Path(max_length=64, description="The artifact's id.")]
_OCTETS: Final = "application/octet-stream"
FILE_IN: Final[dict[str, Any]] = {
    "requestBody": {"required": True, "content": {_OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
}
_FILE_OUT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The file.", "content": {_OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
}


@router.post("", status_code=201, summary="Keep a file", responses=problems(404, 409, 413), openapi_extra=FILE_IN)
async def add(
    request: Request,
    who: Caller,
    served: Served,
    name: Annotated[str, Query(min_length=1, max_length=MOST_NAME, description="What it is called.")],
    type: Annotated[  # noqa: A002 - as the query calls it
        str | None, Query(max_length=255, description="Its media type. Default: the one of the request.")
    ] = None,
    run: Annotated[str | None, Query(max_length=128, description="The run that made it.")] = None,
    expires_at: Annotated[Moment | None, Query(description="Until when it is kept.")] = None,
) -> Artifact:
    """The body is the file. It is the caller's own, and no search finds it until it is promoted. The same content is kept once."""
    media_type = type or request.headers.get("content-type") or _OCTETS
    draft = ArtifactDraft(name=name, type=media_type, run=run, expires_at=expires_at)
    return await served.artifacts.add(who, draft, await request.body())


@router.get(
    "",
    summary="List artifacts, newest first",
    responses=problems(409),
    dependencies=[only_conditions("run", "room", "everyone", "limit", "cursor")],
)
async def artifacts(
    who: Caller,
    served: Served,
    run: Annotated[str | None, Query(max_length=128, description="Those that this run made.")] = None,
    room: Annotated[Line | None, Query(description="Those of this room: `channel:web/releases`.")] = None,
    everyone: Annotated[bool, Query(description="Other people's, too. For admins; the audit says so.")] = False,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 100,
    cursor: Annotated[Line | None, Query(description="The `cursor` of the page before.")] = None,
) -> ArtifactPage:
    """The caller's own."""
    scope = None if room is None else Scope.parse(room)
    query = ArtifactQuery(run=run, room=scope, everyone=everyone, limit=limit, cursor=cursor)
    return await served.artifacts.list(who, query)


@router.get("/{id}", summary="Show an artifact", responses=problems(404, 409))
async def show(id: ArtifactId, who: Caller, served: Served) -> Artifact:
    """What is known of it; `/content` has the file."""
    return await served.artifacts.get(who, id)


@router.get(
    "/{id}/content", summary="Fetch a file", response_class=Response, responses={**problems(404, 409), **_FILE_OUT}
)
async def content(id: ArtifactId, who: Caller, served: Served) -> Response:
    """As an attachment: a browser saves it, and neither shows nor runs it."""
    artifact, data = await served.artifacts.content(who, id)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(artifact.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "private, no-store",
        "ETag": f'"{artifact.sha256}"',
    }
    return Response(data, media_type=artifact.type, headers=headers)


@router.delete("/{id}", status_code=204, summary="Delete an artifact", responses=problems(404, 409))
async def delete(id: ArtifactId, who: Caller, served: Served) -> None:
    """The file goes with the last artifact that has this content. What it was promoted to stays."""
    await served.artifacts.delete(who, id)


@router.post(
    "/{id}/promote",
    status_code=201,
    summary="Make an artifact a memory",
    response_model=Record,
    responses=problems(404, 409, 413, 422),
)
async def promote(id: ArtifactId, body: ArtifactPromotionBody, who: Caller, served: Served) -> Response:
    """Its text becomes a record of the scope, judged as every write is. What a run made is labelled `model_generated`."""
    record = await served.artifacts.promote(who, id, Scope.parse(body.scope), key=body.key)
    return answer(served, record, status=201, version_of=record)
