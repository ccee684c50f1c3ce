"""How much there is and of what, at the native door: scopes, counts, recalls, weights, latency."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from commonplace.doors.native.conditions import problems
from commonplace.doors.native.records import Id
from commonplace.memory.weighing import WEIGHTS
from commonplace.server.auth import Caller, Served, app_state
from commonplace.server.door import only_conditions
from commonplace.values.census import Recalls, Tally
from commonplace.values.query import Filter
from commonplace.wire.census import LatencyAnswer, ScopesAnswer, WeightsAnswer
from commonplace.wire.queries import CountsQuery, ScopesQuery, filters_of

router = APIRouter(prefix="/v1", tags=["native"])


@router.get("/scopes", summary="List scopes", responses=problems())
async def scopes(query: Annotated[ScopesQuery, Query()], who: Caller, served: Served) -> ScopesAnswer:
    """
    What is shared and your own, with their live records, last written first. `q` is looked for anywhere in their names;
    `everyone`, for admins, lists other people's, too.
    """
    return ScopesAnswer.of(
        await served.census.scopes(who, text=query.q, kinds=query.kind, limit=query.limit, everyone=query.everyone)
    )


@router.get("/counts", summary="Count records", responses=problems())
async def counts(query: Annotated[CountsQuery, Query()], who: Caller, served: Served) -> Tally:
    """
    How many records fit, by one or two of `source`, `kind`, `scope`, `trust`, `state` and `day`. What selects is as in
    `GET /v1/records`. At most 10,000 counts.
    """
    filter = Filter.parse(query.scopes, query.states(), filters_of(query))
    return await served.census.counts(who, filter, query.by)


@router.get(
    "/records/{id}/recalls",
    summary="Where a record was recalled",
    responses=problems(404),
    dependencies=[only_conditions("limit")],
)
async def recalls(id: Id, who: Caller, served: Served, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Recalls:
    """
    Searches and context blocks that showed the record, newest first: when, by whom, for which run, at which rank. Never what
    was asked. The latest 5,000 of the tenant are looked through.
    """
    return await served.census.recalls(who, id, limit=limit)


@router.get("/weights", summary="What a search weighs", responses=problems())
async def weights(who: Caller) -> WeightsAnswer:
    """Each weight that a search may override, with its default."""
    del who
    return WeightsAnswer(WEIGHTS)


@router.get("/latency", summary="How long recalls take", responses=problems())
async def latency(who: Caller, request: Request) -> LatencyAnswer:
    """Searches and context blocks of the last hour, in seconds, as the worker that answers has served them."""
    del who
    return LatencyAnswer.of(app_state(request).metrics.recalls.summary())
