"""
The remember door: the memory of a workspace, as qwen-code's clients use it.

A fact is handed over and filed by and by; its task is polled. All of it needs a key, also where the daemon is open otherwise.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Path

from commonplace.doors.qwen import room_memory, session_refusals, session_routes, session_views
from commonplace.doors.qwen.session_features import SESSION_FEATURES, daemon_limits
from commonplace.doors.qwen.session_routes import Sessions
from commonplace.doors.qwen.shapes import (
    Capabilities,
    DreamQueued,
    DreamTask,
    Feature,
    FileProblem,
    FileTold,
    Forget,
    ForgetQueued,
    ForgetTask,
    MemoryStatus,
    Policy,
    Remember,
    RememberQueued,
    RememberTask,
    WorkspaceEntry,
    Write,
    Written,
)
from commonplace.errors import QueueFull, RememberQueueFull
from commonplace.server.auth import Caller, KeyedCaller, Served
from commonplace.server.door import ApiDoor, only_conditions
from commonplace.server.task_wait import Patient
from commonplace.service.lanes import MODES, MOST_CONTENT, PENDING
from commonplace.values.task import MemoryTask

router = APIRouter(tags=["remember"])
DOOR: Final = ApiDoor(
    routers=(router, session_routes.router, session_views.router, session_refusals.router, room_memory.router)
)
TaskId = Annotated[str, Path(max_length=128, description="As the answer that queued it says.")]
CHANNEL_MEMORY: Final = "channel_memory"
MANAGED: Final = (
    "workspace_memory",
    "workspace_memory_remember",
    "workspace_memory_remember_project_scope",
    "workspace_memory_remember_user_scope",
    "workspace_memory_forget",
    "workspace_memory_forget_scope",
    "workspace_memory_dream",
)


@router.get("/capabilities", summary="What this daemon can")
async def capabilities(who: Caller, served: Served, sessions: Sessions) -> Capabilities:
    """Without managed memory its features are not among them."""
    managed = served.managed
    features = [*SESSION_FEATURES, CHANNEL_MEMORY, *(MANAGED if managed.is_on(who) else ())]
    cwd = str(managed.ground.workspace)
    details = {"workspace_memory_remember": Feature(modes=list(MODES))} if managed.is_on(who) else {}
    return Capabilities(
        features=features,
        feature_details=details,
        workspace_cwd=cwd,
        workspaces=[WorkspaceEntry(id=managed.ground.name, cwd=cwd)],
        policy=Policy(permission=sessions.options.policy),
        limits={
            "maxPendingMemoryTasks": PENDING,
            "maxRememberContentBytes": MOST_CONTENT,
            **daemon_limits(sessions.options),
        },
    )


@router.get("/workspace/memory", summary="Which files of memory there are", dependencies=[only_conditions()])
async def memory_status(who: Caller, served: Served) -> MemoryStatus:
    survey = await served.managed.survey(who)
    return MemoryStatus(
        workspace_cwd=survey.workspace,
        initialized=survey.initialized,
        files=[FileTold(path=file.path, scope=file.scope, bytes=file.bytes) for file in survey.files],
        total_bytes=survey.total_bytes,
        file_count=len(survey.files),
        rule_count=survey.rules,
        errors=[FileProblem(error=reason, hint=path) for path, reason in survey.errors],
    )


@router.post("/workspace/memory", summary="Add to a file of memory, or replace it")
async def write_memory(who: KeyedCaller, served: Served, body: Write = Write()) -> Written:  # noqa: B008 - frozen
    """What is added goes into the section `## Added Memories` of `MEMORY.md`."""
    added = await served.managed.add(who, scope=body.scope, content=body.content, mode=body.mode)
    return Written(
        file_path=added.path,
        bytes_written=added.bytes_written if added.changed else 0,
        mode=added.mode,
        changed=added.changed,
    )


@router.post("/workspace/memory/remember", status_code=202, summary="Hand over a fact")
async def remember(who: KeyedCaller, served: Served, body: Remember = Remember()) -> RememberQueued:  # noqa: B008 - frozen
    """It is filed in the background, by a model or by rules. Poll the task until it is `completed` or `failed`."""
    with _own_codes():
        queued = await served.lanes.remember(who, body.content, context_mode=body.context_mode, scope=body.scope)
    return RememberQueued.model_validate(_plain(queued))


@router.get("/workspace/memory/remember/{task}", summary="Look at a fact that was handed over")
async def remember_task(task: TaskId, who: KeyedCaller, served: Served, ended: Patient) -> RememberTask:
    """For the client that asked: one that sends another `X-Client-Id`, or none, does not see it."""
    return RememberTask.model_validate(
        _whole(await ended(who, task, partial(served.lanes.task, who, "remember", task)))
    )


@router.post("/workspace/memory/forget", status_code=202, summary="Have something forgotten")
async def forget(who: KeyedCaller, served: Served, body: Forget = Forget()) -> ForgetQueued:  # noqa: B008 - frozen
    """At most five entries that fit are removed. What goes can be brought back while it is in the history."""
    with _own_codes():
        queued = await served.lanes.forget(who, body.query, scope=body.scope)
    return ForgetQueued.model_validate(_plain(queued))


@router.get("/workspace/memory/forget/{task}", summary="Look at what is to be forgotten")
async def forget_task(task: TaskId, who: KeyedCaller, served: Served, ended: Patient) -> ForgetTask:
    """As for a fact that was handed over."""
    return ForgetTask.model_validate(_whole(await ended(who, task, partial(served.lanes.task, who, "forget", task))))


@router.post("/workspace/memory/dream", status_code=202, summary="Have the memory tidied")
async def dream(
    who: KeyedCaller, served: Served, body: Annotated[Any, Body(description="Nothing, or an empty object.")] = None
) -> DreamQueued:
    """Entries that say nearly the same become one, as one change."""
    del body
    with _own_codes():
        queued = await served.lanes.dream(who)
    return DreamQueued.model_validate(_plain(queued))


@router.get("/workspace/memory/dream/{task}", summary="Look at how the tidying goes")
async def dream_task(task: TaskId, who: KeyedCaller, served: Served, ended: Patient) -> DreamTask:
    """As for a fact that was handed over."""
    return DreamTask.model_validate(_whole(await ended(who, task, partial(served.lanes.task, who, "dream", task))))


@contextmanager
def _own_codes() -> Generator[None]:
    """Clients of this door know a full queue by a code of its own."""
    try:
        yield
    except QueueFull as error:
        raise RememberQueueFull from error


def _plain(task: MemoryTask) -> dict[str, Any]:
    fields = asdict(task)
    return {"task_id": fields.pop("id"), **fields}


def _whole(task: MemoryTask) -> dict[str, Any]:
    """With result and error, which are always there, and null where they do not apply."""
    return {**_plain(task), "result": task.result, "error": task.error and asdict(task.error)}
