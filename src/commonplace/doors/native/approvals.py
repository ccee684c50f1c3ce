"""Approvals, at the native door."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from commonplace.doors.native.conditions import problems
from commonplace.doors.native.knowledge import ItemId
from commonplace.server.auth import Caller, Served
from commonplace.values.approval import Approval, ApprovalPage
from commonplace.wire.approvals import ApprovalsQuery, ApproveBody
from commonplace.wire.shapes import Line

router = APIRouter(prefix="/v1", tags=["native"])


@router.post(
    "/approvals", status_code=201, summary="Approve a version of a record or a finding", responses=problems(404, 409)
)
async def approve(body: ApproveBody, who: Caller, served: Served) -> Approval:
    """
    From now on it can be promoted as it stands, by whoever may write. For reviewers, about what others wrote; an admin may approve
    their own, which makes it `verified`, not `human_approved`.
    """
    return await served.approvals.approve(who, body.id, body.version, kind=body.kind, reason=body.reason)


@router.get("/approvals", summary="Approvals, and requests for them", responses=problems())
async def approvals(query: Annotated[ApprovalsQuery, Query()], who: Caller, served: Served) -> ApprovalPage:
    """
    Newest first: your own, and for reviewers those about what their key reaches, or what is to be shared there. A promotion that nobody
    has approved leaves a request, with the text for the reviewer to read, until somebody approves or declines it or the text is changed.
    """
    return await served.approvals.approvals(who, state=query.state, limit=query.limit, cursor=query.cursor)


@router.delete(
    "/approvals/{id}", summary="Withdraw an approval or a request, or decline a request", responses=problems(404)
)
async def withdraw(
    id: ItemId,
    who: Caller,
    served: Served,
    reason: Annotated[Line | None, Query(description="Why; it is kept in the audit.")] = None,
) -> Approval:
    """Your own; a reviewer declines a request that they may read; an admin any. What was promoted under it stays."""
    return await served.approvals.withdraw(who, id, reason=reason)
