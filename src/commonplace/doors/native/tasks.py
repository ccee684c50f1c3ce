"""Tasks: work that goes on after the request that asked for it, and what became of it."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query

from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.server.task_wait import Patient
from commonplace.service.jobs import MOST_TASKS
from commonplace.values.job import JobState
from commonplace.wire.shapes import Label
from commonplace.wire.tasks import TaskAnswer, TasksAnswer

router = APIRouter(prefix="/v1/tasks", tags=["native"])

TaskId = Annotated[str, Path(max_length=64, description="As the answer that queued it says.")]


@router.get("", summary="List tasks, newest first", dependencies=[only_conditions("kind", "state", "limit")])
async def list_tasks(
    who: Caller,
    served: Served,
    kind: Annotated[list[Label], Query(max_length=20, description="Only of these kinds, for instance `import`.")] = [],  # noqa: B006 - FastAPI copies it
    state: Annotated[list[JobState], Query(max_length=20, description="Only in these states.")] = [],  # noqa: B006 - as above
    limit: Annotated[int, Query(ge=1, le=MOST_TASKS)] = 100,
) -> TasksAnswer:
    """Your own, those that write to a scope you reach, and for an admin all of the tenant."""
    jobs = await served.tasks.list(who, kinds=kind, states=state, limit=limit)
    return TasksAnswer(tasks=[TaskAnswer.of(job) for job in jobs])


@router.get("/{id}", summary="Look at a task")
async def get_task(id: TaskId, who: Caller, served: Served, ended: Patient) -> TaskAnswer:
    """Its state is `done` or `failed` in the end: `wait` for it, or listen for `job.*` at `/v1/events`."""
    return TaskAnswer.of(await ended(who, id, partial(served.tasks.get, who, id)))


@router.post("/{id}/retry", summary="Try a failed task again")
async def retry_task(id: TaskId, who: Caller, served: Served) -> TaskAnswer:
    """Its attempts are counted anew. For whoever asked for it, and for admins."""
    return TaskAnswer.of(await served.tasks.retry(who, id))


@router.delete("/{id}", status_code=204, summary="Forget a task")
async def drop_task(id: TaskId, who: Caller, served: Served) -> None:
    """One that waits will not be done any more; one that runs cannot be dropped."""
    await served.tasks.drop(who, id)
