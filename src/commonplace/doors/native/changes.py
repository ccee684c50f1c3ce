"""What becomes of a record, at the native door: edit, pin, delete, undo, promote, demote, supersede, expire, purge."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from commonplace.doors.native.conditions import ETAG, RECORD, Seen, change_of, preconditions, problems, told
from commonplace.doors.native.records import Id
from commonplace.server.auth import Asking, Idempotent, Served
from commonplace.values.record import Record
from commonplace.values.scope import Scope
from commonplace.wire.changes import (
    ChangeBody,
    EditBody,
    ExpireBody,
    PinBody,
    PromoteBody,
    PurgeBody,
    PurgedAnswer,
    SupersedeBody,
)
from commonplace.wire.records import RecordAnswer
from commonplace.wire.shapes import MAX_COUNT, Line

router = APIRouter(prefix="/v1", tags=["native"])

# A body may be left out.
_CHANGE = ChangeBody()
_EXPIRE = ExpireBody()
_PIN = PinBody()
_PROMOTE = PromoteBody()
_CHANGED = {**RECORD, **problems(404, 409, 412, 422)}


def _told(served: Served, response: Response, record: Record) -> RecordAnswer:
    told(response, record)
    return RecordAnswer.of(record, served.desk.clock.now())


@router.patch("/records/{id}", summary="Change a record", responses={**_CHANGED, **problems(404, 409, 412, 413, 422)})
async def edit(
    id: Id, body: EditBody, who: Asking, served: Served, once: Idempotent, seen: Seen, response: Response
) -> RecordAnswer:
    """Change the fields named, and empty those in `clear`. The version before stays in the history."""
    change = change_of(body, seen, once)
    with preconditions(seen):
        record = await served.records.edit(who, id, body.changes(), clear=body.clear, change=change)
    return _told(served, response, record)


@router.delete("/records/{id}", summary="Delete a record", responses=_CHANGED)
async def delete(
    id: Id,
    who: Asking,
    served: Served,
    once: Idempotent,
    seen: Seen,
    response: Response,
    expected: Annotated[int | None, Query(ge=0, le=MAX_COUNT)] = None,
    reason: Annotated[Line | None, Query()] = None,
) -> RecordAnswer:
    """It is found no longer. `undo` brings it back, `purge` removes it for good."""
    change = change_of(ChangeBody(expected=expected, reason=reason), seen, once)
    with preconditions(seen):
        record = await served.records.delete(who, id, change=change)
    return _told(served, response, record)


@router.post("/records/{id}/pin", summary="Pin or unpin a record", responses=_CHANGED)
async def pin(
    id: Id,
    who: Asking,
    served: Served,
    once: Idempotent,
    seen: Seen,
    response: Response,
    body: PinBody = _PIN,
) -> RecordAnswer:
    """A pinned record weighs more in a search, comes first in a prompt, and no rule removes it."""
    change = change_of(body, seen, once)
    with preconditions(seen):
        record = await served.records.pin(who, id, body.pinned, change=change)
    return _told(served, response, record)


@router.post("/records/{id}/undo", summary="Take the last change back", responses=_CHANGED)
async def undo(
    id: Id,
    who: Asking,
    served: Served,
    once: Idempotent,
    seen: Seen,
    response: Response,
    body: ChangeBody = _CHANGE,
) -> RecordAnswer:
    """Deletion included; again takes back the one before. It writes a further version, so nothing is lost."""
    change = change_of(body, seen, once)
    with preconditions(seen):
        record = await served.records.undo(who, id, change=change)
    return _told(served, response, record)


@router.post("/records/{id}/promote", summary="Share a record", responses=_CHANGED)
async def promote(
    id: Id,
    who: Asking,
    served: Served,
    once: Idempotent,
    seen: Seen,
    response: Response,
    body: PromoteBody = _PROMOTE,
) -> RecordAnswer:
    """In its own scope, or in the wider one named. Needs a reviewer's key; a text with secrets is refused."""
    change = change_of(body, seen, once)
    target = None if body.scope is None else Scope.parse(body.scope)
    with preconditions(seen):
        record = await served.records.promote(who, id, scope=target, change=change)
    return _told(served, response, record)


@router.post("/records/{id}/demote", summary="Take a record out of every search", responses=_CHANGED)
async def demote(
    id: Id,
    who: Asking,
    served: Served,
    once: Idempotent,
    seen: Seen,
    response: Response,
    body: ChangeBody = _CHANGE,
) -> RecordAnswer:
    """It is kept, and listed under `state=demoted`."""
    change = change_of(body, seen, once)
    with preconditions(seen):
        record = await served.records.demote(who, id, change=change)
    return _told(served, response, record)


@router.post(
    "/records/{id}/supersede",
    status_code=201,
    summary="Put a new record in the place of this one",
    responses={
        201: {"headers": ETAG, "description": "The new record."},
        **problems(404, 409, 412, 413, 422),
    },
)
async def supersede(
    id: Id, body: SupersedeBody, who: Asking, served: Served, once: Idempotent, seen: Seen, response: Response
) -> RecordAnswer:
    """The new record takes over the key and what is not named. The old one is kept, and found only in the past."""
    change = change_of(body, seen, once)
    with preconditions(seen):
        record = await served.records.supersede(who, id, body.text, body.fields(), change=change)
    return _told(served, response, record)


@router.post("/records/{id}/expire", summary="Let a record be found until a moment", responses=_CHANGED)
async def expire(
    id: Id,
    who: Asking,
    served: Served,
    once: Idempotent,
    seen: Seen,
    response: Response,
    body: ExpireBody = _EXPIRE,
) -> RecordAnswer:
    """Until `at`, or, without one, no longer."""
    change = change_of(body, seen, once)
    with preconditions(seen):
        record = await served.records.expire(who, id, body.at, change=change)
    return _told(served, response, record)


@router.post(
    "/purge", summary="Remove records for good", response_model_exclude_defaults=True, responses=problems(404, 409)
)
async def purge(body: PurgeBody, who: Asking, served: Served) -> PurgedAnswer:
    """
    Every version, word and vector of the records `ids`, of a `scope`, of a `source`, or of all that comes from a `user`, and the files
    of managed memory that they follow. Name exactly one. Cannot be undone; needs an admin's key. Where one of those files cannot
    be removed, nothing is: 409 `purge_refused` names it. With `leave_files` it stays.
    """
    scope = None if body.scope is None else Scope.parse(body.scope)
    purged = await served.records.purge(
        who, ids=body.ids, scope=scope, user=body.user, source=body.source, leave_files=body.leave_files
    )
    return PurgedAnswer.of(purged)
