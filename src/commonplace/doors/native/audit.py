"""The audit at the native door."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from commonplace.doors.native.conditions import problems
from commonplace.doors.native.streams import LINES_OUT, streamed
from commonplace.server.auth import Caller, Served
from commonplace.values.audit import AuditPage, AuditRow
from commonplace.values.seal import SealState
from commonplace.wire.queries import AuditFilter, AuditListing, SealQuery
from commonplace.wire.shapes import to_json

router = APIRouter(prefix="/v1", tags=["native"])


@router.get("/audit", summary="Who did what", responses=problems())
async def audit(query: Annotated[AuditListing, Query()], who: Caller, served: Served) -> AuditPage:
    """
    Every write, every denial and every search, newest first: who, what, which record, from where, how it ended. A search
    leaves a hash of its question, never its words. For reviewers.
    """
    return await served.keeping.audit(who, query.query(), limit=query.limit, cursor=query.cursor)


@router.get(
    "/audit/export",
    summary="The audit as a file",
    response_class=StreamingResponse,
    responses={200: LINES_OUT, **problems()},
)
async def export(query: Annotated[AuditFilter, Query()], who: Caller, served: Served) -> StreamingResponse:
    """All rows that fit, newest first, one JSON document a line. For reviewers."""
    return await streamed(_lines(served.keeping.audit_stream(who, query.query())), "audit.jsonl")


@router.get("/audit/seals", summary="The seals of the audit", responses=problems())
async def seals(query: Annotated[SealQuery, Query()], who: Caller, served: Served) -> SealState:
    """
    Hashes over the rows of the audit, each together with the one before, newest first. With `verify` every row is hashed again, which
    takes a while: `broken` is the first seal that does not fit its rows. For the operator.
    """
    return await served.keeping.audit_seals(who, verify=query.verify, limit=query.limit)


async def _lines(pages: AsyncIterator[Sequence[AuditRow]]) -> AsyncIterator[bytes]:
    async for rows in pages:
        yield b"".join(to_json(row) + b"\n" for row in rows)
