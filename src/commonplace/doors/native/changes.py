"""What becomes of a record, at the native door: edit, pin, delete, undo, promote, demote, supersede, expire, purge."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from commonplace.doors.native.conditions import ETAG, RECORD, Changer, problems
from commonplace.doors.native.records import Id
from commonplace.server.auth import Caller, Served
from commonplace.values.record import Record
from commonplace.values.scope import Scope
from commonplace.values.upkeep import Purged
from commonplace.wire.changes import ChangeBody, EditBody, ExpireBody, PinBody, PromoteBody, PurgeBody, SupersedeBody
from commonplace.wire.shapes import MAX_COUNT, Line

router = APIRouter(prefix="/v1", tags=["native"])

# A body may be left out.
_CHANGE = ChangeBody()
_EXPIRE = ExpireBody()
_PIN = PinBody()
_PROMOTE = PromoteBody()
_CHANGED = {**RECORD, **problems(404, 409, 412, 422)}


@router.patch(
    "/records/{id}",
    response_model=Record,
    summary="Change a record",
    responses={**_CHANGED, **problems(404, 409, 412, 413, 422)},
)
async def edit(id: Id, body: EditBody, who: Caller, served: Served, change: Changer) -> Response:
    """Change the fields named, and empty those in `clear`. The version before stays in the history."""
    return await change(body, partial(served.records.edit, who, id, body.changes(), clear=body.clear))


@router.delete("/records/{id}", response_model=Record, summary="Delete a record", responses=_CHANGED)
async def delete(
    id: Id,
    who: Caller,
    served: Served,
    change: Changer,
    expected: Annotated[int | None, Query(ge=0, le=MAX_COUNT)] = None,
    reason: Annotated[Line | None, Query()] = None,
) -> Response:
    """It is found no longer. `undo` brings it back, `purge` removes it for good."""
    return await change(ChangeBody(expected=expected, reason=reason), partial(served.records.delete, who, id))


@router.post("/records/{id}/pin", response_model=Record, summary="Pin or unpin a record", responses=_CHANGED)
async def pin(id: Id, who: Caller, served: Served, change: Changer, body: PinBody = _PIN) -> Response:
    """A pinned record weighs more in a search, comes first in a prompt, and no rule removes it."""
    return await change(body, partial(served.records.pin, who, id, body.pinned))


@router.post("/records/{id}/undo", response_model=Record, summary="Take the last change back", responses=_CHANGED)
async def undo(id: Id, who: Caller, served: Served, change: Changer, body: ChangeBody = _CHANGE) -> Response:
    """Deletion included; again takes back the one before. It writes a further version, so nothing is lost."""
    return await change(body, partial(served.records.undo, who, id))


@router.post("/records/{id}/promote", response_model=Record, summary="Share a record", responses=_CHANGED)
async def promote(id: Id, who: Caller, served: Served, change: Changer, body: PromoteBody = _PROMOTE) -> Response:
    """In its own scope, or in the wider one named. Needs a reviewer's key; a text with secrets is refused."""
    target = None if body.scope is None else Scope.parse(body.scope)
    return await change(body, partial(served.records.promote, who, id, scope=target))


@router.post(
    "/records/{id}/demote", response_model=Record, summary="Take a record out of every search", responses=_CHANGED
)
async def demote(id: Id, who: Caller, served: Served, change: Changer, body: ChangeBody = _CHANGE) -> Response:
    """It is kept, and listed under `state=demoted`."""
    return await change(body, partial(served.records.demote, who, id))


@router.post(
    "/records/{id}/supersede",
    response_model=Record,
    status_code=201,
    summary="Put a new record in the place of this one",
    responses={
        201: {"headers": ETAG, "description": "The new record."},
        **problems(404, 409, 412, 413, 422),
    },
)
async def supersede(id: Id, body: SupersedeBody, who: Caller, served: Served, change: Changer) -> Response:
    """The new record takes over the key and what is not named. The old one is kept, and found only in the past."""
    return await change(body, partial(served.records.supersede, who, id, body.text, body.fields()), status=201)


@router.post(
    "/records/{id}/expire", response_model=Record, summary="Let a record be found until a moment", responses=_CHANGED
)
async def expire(id: Id, who: Caller, served: Served, change: Changer, body: ExpireBody = _EXPIRE) -> Response:
    """Until `at`, or, without one, no longer."""
    return await change(body, partial(served.records.expire, who, id, body.at))


@router.post(
    "/purge", summary="Remove records for good", response_model_exclude_defaults=True, responses=problems(404, 409)
)
async def purge(body: PurgeBody, who: Caller, served: Served) -> Purged:
    """
    Every version, word and vector of the records `ids`, of a `scope`, of a `source`, or of all that comes from a `user`, and the files
    of managed memory that they follow; of a user their sessions, too. Name exactly one. Cannot be undone; needs an admin's key. Where one of those files cannot
    be removed, nothing is: 409 `purge_refused` names it. With `leave_files` it stays.
    """
    scope = None if body.scope is None else Scope.parse(body.scope)
    return await served.records.purge(
        who, ids=body.ids, scope=scope, user=body.user, source=body.source, leave_files=body.leave_files
    )
