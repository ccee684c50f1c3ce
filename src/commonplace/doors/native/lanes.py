"""Remember, forget and dream: tasks of the workspace's Markdown, queued now and done by and by."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path

from commonplace.server.auth import KeyedCaller, Served
from commonplace.server.task_wait import Patient
from commonplace.values.task import MemoryTask
from commonplace.wire.lanes import ForgetBody, RememberBody

router = APIRouter(prefix="/v1", tags=["native"])
TaskId = Annotated[str, Path(max_length=128, description="As the answer that queued it says.")]


@router.post("/remember", status_code=202, summary="Hand over a fact")
async def remember(body: RememberBody, who: KeyedCaller, served: Served) -> MemoryTask:
    """It is filed in the background, by a model or by rules. Look at the task until it is `completed` or `failed`."""
    return await served.lanes.remember(who, body.content, context_mode=body.context_mode, scope=body.scope)


@router.get("/remember/{id}", summary="Look at a fact that was handed over")
async def remember_task(id: TaskId, who: KeyedCaller, served: Served, ended: Patient) -> MemoryTask:
    """For the client that asked: one that sends another `X-Client-Id`, or none, does not see it."""
    return await ended(who, id, partial(served.lanes.task, who, "remember", id))


@router.post("/forget", status_code=202, summary="Have something forgotten")
async def forget(body: ForgetBody, who: KeyedCaller, served: Served) -> MemoryTask:
    """At most five entries that fit are removed."""
    return await served.lanes.forget(who, body.query, scope=body.scope)


@router.get("/forget/{id}", summary="Look at what is to be forgotten")
async def forget_task(id: TaskId, who: KeyedCaller, served: Served, ended: Patient) -> MemoryTask:
    """As for a fact that was handed over."""
    return await ended(who, id, partial(served.lanes.task, who, "forget", id))


@router.post("/dream", status_code=202, summary="Have the memory tidied")
async def dream(who: KeyedCaller, served: Served) -> MemoryTask:
    """Entries that say nearly the same become one, as one change."""
    return await served.lanes.dream(who)


@router.get("/dream/{id}", summary="Look at how the tidying goes")
async def dream_task(id: TaskId, who: KeyedCaller, served: Served, ended: Patient) -> MemoryTask:
    """As for a fact that was handed over."""
    return await ended(who, id, partial(served.lanes.task, who, "dream", id))
