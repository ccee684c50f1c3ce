"""The governed door: Tandem's routes of context runs."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import StreamingResponse

from commonplace.doors.tandem.run_shapes import (
    BlackboardAnswer,
    CheckpointAnswer,
    CheckpointBody,
    CheckpointMadeAnswer,
    ClaimBody,
    DriverBody,
    EventBody,
    EventKeptAnswer,
    EventsAnswer,
    LeaseCheckAnswer,
    LeaseCheckBody,
    LedgerAnswer,
    LedgerSummary,
    NextStepAnswer,
    PatchBody,
    PatchesAnswer,
    PatchKeptAnswer,
    ReplayAnswer,
    RunBody,
    RunChangedAnswer,
    RunOnlyAnswer,
    RunsListAnswer,
    RunTasksAnswer,
    TaskChangedAnswer,
    TasksBody,
    TasksMadeAnswer,
    TodosBody,
    TransitionBody,
)
from commonplace.doors.tandem.shapes import Name
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.service.run_streams import FollowedRuns, RunCursor
from commonplace.service.runs import MOST_ROWS
from commonplace.values.moment import to_ms
from commonplace.values.run import RunCommit, RunEnvelope, RunQuery, RunRows, TaskOutcome
from commonplace.wire.shapes import MAX_COUNT, to_json

router = APIRouter(prefix="/context/runs", tags=["governed"])

RunId = Annotated[str, Path(max_length=128, description="The run's id.")]
SinceSeq = Annotated[int, Query(ge=0, le=MAX_COUNT, description="Those after this one.")]
Tail = Annotated[int | None, Query(ge=1, le=MOST_ROWS, description="The last so many.")]
StreamTail = Annotated[int | None, Query(ge=0, le=500, description="How much of what is past.")]
_ROWS: Final = only_conditions("since_seq", "tail")
_KEEP_ALIVE: Final = b": keep-alive\n\n"
_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Server-sent events, without an end.", "content": {"text/event-stream": {}}}
}


@router.get(
    "",
    summary="List runs, newest first",
    response_model_exclude_none=True,
    dependencies=[only_conditions("workspace", "run_type", "limit")],
)
async def runs(
    who: Caller,
    served: Served,
    workspace: Annotated[Name | None, Query(description="Those of this workspace.")] = None,
    run_type: Annotated[Name | None, Query(description="Those of this type.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> RunsListAnswer:
    """The caller's own."""
    page = await served.runs.list(who, RunQuery(workspace=workspace, run_type=run_type, limit=limit))
    return RunsListAnswer(runs=list(page.runs))


@router.post("", summary="Begin a run", response_model_exclude_none=True)
async def create(body: RunBody, who: Caller, served: Served) -> RunChangedAnswer:
    """It belongs to the caller. Its journal begins with the first event."""
    return RunChangedAnswer(run=await served.runs.create(who, body.draft()))


@router.get(
    "/events/stream",
    summary="Follow several runs",
    response_class=StreamingResponse,
    responses=_STREAM,
    dependencies=[only_conditions("workspace", "run_ids", "cursor", "tail")],
)
async def follow_runs(
    who: Caller,
    served: Served,
    workspace: Annotated[Name | None, Query(description="The caller's runs in this workspace.")] = None,
    run_ids: Annotated[str | None, Query(max_length=16_384, description="These runs, with commas between.")] = None,
    cursor: Annotated[str | None, Query(max_length=65_536, description="Where an earlier stream ended.")] = None,
    tail: StreamTail = None,
    resume: Annotated[str | None, Header(alias="Last-Event-ID", max_length=65_536, description="As `cursor`.")] = None,
) -> StreamingResponse:
    """
    Events and patches, each in an envelope `{kind, run_id, workspace, seq, ts_ms, payload}`; the `id` of a frame is the cursor after it.
    First comes what the cursor does not have.
    """
    names = tuple(dict.fromkeys(name.strip() for name in (run_ids or "").split(",") if name.strip()))
    followed = FollowedRuns(run_ids=names, workspace=workspace, cursor=RunCursor.parse(resume or cursor), tail=tail)
    subscribed = await served.run_streams.begin(who, followed)
    ready: dict[str, Any] = {
        "kind": "ready",
        "workspace": workspace or "",
        "subscribed_run_ids": list(subscribed),
        "timestamp_ms": to_ms(served.desk.clock.now()),
    }

    async def frames() -> AsyncIterator[bytes]:
        place = followed.cursor
        yield _frame(to_json(ready))
        async for portion in served.run_streams.follow(who, followed):
            for envelope in portion:
                place = place.after(envelope)
                yield _frame(to_json(envelope), id=str(place))
            if not portion:
                yield _KEEP_ALIVE

    return StreamingResponse(frames(), media_type="text/event-stream", headers=_HEADERS)


