"""A line of the audit about a request for permission, as the mediator of a session writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from commonplace.values.json import Json
from commonplace.values.principal import Principal

PermissionAction = Literal[
    "permission.requested", "permission.voted", "permission.forbidden", "permission.resolved", "permission.timeout"
]
PERMISSION_ACTIONS: Final[tuple[PermissionAction, ...]] = get_args(PermissionAction)


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionEntry:
    """`who` None: the session itself did it. `details` name the request, and say no more of the call than its tool and its rule."""

    action: PermissionAction
    who: Principal | None
    run: str | None = None
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])
