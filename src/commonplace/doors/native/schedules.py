"""Schedules at the native door: what an agent is told by itself, when, and where."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.values.schedule import SchedulePage, SchedulePauseView, ScheduleProposal, ScheduleView
from commonplace.wire.schedules import (
    ScheduleBody,
    SchedulePauseBody,
    SchedulePausesAnswer,
    ScheduleProposalBody,
    ScheduleResumedAnswer,
    SchedulesQuery,
)
from commonplace.wire.shapes import Label

router = APIRouter(prefix="/v1/schedules", tags=["native"])

ScheduleId = Annotated[Label, Path(description="The schedule's id.")]


@router.post("/proposals", summary="Read when something is to be done from a sentence", responses=problems(404))
async def propose(body: ScheduleProposalBody, who: Caller, served: Served) -> ScheduleProposal:
    """English or Chinese, by rules. Nothing is set: show it, and send it back to be set."""
    return await served.schedules.propose(who, body.text, zone=body.zone, target=body.target)


@router.post("", status_code=201, summary="Set a schedule", responses=problems(404, 409))
async def add(body: ScheduleBody, who: Caller, served: Served) -> ScheduleView:
    """
    At its times the prompt is said in the target, in your name, with less than you may do yourself. 409: ten are enabled there already.
    """
    return await served.schedules.add(who, body.target, body.fields())


@router.get("", summary="List schedules, newest first", responses=problems(404))
async def schedules(query: Annotated[SchedulesQuery, Query()], who: Caller, served: Served) -> SchedulePage:
    """Yours; with `target`, all of a session of yours."""
    return await served.schedules.list(
        who, target=query.target, everyone=query.everyone, limit=query.limit, cursor=query.cursor
    )


@router.get("/pauses", summary="What is paused", responses=problems(), dependencies=[only_conditions()])
async def pauses(who: Caller, served: Served) -> SchedulePausesAnswer:
    return SchedulePausesAnswer(tuple(await served.schedules.pauses(who)))


@router.post("/pause", summary="Say nothing by itself, in a session or anywhere", responses=problems(404))
async def pause(body: SchedulePauseBody, who: Caller, served: Served) -> SchedulePauseView:
    """Without a target all of the tenant, which is for admins. What recurs is passed over; what is due once waits."""
    return await served.schedules.pause(who, body.target)


@router.post("/resume", summary="End a pause", responses=problems(404))
async def resume(body: SchedulePauseBody, who: Caller, served: Served) -> ScheduleResumedAnswer:
    return ScheduleResumedAnswer(await served.schedules.resume(who, body.target))


@router.get("/{id}", summary="Look at a schedule", responses=problems(404))
async def show(id: ScheduleId, who: Caller, served: Served) -> ScheduleView:
    return await served.schedules.get(who, id)


@router.delete("/{id}", status_code=204, summary="Cancel a schedule", responses=problems(404))
async def cancel(id: ScheduleId, who: Caller, served: Served) -> None:
    """For who set it, the owner of its session, and admins. A turn that is played goes on."""
    await served.schedules.cancel(who, id)


@router.post("/{id}/run", summary="Play a turn of a schedule now", responses=problems(404, 409))
async def run(id: ScheduleId, who: Caller, served: Served) -> ScheduleView:
    """Beside its times. `last` says what became of it, as soon as `running` is false again."""
    return await served.schedules.run(who, id)


@router.post("/{id}/enable", summary="Enable a schedule", responses=problems(404, 409))
async def enable(id: ScheduleId, who: Caller, served: Served) -> ScheduleView:
    return await served.schedules.enable(who, id)


@router.post("/{id}/disable", summary="Disable a schedule", responses=problems(404, 409))
async def disable(id: ScheduleId, who: Caller, served: Served) -> ScheduleView:
    return await served.schedules.disable(who, id)
