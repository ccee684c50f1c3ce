"""Runs at the native door: how work unfolded, made again from its journal."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.service.runs import MOST_ROWS, MOST_RUNS
from commonplace.values.run import Blackboard, Checkpoint, RunPage, RunQuery, RunReplay, RunRows, RunState, RunStatus
from commonplace.wire.runs import CheckpointReasonBody, CheckpointsAnswer, RunEventsAnswer
from commonplace.wire.shapes import MAX_COUNT, Label, Line

router = APIRouter(prefix="/v1/runs", tags=["native"])

RunId = Annotated[str, Path(max_length=128, description="The run's id.")]


@router.get(
    "",
    summary="List runs, newest first",
    responses=problems(409),
    dependencies=[only_conditions("session", "status", "workspace", "everyone", "limit", "cursor")],
)
async def runs(
    who: Caller,
    served: Served,
    session: Annotated[Label | None, Query(description="Those of this session.")] = None,
    status: Annotated[RunStatus | None, Query(description="Those that have this status now.")] = None,
    workspace: Annotated[Label | None, Query(description="Those of this workspace.")] = None,
    everyone: Annotated[bool, Query(description="Other people's, too. For admins; the audit says so.")] = False,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = 50,
    cursor: Annotated[Line | None, Query(description="The `cursor` of the page before.")] = None,
) -> RunPage:
    """The caller's own."""
    query = RunQuery(session=session, status=status, workspace=workspace, everyone=everyone, limit=limit, cursor=cursor)
    return await served.runs.list(who, query)


@router.get("/{id}", summary="Show a run", responses=problems(404, 409))
async def show(id: RunId, who: Caller, served: Served) -> RunState:
    """As it is now. 409: it was made at another daemon, whose home folder is not shared with this one."""
    return await served.runs.get(who, id)


@router.delete("/{id}", status_code=204, summary="Delete a run", responses=problems(404, 409))
async def delete(id: RunId, who: Caller, served: Served) -> None:
    """Its journal, its blackboard and its checkpoints. Its artifacts stay, and so does what was learned from it."""
    await served.runs.delete(who, id)


@router.get(
    "/{id}/events",
    summary="What happened in a run",
    responses=problems(404, 409),
    dependencies=[only_conditions("after", "limit")],
)
async def events(
    id: RunId,
    who: Caller,
    served: Served,
    after: Annotated[int, Query(ge=0, le=MAX_COUNT, description="Those after this `seq`.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1_000,
) -> RunEventsAnswer:
    """In the order it happened, a page at a time."""
    rows = tuple(await served.runs.events(who, id, RunRows(after=after, limit=limit)))
    return RunEventsAnswer(rows, rows[-1].seq if len(rows) == limit else None)


@router.get("/{id}/blackboard", summary="The blackboard of a run", responses=problems(404, 409))
async def blackboard(id: RunId, who: Caller, served: Served) -> Blackboard:
    """Facts, decisions, open questions, artifacts, tasks and summaries that those who work on it share."""
    return await served.runs.blackboard(who, id)


@router.get(
    "/{id}/replay",
    summary="Replay a run",
    responses=problems(404, 409),
    dependencies=[only_conditions("upto", "from_checkpoint")],
)
async def replay(
    id: RunId,
    who: Caller,
    served: Served,
    upto: Annotated[int | None, Query(ge=0, le=MAX_COUNT, description="As it was after this event.")] = None,
    from_checkpoint: Annotated[bool, Query(description="Begin at the latest checkpoint, not at the beginning.")] = True,
) -> RunReplay:
    """The run made again from its journal, what is kept of it, and where they differ (`drift`)."""
    return await served.runs.replay(who, id, upto_seq=upto, from_checkpoint=from_checkpoint)


@router.get(
    "/{id}/checkpoints",
    summary="The checkpoints of a run",
    responses=problems(404, 409),
    dependencies=[only_conditions()],
)
async def checkpoints(id: RunId, who: Caller, served: Served) -> CheckpointsAnswer:
    return CheckpointsAnswer(tuple(await served.runs.checkpoints(who, id)))


@router.post("/{id}/checkpoints", status_code=201, summary="Keep a checkpoint", responses=problems(404, 409))
async def checkpoint(id: RunId, body: CheckpointReasonBody, who: Caller, served: Served) -> Checkpoint:
    """The run as it is now. A replay begins there."""
    return await served.runs.checkpoint(who, id, body.reason)
