"""Agents and workspaces on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject, Natural
from commonplace.values.principal import Owner
from commonplace.wire.shapes import Body

Name = Annotated[str, Field(min_length=1, max_length=255)]
OwnerId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]


class AgentBody(Body):
    """Without an `id` it is given one. Its memory is off until you switch it on."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Release notes", "id": "release-notes", "memory_enabled": True}]}
    )

    name: Name
    id: OwnerId | None = None
    memory_enabled: bool = False


class AgentChangeBody(Body):
    """What is absent stays. While `memory_enabled` is false, the agent's memory is in no prompt."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"memory_enabled": False}]})

    name: Name | None = None
    memory_enabled: bool | None = None


class WorkspaceBody(Body):
    """Without an `id` it is given one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Web shop", "id": "web"}]})

    name: Name
    id: OwnerId | None = None


class WorkspaceChangeBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Web shop"}]})

    name: Name


@dataclass(frozen=True, slots=True)
class AgentsAnswer(JsonObject):
    """By name."""

    agents: tuple[Owner, ...]


@dataclass(frozen=True, slots=True)
class WorkspacesAnswer(JsonObject):
    """By name."""

    workspaces: tuple[Owner, ...]


@dataclass(frozen=True, slots=True)
class OwnerRemovedAnswer(JsonObject):
    """`records`: how many memories were deleted with it. `undo` brings each back."""

    id: str
    records: Natural