@router.get("/{run_id}", summary="Show a run", response_model_exclude_none=True)
async def show(run_id: RunId, who: Caller, served: Served) -> RunOnlyAnswer:
    return RunOnlyAnswer(run=await served.runs.get(who, run_id))


@router.get("/{run_id}/events", summary="The events of a run", response_model_exclude_none=True, dependencies=[_ROWS])
async def events(
    run_id: RunId, who: Caller, served: Served, since_seq: SinceSeq = 0, tail: Tail = None
) -> EventsAnswer:
    """In their order; at most 10,000 at a time."""
    return EventsAnswer(events=[*await served.runs.events(who, run_id, RunRows(after=since_seq, tail=tail))])


@router.post("/{run_id}/events", summary="Append an event", response_model_exclude_none=True)
async def append(run_id: RunId, body: EventBody, who: Caller, served: Served) -> EventKeptAnswer:
    """It is durable once it is answered. The same `command_id` again answers the event of the first time. Not for events of tasks."""
    return EventKeptAnswer(event=await served.runs.append(who, run_id, body.draft()))


@router.get(
    "/{run_id}/events/stream",
    summary="Follow a run",
    response_class=StreamingResponse,
    responses=_STREAM,
    dependencies=[_ROWS],
)
async def follow_run(
    run_id: RunId, who: Caller, served: Served, since_seq: SinceSeq = 0, tail: StreamTail = None
) -> StreamingResponse:
    """First what is past, then what comes, each as `{type: "run.event", properties: …}`."""
    cursor = RunCursor(events={run_id: since_seq} if since_seq or tail is None else {})
    followed = FollowedRuns(run_ids=(run_id,), cursor=cursor, tail=tail, patches=False)
    await served.run_streams.begin(who, followed)
    ready: dict[str, Any] = {
        "status": "ready",
        "stream": "context_run_events",
        "runID": run_id,
        "timestamp_ms": to_ms(served.desk.clock.now()),
    }

    async def frames() -> AsyncIterator[bytes]:
        yield _frame(to_json(ready))
        async for portion in served.run_streams.follow(who, followed):
            for envelope in portion:
                yield _frame(_run_event(envelope), id=str(envelope.seq))
            if not portion:
                yield _KEEP_ALIVE

    return StreamingResponse(frames(), media_type="text/event-stream", headers=_HEADERS)


@router.get("/{run_id}/blackboard", summary="The blackboard of a run", response_model_exclude_none=True)
async def blackboard(run_id: RunId, who: Caller, served: Served) -> BlackboardAnswer:
    return BlackboardAnswer(blackboard=await served.runs.blackboard(who, run_id))


@router.get(
    "/{run_id}/blackboard/patches",
    summary="The patches of a blackboard",
    response_model_exclude_none=True,
    dependencies=[_ROWS],
)
async def patches(
    run_id: RunId, who: Caller, served: Served, since_seq: SinceSeq = 0, tail: Tail = None
) -> PatchesAnswer:
    return PatchesAnswer(patches=[*await served.runs.patches(who, run_id, RunRows(after=since_seq, tail=tail))])


@router.post("/{run_id}/blackboard/patches", summary="Change the blackboard", response_model_exclude_none=True)
async def patch(run_id: RunId, body: PatchBody, who: Caller, served: Served) -> PatchKeptAnswer:
    """Facts, decisions, questions and artifacts are added, summaries replaced. Not for tasks."""
    commit = await served.runs.patch(who, run_id, body.draft(), command_id=body.command_id)
    return PatchKeptAnswer(deduped=commit.deduped, patch=_last_patch(commit), blackboard=commit.blackboard)


@router.get("/{run_id}/tasks", summary="The tasks of a run", response_model_exclude_none=True)
async def tasks(run_id: RunId, who: Caller, served: Served) -> RunTasksAnswer:
    return RunTasksAnswer(tasks=[*await served.runs.tasks(who, run_id)])


@router.post("/{run_id}/tasks", summary="Create tasks", response_model_exclude_none=True)
async def create_tasks(run_id: RunId, body: TasksBody, who: Caller, served: Served) -> TasksMadeAnswer:
    """All or none of them; one whose `command_id` was done before is passed over."""
    commit = await served.runs.create_tasks(who, run_id, [task.draft() for task in body.tasks])
    new_ids = {patch.seq for patch in commit.patches}
    task_ids = {event.task_id for event in commit.events if event.seq in new_ids}
    return TasksMadeAnswer(
        tasks=[task for task in commit.state.tasks if task.id in task_ids],
        patches=list(commit.patches),
        blackboard=commit.blackboard,
    )


@router.post("/{run_id}/tasks/claim", summary="Take a task", response_model_exclude_none=True)
async def claim(run_id: RunId, body: ClaimBody, who: Caller, served: Served) -> TaskChangedAnswer:
    """The most urgent that waits, of these the oldest; none: `task` is left out. It is yours while its lease lasts."""
    return _task_answer(await served.runs.claim(who, run_id, body.value()))


