"""The files of managed memory, at the native door."""

from __future__ import annotations

import re
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Response

from commonplace.doors.native.conditions import ETAG, Responses, problems
from commonplace.errors import InvalidInput
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.service.shelves import NEW
from commonplace.values.shelf import ShelfName, ShelfRecall, ShelfText, ShelfUndone, ShelfWritten
from commonplace.wire.shelf import ShelfChangesAnswer, ShelfMoveBody, ShelfRecallBody, ShelfTextBody, ShelvesAnswer

router = APIRouter(prefix="/v1/managed", tags=["native"])

Root = Annotated[ShelfName, Path(description="Whose memory: the person's own, or that of the workspace.")]
FilePath = Annotated[str, Path(max_length=2048, description="The file's path in its folder: `feedback/tone.md`.")]
ChangeId = Annotated[str, Path(max_length=255, description="As the answer that made it says.")]
IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=200, description="The `ETag` you saw; else 412.")]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", max_length=1000, description="`*` makes a new file; else 412.")
]
_TAG: Final = re.compile(r'"[0-9a-f]{32}"')
_NONE: Final = "There is no managed memory here, or nothing to undo."
_CHANGED: Final = "The file is another by now; `details` holds its `text` and its `etag`."


def _responses(*statuses: int) -> Responses:
    responses = problems(409, *statuses)
    responses[409] = {**responses[409], "description": _NONE}
    if 412 in responses:
        responses[412] = {**responses[412], "description": _CHANGED}
    return responses


@router.get("", summary="The files of managed memory", responses=_responses(), dependencies=[only_conditions()])
async def survey(who: Caller, served: Served) -> ShelvesAnswer:
    """Of every folder that the key reaches: the person's own and that of the workspace."""
    return ShelvesAnswer(tuple(await served.shelves.survey(who)))


@router.get(
    "/changes", summary="What changed in managed memory", responses=_responses(), dependencies=[only_conditions()]
)
async def changes(who: Caller, served: Served) -> ShelfChangesAnswer:
    """By people, by remembering, forgetting and dreaming; each can be undone."""
    return ShelfChangesAnswer(tuple(await served.shelves.changes(who)))


@router.post("/changes/{id}/undo", summary="Take a change back", responses=_responses())
async def undo(id: ChangeId, who: Caller, served: Served) -> ShelfUndone:
    """Every file gets its text from before, but those that somebody edited since."""
    return await served.shelves.undo(who, id)


@router.post("/move", summary="File an entry in the other memory", responses=_responses(404, 422))
async def move(body: ShelfMoveBody, who: Caller, served: Served) -> ShelfWritten:
    """From the person's own memory to that of the workspace, or back. Its record goes with it; its earlier versions stay where they were."""
    return await served.shelves.move(who, body.root, body.path, to=body.to)


@router.post("/recall", summary="What managed memory has for a question", responses=_responses())
async def recall(body: ShelfRecallBody, who: Caller, served: Served) -> ShelfRecall:
    """
    The entries that fit best, at most five, of every folder that the key reaches, and `text`, the block of a prompt. What is
    recalled is data, never an instruction: what reads like one is left out until a reviewer has released its record.
    """
    return await served.shelves.recall(who, body.query, tools=body.tools, run=body.run)


@router.get(
    "/{root}/{path:path}",
    summary="Read a file of managed memory",
    response_model=ShelfText,
    responses={
        200: {"headers": ETAG, "description": "The file as it is."},
        304: {"description": "You have it as it is already."},
        **_responses(404, 413),
    },
)
async def read(
    root: Root, path: FilePath, who: Caller, served: Served, response: Response, if_none_match: IfNoneMatch = None
) -> ShelfText | Response:
    """The whole text. The index is `MEMORY.md`."""
    file = await served.shelves.read(who, root, path)
    if if_none_match is not None and file.etag in _tags(if_none_match):
        return Response(status_code=304, headers={"ETag": file.etag})
    response.headers["ETag"] = file.etag
    return file


@router.put(
    "/{root}/{path:path}",
    summary="Write a file of managed memory",
    responses={
        200: {"model": ShelfWritten, "headers": ETAG, "description": "It was changed, or was so already."},
        201: {"model": ShelfWritten, "headers": ETAG, "description": "It is a new file."},
        **_responses(404, 412, 413, 422, 428),
    },
)
async def write(
    root: Root,
    path: FilePath,
    body: ShelfTextBody,
    who: Caller,
    served: Served,
    response: Response,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> ShelfWritten:
    """
    Replace the file whose `ETag` is sent as `If-Match`, or make one with `If-None-Match: *`. Where it is another by then, the
    answer is 412 and holds what it is. The index and the records follow, and `undo` takes it back.
    """
    expected = _seen(if_match, if_none_match)
    answer = await served.shelves.write(who, root, path, body.text, expected=expected)
    response.status_code = 201 if expected == NEW else 200
    if answer.file is not None:
        response.headers["ETag"] = answer.file.etag
    return answer


@router.delete(
    "/{root}/{path:path}",
    summary="Remove a file of managed memory",
    responses=_responses(404, 412, 428),
)
async def remove(root: Root, path: FilePath, who: Caller, served: Served, if_match: IfMatch = None) -> ShelfWritten:
    """The file whose `ETag` is sent as `If-Match`. Its record goes with it, and `undo` brings both back."""
    expected = _seen(if_match, None)
    return await served.shelves.remove(who, root, path, expected=expected)


def _seen(if_match: str | None, if_none_match: str | None) -> str | None:
    """Which content is to be replaced; NEW: there must be no file; None: nothing was said."""
    if if_match is not None and if_none_match is not None:
        raise InvalidInput("Send If-Match to change a file, or If-None-Match: * to make one.")
    if if_match is not None:
        tags = _tags(if_match)
        if len(tags) != 1 or not _TAG.fullmatch(tags[0]):
            raise InvalidInput("If-Match names one version, as the ETag of the file did.")
        return tags[0]
    if if_none_match is not None and if_none_match.strip() != NEW:
        raise InvalidInput("If-None-Match is * here: it makes a new file.")
    return None if if_none_match is None else NEW


def _tags(header: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in header.split(",")]
