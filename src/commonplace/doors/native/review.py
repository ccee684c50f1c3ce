"""Review and rollback, at the native door."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from commonplace.doors.native.conditions import answer, problems
from commonplace.doors.native.knowledge import ItemId
from commonplace.doors.native.records import Id
from commonplace.server.auth import Caller, Served
from commonplace.service.review import Named
from commonplace.values.knowledge import Item
from commonplace.values.record import Record
from commonplace.values.review import RolledBack, WaitingPage
from commonplace.values.scope import scopes_of
from commonplace.values.upkeep import Purged
from commonplace.wire.knowledge import ItemAnswer
from commonplace.wire.review import (
    ReasonBody,
    RejectBody,
    RejectSeveralBody,
    ReleaseBody,
    ReleasedAnswer,
    ReleaseSeveralBody,
    RestoreBody,
    ReviewQuery,
    RollbackBody,
    SeveralBody,
)

router = APIRouter(prefix="/v1", tags=["native"])


@router.get("/review", summary="What is in quarantine", response_model=WaitingPage, responses=problems())
async def waiting(query: Annotated[ReviewQuery, Query()], who: Caller, served: Served) -> Response:
    """
    Records from outside that look like an attack, that would have changed what a person wrote, or that came in too great
    number: kept, and not recalled. Newest first, with the findings that look like an attack. For reviewers.
    """
    page = await served.review.waiting(
        who,
        scopes=scopes_of(query.scope),
        source=query.source,
        session=query.session,
        rejected=query.rejected,
        limit=query.limit,
        cursor=query.cursor,
    )
    return answer(served, page)


@router.post(
    "/review/release",
    summary="Let several records out of quarantine",
    response_model=ReleasedAnswer,
    responses=problems(404, 409),
)
async def release_several(body: ReleaseSeveralBody, who: Caller, served: Served) -> Response:
    """From now on they are recalled. All of them must be in quarantine. For reviewers."""
    selection = Named(ids=tuple(body.ids), source=body.source, session=body.session)
    records = await served.review.release(who, selection, body.reason, trust=body.trust, expected=body.versions)
    return answer(served, ReleasedAnswer(tuple(records)))


@router.post(
    "/review/reject",
    summary="Reject several records in quarantine",
    response_model=ReleasedAnswer,
    responses=problems(404, 409),
)
async def reject_several(body: RejectSeveralBody, who: Caller, served: Served) -> Response:
    """They are deleted with their history: `/v1/review/restore` brings them back. All must be in quarantine. For reviewers."""
    selection = Named(ids=tuple(body.ids), source=body.source, session=body.session)
    records = await served.review.reject(who, selection, body.reason, expected=body.versions)
    return answer(served, ReleasedAnswer(tuple(records)))


@router.post(
    "/review/restore",
    summary="Bring back records that were rejected",
    response_model=ReleasedAnswer,
    responses=problems(404, 409),
)
async def restore_several(body: RestoreBody, who: Caller, served: Served) -> Response:
    """They are in quarantine again, not recalled. For reviewers."""
    records = await served.review.restore(who, body.ids, body.reason)
    return answer(served, ReleasedAnswer(tuple(records)))


@router.post(
    "/review/purge",
    summary="Remove several records in quarantine for good",
    response_model_exclude_defaults=True,
    responses=problems(404, 409),
)
async def purge_several(body: SeveralBody, who: Caller, served: Served) -> Purged:
    """Every version of them; nothing brings them back. All of them must be in quarantine, or rejected. For reviewers."""
    selection = Named(ids=tuple(body.ids), source=body.source, session=body.session)
    return await served.review.purge(who, selection, body.reason)


@router.post(
    "/review/{id}/release",
    summary="Let a record out of quarantine",
    response_model=Record,
    responses=problems(404, 409),
)
async def release(id: Id, body: ReleaseBody, who: Caller, served: Served) -> Response:
    """From now on it is recalled, labelled as untrusted unless `trust` says otherwise. For reviewers."""
    versions = None if body.expected is None else {id: body.expected}
    [record] = await served.review.release(who, Named(ids=(id,)), body.reason, trust=body.trust, expected=versions)
    return answer(served, record)


@router.post(
    "/review/{id}/reject",
    summary="Reject a record in quarantine",
    response_model=Record,
    responses=problems(404, 409),
)
async def reject(id: Id, body: RejectBody, who: Caller, served: Served) -> Response:
    """It is deleted with its history, and can be restored. For reviewers."""
    versions = None if body.expected is None else {id: body.expected}
    [record] = await served.review.reject(who, Named(ids=(id,)), body.reason, expected=versions)
    return answer(served, record)


@router.post(
    "/review/{id}/restore",
    summary="Bring back a record that was rejected",
    response_model=Record,
    responses=problems(404, 409),
)
async def restore(id: Id, body: ReasonBody, who: Caller, served: Served) -> Response:
    """It is in quarantine again, not recalled. For reviewers."""
    [record] = await served.review.restore(who, [id], body.reason)
    return answer(served, record)


@router.post(
    "/review/{id}/purge",
    summary="Remove a record in quarantine for good",
    response_model_exclude_defaults=True,
    responses=problems(404, 409),
)
async def purge(id: Id, body: ReasonBody, who: Caller, served: Served) -> Purged:
    """Every version of it; nothing brings it back. The reason stays in the audit. For reviewers."""
    return await served.review.purge(who, Named(ids=(id,)), body.reason)


@router.post(
    "/review/findings/{id}/release",
    summary="Let a finding out of quarantine",
    response_model=ItemAnswer,
    responses=problems(404, 409),
)
async def release_finding(id: ItemId, body: ReasonBody, who: Caller, served: Served) -> Item:
    """It is `working` from now on, and can be promoted. For reviewers."""
    return await served.review.release_finding(who, id, body.reason)


@router.post(
    "/review/findings/{id}/purge",
    status_code=204,
    summary="Remove a finding in quarantine for good",
    responses=problems(404, 409),
)
async def purge_finding(id: ItemId, body: ReasonBody, who: Caller, served: Served) -> None:
    """The reason stays in the audit. For reviewers."""
    await served.review.purge_finding(who, id, body.reason)


@router.post("/rollback", summary="Take back all that one source wrote", responses=problems(404, 409))
async def rollback(body: RollbackBody, who: Caller, served: Served) -> RolledBack:
    """
    Every record that stands as a source, a session, an actor or an import wrote it is set back to the version before, or deleted
    where there is none. What others wrote since stays. It is itself taken back by its id. For reviewers.
    """
    return await served.review.rollback(who, body.origin(), body.reason, dry_run=body.dry_run)
