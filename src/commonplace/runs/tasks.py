"""
Tasks of a run: who may take one, for how long, and what may become of it. Pure: each function looks at the tasks and the time, and
says which event is to be kept. The journal's lock makes sure that two who ask at once are answered one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hmac import compare_digest
from typing import Any, Final, cast

from commonplace.errors import Conflict, InvalidInput
from commonplace.values.json import Json
from commonplace.values.run import (
    PatchDraft,
    PatchOp,
    RunEventDraft,
    RunTask,
    RunTaskDraft,
    StepStatus,
    TaskAction,
    TaskClaim,
    TaskMove,
)
from commonplace.values.run_errors import (
    TaskLeaseInvalid,
    TaskLeaseRequired,
    TaskNotFound,
    TaskRevisionMismatch,
    TaskTransitionInvalid,
)

MOST_TASKS: Final = 1_000
SHORTEST_LEASE: Final = 5_000
LONGEST_LEASE: Final = 300_000
_MOVES: Final[Mapping[StepStatus, frozenset[StepStatus]]] = {
    "pending": frozenset({"runnable", "blocked"}),
    "runnable": frozenset({"blocked"}),
    "in_progress": frozenset({"blocked", "done", "failed", "runnable"}),
    "blocked": frozenset({"runnable", "failed"}),
    "failed": frozenset({"runnable"}),
    "done": frozenset(),
}
_NEEDS: Final[Mapping[TaskAction, frozenset[StepStatus]]] = {
    "heartbeat": frozenset({"in_progress"}),
    "complete": frozenset({"in_progress"}),
    "fail": frozenset({"in_progress", "blocked"}),
    "release": frozenset({"in_progress", "blocked"}),
    "retry": frozenset({"failed", "blocked"}),
}
_AFTER: Final[Mapping[TaskAction, StepStatus]] = {
    "complete": "done",
    "fail": "failed",
    "release": "runnable",
    "retry": "runnable",
}
_EVENTS: Final[Mapping[StepStatus, str]] = {
    "pending": "context.task.requeued",
    "runnable": "context.task.requeued",
    "in_progress": "context.task.started",
    "blocked": "context.task.blocked",
    "done": "context.task.completed",
    "failed": "context.task.failed",
}
_NO_LEASE: Final[Mapping[str, Json]] = {"lease_owner": None, "lease_token": None, "lease_expires_at_ms": None}


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenTask:
    """Which task a claim takes, if any, and the events that make it so."""

    task_id: str | None
    drafts: tuple[RunEventDraft, ...]


def new_task(tasks: Sequence[RunTask], draft: RunTaskDraft, now: int, id: str) -> RunEventDraft:
    """
    Raises:
        Conflict: a task has this id already.
        InvalidInput: it depends on one that is not there, begins in the middle, or there are too many.
    """
    task_ids = {task.id for task in tasks}
    task_id = draft.id or id
    if task_id in task_ids:
        raise Conflict(f"The run has a task {task_id!r:.80} already. Choose another id.")
    if missing := sorted({*draft.depends_on_task_ids} - task_ids):
        raise InvalidInput(
            f"The task depends on {missing[0]!r:.80}, which the run does not have. Create that one first."
        )
    if len(tasks) >= MOST_TASKS:
        raise InvalidInput(f"A run has at most {MOST_TASKS:,} tasks. Begin another run.")
    if draft.status not in (None, "pending", "runnable", "blocked"):
        raise InvalidInput("A new task is pending, runnable or blocked.")
    task = RunTask(
        id=task_id,
        task_type=draft.task_type,
        payload=draft.payload,
        status=draft.status or "pending",
        workflow_id=draft.workflow_id,
        workflow_node_id=draft.workflow_node_id,
        parent_task_id=draft.parent_task_id,
        depends_on_task_ids=draft.depends_on_task_ids,
        decision_ids=draft.decision_ids,
        artifact_ids=draft.artifact_ids,
        priority=draft.priority,
        max_attempts=draft.max_attempts,
        created_ts=now,
        updated_ts=now,
    )
    document: dict[str, Json] = {part.name: _plain(getattr(task, part.name)) for part in fields(RunTask)}
    return RunEventDraft(
        type="context.task.created",
        task_id=task_id,
        command_id=draft.command_id,
        payload={"task_id": task_id, "task": document},
        patch=PatchDraft(op="add_task", payload={"task_id": task_id, "task_type": task.task_type}),
    )


def chosen_task(tasks: Sequence[RunTask], claim: TaskClaim, now: int, token: str) -> ChosenTask:
    """The task that a claim takes: of those that wait, the most urgent, of these the oldest. Leases that are over end first."""
    drafts = [_requeued(task, now) for task in tasks if _is_stale(task, now)]
    waiting = [_free(task) if _is_stale(task, now) else task for task in tasks]
    finished = {task.id for task in tasks if task.status == "done"}
    candidates = [task for task in waiting if _is_claimable(task, claim, now, finished)]
    if not candidates:
        return ChosenTask(task_id=None, drafts=tuple(drafts))
    task = min(candidates, key=lambda task: (-task.priority, task.created_ts))
    lease = {"lease_owner": claim.agent_id, "lease_token": token, "lease_expires_at_ms": now + _lease(claim.lease_ms)}
    changes: dict[str, Json] = {"status": "in_progress", "assigned_agent": claim.agent_id, **lease}
    changes |= {"next_retry_at_ms": None}
    draft = _change(task, "context.task.started", "update_task_lease", changes, now)
    return ChosenTask(task_id=task.id, drafts=(*drafts, replace(draft, command_id=claim.command_id)))


def moved_task(tasks: Sequence[RunTask], task_id: str, move: TaskMove, now: int) -> RunEventDraft:
    """
    Raises:
        TaskNotFound: the run has no such task.
        TaskRevisionMismatch: it was changed since the caller read it.
        TaskLeaseRequired, TaskLeaseInvalid: somebody holds it, and the caller does not show that it is them.
        TaskTransitionInvalid: from its status there is no such way.
        InvalidInput: the action `status` names none.
    """
    task = next((task for task in tasks if task.id == task_id), None)
    if task is None:
        raise TaskNotFound(task=task_id)
    if move.expected_task_rev is not None and move.expected_task_rev != task.task_rev:
        raise TaskRevisionMismatch(task_rev=task.task_rev)
    target = _target(task, move)
    _require_lease(task, move, now)
    agent = move.agent_id or task.assigned_agent
    changes: dict[str, Json] = {"assigned_agent": agent}
    if move.action == "heartbeat":
        changes |= {"lease_owner": move.agent_id or task.lease_owner}
        changes |= {"lease_expires_at_ms": now + _lease(move.lease_ms)}
        draft = _change(task, "context.task.heartbeat", "update_task_lease", changes, now)
        return replace(draft, command_id=move.command_id)
    changes |= {"status": target, **_NO_LEASE, "last_error": move.error or task.last_error}
    if move.action == "retry":
        changes |= {"last_error": None, "next_retry_at_ms": now}
    if target == "failed":
        changes |= {"attempt": task.attempt + 1}
    draft = _change(task, _EVENTS[target], "update_task_state", changes, now)
    return replace(draft, command_id=move.command_id)


def _target(task: RunTask, move: TaskMove) -> StepStatus:
    if move.action == "status":
        if move.status is None:
            raise InvalidInput("The action `status` needs the status to go to.")
        if move.status not in _MOVES[task.status]:
            raise TaskTransitionInvalid(current_status=task.status, requested_status=move.status)
        return move.status
    if task.status not in _NEEDS[move.action]:
        raise TaskTransitionInvalid(current_status=task.status, action=move.action)
    if move.action == "retry" and task.attempt >= task.max_attempts:
        raise TaskTransitionInvalid(
            f"The task has failed {task.attempt} times, as often as it may.", current_status=task.status
        )
    return task.status if move.action == "heartbeat" else _AFTER[move.action]


def _require_lease(task: RunTask, move: TaskMove, now: int) -> None:
    if task.lease_token is None:
        return
    if move.lease_token is None:
        raise TaskLeaseRequired
    is_own = compare_digest(move.lease_token.encode(), task.lease_token.encode())
    if not is_own or _is_stale(task, now):
        raise TaskLeaseInvalid


def _is_claimable(task: RunTask, claim: TaskClaim, now: int, finished: set[str]) -> bool:
    return (
        task.status in ("runnable", "pending")
        and task.attempt < task.max_attempts
        and (claim.task_type is None or claim.task_type == task.task_type)
        and (claim.workflow_id is None or claim.workflow_id == task.workflow_id)
        and (task.next_retry_at_ms is None or task.next_retry_at_ms <= now)
        and finished.issuperset(task.depends_on_task_ids)
    )


def _is_stale(task: RunTask, now: int) -> bool:
    ends = task.lease_expires_at_ms
    return task.status == "in_progress" and ends is not None and ends <= now


def _free(task: RunTask) -> RunTask:
    cleared: dict[str, Any] = dict(_NO_LEASE)
    # As the event that requeues it leaves it: the next change counts from there.
    return replace(task, status="runnable", task_rev=task.task_rev + 1, **cleared)


def _requeued(task: RunTask, now: int) -> RunEventDraft:
    changes: dict[str, Json] = {"status": "runnable", **_NO_LEASE}
    return _change(task, "context.task.requeued", "update_task_state", changes, now)


def _change(task: RunTask, type: str, op: PatchOp, changes: Mapping[str, Json], now: int) -> RunEventDraft:  # noqa: A002 - as events call it
    whole: dict[str, Json] = {**changes, "task_rev": task.task_rev + 1, "updated_ts": now}
    return RunEventDraft(
        type=type,
        task_id=task.id,
        payload={"task_id": task.id, "changes": whole},
        patch=PatchDraft(op=op, payload={"task_id": task.id, **whole}),
    )


def _lease(ms: int) -> int:
    return min(max(ms, SHORTEST_LEASE), LONGEST_LEASE)


def _plain(value: Any) -> Json:
    return [*cast("tuple[Json, ...]", value)] if isinstance(value, tuple) else value