@router.post("/{run_id}/tasks/{task_id}/transition", summary="Move a task", response_model_exclude_none=True)
async def transition(
    run_id: RunId, task_id: Annotated[Name, Path()], body: TransitionBody, who: Caller, served: Served
) -> TaskChangedAnswer:
    """409 with TASK_REV_MISMATCH, TASK_LEASE_REQUIRED, TASK_LEASE_INVALID or TASK_TRANSITION_INVALID, if it may not be."""
    return _task_answer(await served.runs.transition(who, run_id, task_id, body.move()))


@router.post("/{run_id}/checkpoints", summary="Keep a checkpoint", response_model_exclude_none=True)
async def checkpoint(run_id: RunId, body: CheckpointBody, who: Caller, served: Served) -> CheckpointMadeAnswer:
    return CheckpointMadeAnswer(checkpoint=await served.runs.checkpoint(who, run_id, body.reason))


@router.get("/{run_id}/checkpoints/latest", summary="The latest checkpoint")
async def latest_checkpoint(run_id: RunId, who: Caller, served: Served) -> CheckpointAnswer:
    return CheckpointAnswer(checkpoint=await served.runs.latest_checkpoint(who, run_id))


@router.get(
    "/{run_id}/replay",
    summary="Replay a run",
    response_model_exclude_none=True,
    dependencies=[only_conditions("upto_seq", "from_checkpoint")],
)
async def replay(
    run_id: RunId,
    who: Caller,
    served: Served,
    upto_seq: Annotated[int | None, Query(ge=0, le=MAX_COUNT)] = None,
    from_checkpoint: Annotated[bool, Query()] = True,
) -> ReplayAnswer:
    """The run made again from its journal, what is kept of it, and where they differ."""
    told_again = await served.runs.replay(who, run_id, upto_seq=upto_seq, from_checkpoint=from_checkpoint)
    return ReplayAnswer.model_validate(told_again)


@router.post("/{run_id}/driver/next", summary="Choose the next step", response_model_exclude_none=True)
async def driver_next(run_id: RunId, who: Caller, served: Served, body: DriverBody | None = None) -> NextStepAnswer:
    """The first that is runnable, else the first that is pending. A `dry_run` changes nothing."""
    dry_run = body is not None and body.dry_run
    next_step = await served.runs.driver_next(who, run_id, dry_run=dry_run)
    return NextStepAnswer(
        dry_run=dry_run,
        run_id=run_id,
        selected_step_id=next_step.step.step_id if next_step.step else None,
        target_status="running" if next_step.step else next_step.run.status,
        why_next_step=next_step.why,
        run=next_step.run,
    )


@router.post("/{run_id}/todos/sync", summary="Make a list of todos the steps", response_model_exclude_none=True)
async def todos_sync(run_id: RunId, body: TodosBody, who: Caller, served: Served) -> RunChangedAnswer:
    source = {"source_session_id": body.source_session_id, "source_run_id": body.source_run_id}
    return RunChangedAnswer(
        run=await served.runs.todos_sync(who, run_id, body.items(), replace=body.replace, source=source)
    )


@router.post("/{run_id}/lease/validate", summary="Is the work in the right folder?", response_model_exclude_none=True)
async def validate_lease(run_id: RunId, body: LeaseCheckBody, who: Caller, served: Served) -> LeaseCheckAnswer:
    """If not, the run is paused."""
    commit = await served.runs.validate_lease(who, run_id, body.current_path, phase=body.phase, step_id=body.step_id)
    return LeaseCheckAnswer(ok=not commit.events, mismatch=bool(commit.events), status=commit.state.status)


@router.get("/{run_id}/ledger", summary="What a run did by tools, and its cost", response_model_exclude_none=True)
async def ledger(run_id: RunId, who: Caller, served: Served) -> LedgerAnswer:
    rows = await served.runs.ledger(who, run_id)
    summary = LedgerSummary(
        count=len(rows.records), tools=dict(rows.tools), failures=rows.failures, cost_micro_usd=rows.cost_micro_usd
    )
    return LedgerAnswer(run_id=run_id, records=list(rows.records), summary=summary)


def _task_answer(outcome: TaskOutcome) -> TaskChangedAnswer:
    commit = outcome.commit
    return TaskChangedAnswer(
        deduped=commit.deduped, task=outcome.task, patch=_last_patch(commit), blackboard=commit.blackboard
    )


def _last_patch(commit: RunCommit) -> Any:
    return commit.patches[-1] if commit.patches else None


def _run_event(envelope: RunEnvelope) -> bytes:
    return b'{"type":"run.event","properties":' + to_json(envelope.payload) + b"}"


def _frame(document: bytes, id: str | None = None) -> bytes:
    # JSON of ours is one line, whatever it holds.
    return (b"" if id is None else b"id: " + id.encode() + b"\n") + b"data: " + document + b"\n\n"
