"""Tasks of managed memory on the wire of our own API: what is to be remembered, forgotten, tidied."""

from __future__ import annotations

from pydantic import Field, JsonValue

from commonplace.values.task import ContextMode, MemoryTask, TargetScope, TaskFailure, TaskKind, TaskStatus
from commonplace.wire.shapes import Answer, Body, Moment, Text


class RememberBody(Body):
    content: Text = Field(examples=["We ship on Fridays."])
    context_mode: ContextMode = Field(
        default="workspace", description="`workspace`: existing memory is looked at. `clean`: none is."
    )
    scope: TargetScope | None = Field(default=None, description="To file it there and nowhere else.")


class ForgetBody(Body):
    query: Text = Field(examples=["the release day"])
    scope: TargetScope | None = Field(default=None, description="To look there and nowhere else.")


class FailureAnswer(Answer):
    code: str
    message: str
    details: str = Field(description="Our own code for what went wrong.")


class MemoryTaskAnswer(Answer):
    """A task as it stands. `result` is there once it is completed, `error` once it has failed."""

    id: str
    kind: TaskKind
    status: TaskStatus
    created_at: Moment
    updated_at: Moment
    context_mode: ContextMode | None
    scope: TargetScope | None
    result: dict[str, JsonValue] | None
    error: FailureAnswer | None

    @classmethod
    def of(cls, task: MemoryTask) -> MemoryTaskAnswer:
        error = task.error
        return cls(
            id=task.id,
            kind=task.kind,
            status=task.status,
            created_at=task.created_at,
            updated_at=task.updated_at,
            context_mode=task.context_mode,
            scope=task.scope,
            result=None if task.result is None else dict(task.result),
            error=None
            if error is None
            else FailureAnswer(code=error.code, message=error.message, details=error.details),
        )

    def value(self) -> MemoryTask:
        error = self.error
        return MemoryTask(
            id=self.id,
            kind=self.kind,
            status=self.status,
            created_at=self.created_at,
            updated_at=self.updated_at,
            context_mode=self.context_mode,
            scope=self.scope,
            result=self.result,
            error=None if error is None else TaskFailure(code=error.code, message=error.message, details=error.details),
        )
