"""Tasks on the wire: work that goes on after the request that asked for it."""

from __future__ import annotations

from typing import Any

from pydantic import Field, JsonValue

from commonplace.values.job import Job, JobState
from commonplace.values.json import Natural
from commonplace.values.moment import Moment
from commonplace.wire.shapes import Answer, shared


class TaskError(Answer):
    code: str
    message: str


class TaskAnswer(Answer):
    """
    A task as it stands. `done` of `total` is its progress, in units of its own. `error` says why it failed, or, while it is
    queued again, why its last attempt did.
    """

    id: str
    kind: str = Field(examples=["import"])
    state: JobState
    scope: str | None
    created_at: Moment
    created_by: str
    updated_at: Moment
    not_before: Moment | None
    client: str | None
    line: str | None = Field(default=None, description="Tasks of one line are done one after another.")
    attempts: Natural
    max_attempts: Natural
    done: Natural
    total: Natural
    result: dict[str, JsonValue] | None = Field(description="What came of it, once it is done.")
    error: TaskError | None

    @classmethod
    def of(cls, job: Job) -> TaskAnswer:
        """Without the payload, which says from where and in whose name."""
        scope = job.payload.get("scope")
        error = None if job.error_code is None else TaskError(code=job.error_code, message=job.error or "")
        more: dict[str, Any] = {
            "scope": scope if isinstance(scope, str) else None,
            "result": job.result if job.state == "done" else None,
            "error": None if job.state == "done" else error,
        }
        return cls(**{**shared(cls, job), **more})


class TasksAnswer(Answer):
    """Newest first."""

    tasks: list[TaskAnswer]
