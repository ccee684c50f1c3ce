"""Looking after the memory, at the native door."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, KeyedCaller, Served
from commonplace.server.door import only_conditions
from commonplace.values.embedder import EmbedderStatus
from commonplace.values.upkeep import Stats
from commonplace.wire.maintenance import (
    EmbedderBody,
    FindingsAnswer,
    LogAnswer,
    ReindexedAnswer,
    RuleBody,
    RulesAnswer,
    TidyBody,
)
from commonplace.wire.queries import LogQuery, StatsQuery

router = APIRouter(prefix="/v1", tags=["native"])

# The body may be left out.
_TIDY = TidyBody()


@router.get("/stats", summary="How much there is", responses=problems())
async def stats(query: Annotated[StatsQuery, Query()], who: Caller, served: Served) -> Stats:
    """Of what is shared and of your own; with `everyone`, for admins, of the whole tenant."""
    return await served.keeping.stats(who, everyone=query.everyone)


@router.get("/check", summary="Look for faults", responses=problems())
async def check(who: Caller, served: Served) -> FindingsAnswer:
    """What the store finds when it looks at itself, each with advice. For admins."""
    return FindingsAnswer(tuple(await served.keeping.check(who)))


@router.get("/rules", summary="How long things are kept", responses=problems(), dependencies=[only_conditions()])
async def rules(who: Caller, served: Served) -> RulesAnswer:
    """Each rule with its scope, and its `max_age` in seconds. For admins."""
    return RulesAnswer(tuple(await served.keeping.rules(who)))


@router.put("/rules", summary="Set the rule of a scope", responses=problems())
async def set_rule(body: RuleBody, who: Caller, served: Served) -> RulesAnswer:
    """In place of the one before; one without limits lifts it. Answers all rules. For admins."""
    await served.keeping.set_rule(who, body.rule())
    return RulesAnswer(tuple(await served.keeping.rules(who)))


@router.post("/tidy", summary="Apply the rules now", responses=problems())
async def tidy(who: Caller, served: Served, body: TidyBody = _TIDY) -> LogAnswer:
    """
    Delete what is expired, too old or too many, and answer what was done; `undo` brings it back. For admins. With `purge_after`
    older deletions are removed for good.
    """
    after = None if body.purge_after is None else timedelta(seconds=body.purge_after)
    return LogAnswer(tuple(await served.keeping.tidy(who, purge_after=after)))


@router.get("/upkeep", summary="What tidying did", responses=problems())
async def upkeep(query: Annotated[LogQuery, Query()], who: Caller, served: Served) -> LogAnswer:
    """Newest first. For admins."""
    return LogAnswer(tuple(await served.keeping.upkeep_log(who, since=query.since, limit=query.limit)))


@router.get("/embedder", summary="Which embedders answer", responses=problems())
async def embedder_status(who: Caller, served: Served) -> EmbedderStatus:
    """And how far the store is with a change to others. For admins."""
    return await served.embedders.status(who)


@router.post("/embedder", summary="Change over to another embedder", responses=problems())
async def use_embedder(body: EmbedderBody, who: KeyedCaller, served: Served) -> EmbedderStatus:
    """In the background; searches go on with the old one until the new one knows every text. For the operator."""
    return await served.embedders.use(who, body.embedder)


@router.post("/reindex", summary="Make all words and vectors anew", responses=problems())
async def reindex(who: KeyedCaller, served: Served) -> ReindexedAnswer:
    """Of every tenant, while searches go on. For the operator; it takes a while."""
    return ReindexedAnswer(texts=await served.keeping.reindex(who))
