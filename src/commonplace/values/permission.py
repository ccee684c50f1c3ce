"""Permission to use a tool: what is asked, what may be answered, what was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from commonplace.errors import Conflict, NotFound, QueueFull
from commonplace.values.json import Json, JsonObject


class PermissionNotFound(NotFound):
    """No permission is asked under this id. List what waits, and answer that."""

    code = "permission_not_found"


class PermissionResolved(Conflict):
    """This request was answered already, or is over. What was decided stays."""

    code = "permission_resolved"


class PermissionsFull(QueueFull):
    """Too many requests wait for an answer. Answer some of them first."""

    code = "permissions_full"


ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
"""What a tool does, in the words of the Agent Client Protocol."""

PermissionChoice = Literal["allow_once", "allow_session", "allow_workspace", "reject_once"]
CHOICES: Final[tuple[PermissionChoice, ...]] = ("allow_once", "allow_session", "allow_workspace", "reject_once")


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionRequest(JsonObject):
    """
    A tool call that waits for a person. `title` says in one line what it would do, `diff` how a file would change. `rule` is
    what is remembered if the answer is to hold longer: calls that have the same rule are then not asked about again.
    """

    id: str
    call: str
    tool: str
    kind: ToolKind
    title: str
    rule: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    diff: str | None = None
    choices: tuple[PermissionChoice, ...] = CHOICES


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionAnswer(JsonObject):
    """`voter` is the subject who answered; None: nobody did in time, or the turn was cancelled (`reason` says which)."""

    request: str
    choice: PermissionChoice
    voter: str | None = None
    reason: str | None = None

    @property
    def allows(self) -> bool:
        return self.choice != "reject_once"
