"""
What an event makes of a run. Pure: the same state and the same event always give the same state, so a replay of the journal is
the state itself.

An event is kept with the status that the run has after it. So a reader of the journal needs no table of types to know it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, cast

from commonplace.values.json import Json
from commonplace.values.run import (
    ENDED,
    STEP_STATUSES,
    TASK_EVENTS,
    RunEvent,
    RunEventDraft,
    RunState,
    RunStatus,
    RunStep,
    RunTask,
    StepStatus,
)
from commonplace.wire.shapes import parsed

MOST_STEPS: Final = 1_000
MOST_TITLE: Final = 500
SESSION_STEP: Final = "session-run"
_MARKS: Final = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+")

_FIXED: Final[Mapping[str, RunStatus]] = {
    "session_run_started": "running",
    "planning_started": "awaiting_approval",
    "plan_approved": "running",
    "run_paused": "paused",
    "run_resumed": "running",
    "run_cancelled": "cancelled",
    "task_retry_requested": "running",
    "revision_requested": "blocked",
}
_STEP_AFTER: Final[Mapping[str, StepStatus]] = {
    "step_started": "in_progress",
    "task_started": "in_progress",
    "step_completed": "done",
    "step_done": "done",
    "task_completed": "done",
    "step_failed": "failed",
    "task_failed": "failed",
    "task_retry_requested": "runnable",
}
_SESSION_STEP_AFTER: Final[Mapping[RunStatus, StepStatus]] = {
    "completed": "done",
    "failed": "failed",
    "cancelled": "blocked",
    "blocked": "blocked",
    "paused": "blocked",
}
_REASONS: Final[Mapping[str, str]] = {
    "session_run_started": "The session is at work.",
    "session_run_finished": "The session has ended its work.",
    "planning_started": "The plan waits for approval.",
    "plan_approved": "The plan was approved.",
    "run_paused": "Somebody paused the run.",
    "run_resumed": "Somebody let the run go on.",
    "run_cancelled": "Somebody cancelled the run.",
    "task_retry_requested": "Somebody asked for another try.",
    "revision_requested": "Somebody asked for a revision.",
}
_FRESH_STARTS: Final = frozenset({"session_run_started", "planning_started", "plan_approved", "task_retry_requested"})
_OPEN: Final[frozenset[StepStatus]] = frozenset({"pending", "runnable"})
_TASK_FIELDS: Final = frozenset(part.name for part in fields(RunTask))


def status_after(state: RunState, draft: RunEventDraft) -> RunStatus:
    """What the run comes to be by an event that is about to be kept."""
    fixed = _FIXED.get(draft.type)
    if fixed is not None:
        return fixed
    if draft.status is not None:
        return draft.status
    return "completed" if draft.type == "session_run_finished" else state.status


def advanced(state: RunState, event: RunEvent) -> RunState:
    """The run after the event. One that it has already changes nothing."""
    if event.seq <= state.last_event_seq:
        return state
    is_over = event.status in ENDED
    # One call for all of it: a long journal is replayed a line at a time.
    return replace(
        state,
        status=event.status,
        steps=_steps(state, event),
        tasks=_tasks(state.tasks, event),
        why_next_step=_why(state, event),
        last_error=_text(event.payload, "error") or (None if event.type in _FRESH_STARTS else state.last_error),
        started_at_ms=_started(state, event),
        ended_at_ms=(state.ended_at_ms if state.is_over and state.ended_at_ms else event.ts_ms) if is_over else None,
        revision=event.revision,
        last_event_seq=event.seq,
        updated_at_ms=event.ts_ms,
    )


def _started(state: RunState, event: RunEvent) -> int | None:
    if state.started_at_ms is None and (event.status == "running" or event.type == "planning_started"):
        return event.ts_ms
    return state.started_at_ms


def _why(state: RunState, event: RunEvent) -> str | None:
    if why := _text(event.payload, "why_next_step"):
        return why
    if event.type == "revision_requested" and (feedback := _text(event.payload, "feedback")):
        return feedback
    return _REASONS.get(event.type, state.why_next_step)


# ---- steps


def _steps(state: RunState, event: RunEvent) -> tuple[RunStep, ...]:
    match event.type:
        case "planning_started":
            return state.steps or planned_steps(event.payload.get("steps"), state.objective)
        case "todo_synced":
            return _merged(state.steps, event.payload)
        case "plan_approved":
            first = next((step.step_id for step in state.steps if step.status in _OPEN), None)
            return _with_status(state.steps, first, "in_progress")
        case "session_run_started":
            return _with_status(state.steps, event.step_id or SESSION_STEP, "in_progress")
        case "session_run_finished":
            return _with_status(
                state.steps, event.step_id or SESSION_STEP, _SESSION_STEP_AFTER.get(event.status, "done")
            )
        case _:
            return _with_status(state.steps, event.step_id, _step_status(event))


def _step_status(event: RunEvent) -> StepStatus | None:
    status = event.payload.get("step_status")
    return status if status in STEP_STATUSES else _STEP_AFTER.get(event.type)


def _with_status(steps: tuple[RunStep, ...], step_id: str | None, status: StepStatus | None) -> tuple[RunStep, ...]:
    if status is None or step_id is None or not any(step.step_id == step_id for step in steps):
        return steps
    return tuple(replace(step, status=status) if step.step_id == step_id else step for step in steps)


def planned_steps(plan: Json, objective: str) -> tuple[RunStep, ...]:
    """The steps that a plan names, else a step for each line of the objective."""
    rows = cast("list[Json]", plan) if isinstance(plan, list) else []
    steps = [step for number, row in enumerate(rows, 1) if (step := _step(row, number))]
    if not steps:
        lines = [_MARKS.sub("", line.strip()) for line in objective.splitlines() if line.strip()]
        steps = [
            RunStep(step_id=f"step-{number}", title=line[:MOST_TITLE])
            for number, line in enumerate(lines[:MOST_STEPS], 1)
        ]
    return tuple(steps[:MOST_STEPS])


def _step(row: Json, number: int) -> RunStep | None:
    if isinstance(row, str) and row.strip():
        return RunStep(step_id=f"step-{number}", title=row.strip()[:MOST_TITLE])
    if not isinstance(row, dict):
        return None
    title = _text(row, "title") or _text(row, "content")
    status = row.get("status")
    if title is None:
        return None
    return RunStep(
        step_id=_text(row, "step_id") or f"step-{number}",
        title=title[:MOST_TITLE],
        status=status if status in STEP_STATUSES else "pending",
    )


def _merged(steps: tuple[RunStep, ...], payload: Mapping[str, Json]) -> tuple[RunStep, ...]:
    """The steps with those of a list of things to do: in place of them, or beside those that it does not name."""
    rows = payload.get("steps")
    new_steps = [
        step for number, row in enumerate(rows if isinstance(rows, list) else [], 1) if (step := _step(row, number))
    ]
    if payload.get("replace", True) is not False:
        return tuple(new_steps[:MOST_STEPS])
    by_id = {step.step_id: step for step in (*steps, *new_steps)}
    return tuple(by_id.values())[:MOST_STEPS]


# ---- tasks


def _tasks(tasks: tuple[RunTask, ...], event: RunEvent) -> tuple[RunTask, ...]:
    """A task event holds the new task, or what has changed of one."""
    if not event.type.startswith(TASK_EVENTS):
        return tasks
    new_task = event.payload.get("task")
    if isinstance(new_task, dict):
        task = parsed(RunTask, new_task)
        return (*(other for other in tasks if other.id != task.id), task)
    changes = event.payload.get("changes")
    if not isinstance(changes, dict):
        return tasks
    of_task: dict[str, Any] = {name: value for name, value in changes.items() if name in _TASK_FIELDS}
    return tuple(replace(task, **of_task) if task.id == event.task_id else task for task in tasks)


def _text(payload: Mapping[str, Json], name: str) -> str | None:
    value = payload.get(name)
    return value if isinstance(value, str) and value.strip() else None


def open_step(steps: Sequence[RunStep]) -> RunStep | None:
    """The step to do next: the first that is runnable, else the first that is pending."""
    return next(
        (step for status in ("runnable", "pending") for step in steps if step.status == status),
        None,
    )
