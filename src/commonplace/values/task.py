"""Tasks of managed memory, as those who asked for them see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import Json, JsonObject
from commonplace.values.moment import Moment

TaskKind = Literal["remember", "forget", "dream"]
TaskStatus = Literal["queued", "running", "completed", "failed"]
ContextMode = Literal["workspace", "clean"]
TargetScope = Literal["project", "user"]
OVER: frozenset[TaskStatus] = frozenset({"completed", "failed"})


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFailure(JsonObject):
    """`code` is one that clients may know, `details` our own code for what went wrong."""

    code: str
    message: str
    details: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryTask(JsonObject):
    """
    Something to be remembered, forgotten or tidied. `result` is there once it is completed: `summary`, `files_touched`,
    `touched_scopes`, `method` and, as the kind has it, `removed_entries`, `touched_topics`, `deduped_entries`; of remembering `outcome`
    (saved, updated, known), `redactions`, `fallback` and `unsure`. `error` is there once it has failed, and while it waits for
    another attempt after one that failed.
    """

    id: str
    kind: TaskKind
    status: TaskStatus
    created_at: Moment
    updated_at: Moment
    context_mode: ContextMode | None = None
    scope: TargetScope | None = None
    result: Mapping[str, Json] | None = None
    error: TaskFailure | None = None

    @property
    def is_over(self) -> bool:
        return self.status in OVER
