"""Agents and workspaces on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.agent_profile import AgentProfile, ApprovalMode, McpServerRow
from commonplace.values.json import JsonObject, Natural
from commonplace.values.principal import Owner
from commonplace.wire.shapes import MAX_LABEL, MAX_LINE, MAX_LIST, MAX_TEXT, Body

Name = Annotated[str, Field(min_length=1, max_length=255)]
OwnerId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]


class McpServerBody(Body):
    """
    A server of tools: a `command` with `args`, which runs on the daemon's machine, or a `url`. `env` and `token_env` are names of
    variables of the daemon; their values are in no row. `asks`: each call of its tools needs permission.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=MAX_LABEL)
    command: str | None = Field(default=None, max_length=MAX_LINE)
    args: list[str] = Field(default=[], max_length=MAX_LIST)
    url: str | None = Field(default=None, max_length=MAX_LINE)
    env: list[str] = Field(default=[], max_length=MAX_LIST)
    token_env: str | None = Field(default=None, max_length=MAX_LABEL)
    asks: bool = True

    def value(self) -> McpServerRow:
        return McpServerRow(
            name=self.name,
            command=self.command,
            args=tuple(self.args),
            url=self.url,
            env=tuple(self.env),
            token_env=self.token_env,
            asks=self.asks,
        )


class AgentProfileBody(Body):
    """
    How the agent is set up. `model` is one that the daemon allows. `skills` are folders with a `SKILL.md`, `resources` files and
    addresses; `tools` null: all. `approval`: `plan` (it changes nothing), `default` (it asks), `auto-edit`, `yolo` (it asks nothing).
    """

    model_config = ConfigDict(extra="forbid")

    persona: str = Field(default="", max_length=MAX_TEXT)
    model: str | None = Field(default=None, max_length=MAX_LABEL)
    skills: list[str] = Field(default=[], max_length=MAX_LIST)
    resources: list[str] = Field(default=[], max_length=MAX_LIST)
    tools: list[str] | None = Field(default=None, max_length=MAX_LIST)
    mcp_servers: list[McpServerBody] = Field(default=[], max_length=MAX_LIST)
    approval: ApprovalMode = "default"

    def value(self) -> AgentProfile:
        return AgentProfile(
            persona=self.persona,
            model=self.model,
            skills=tuple(self.skills),
            resources=tuple(self.resources),
            tools=None if self.tools is None else tuple(self.tools),
            mcp_servers=tuple(server.value() for server in self.mcp_servers),
            approval=self.approval,
        )


class AgentBody(Body):
    """Without an `id` it is given one. Its memory is off until you switch it on."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Release notes", "id": "release-notes", "memory_enabled": True}]}
    )

    name: Name
    id: OwnerId | None = None
    memory_enabled: bool = False
    profile: AgentProfileBody | None = None


class AgentChangeBody(Body):
    """What is absent stays. While `memory_enabled` is false, the agent's memory is in no prompt. A `profile` replaces the one before."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"memory_enabled": False}]})

    name: Name | None = None
    memory_enabled: bool | None = None
    profile: AgentProfileBody | None = None


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
    """By name. `models`: those that an agent or a turn may name, the first if neither does."""

    agents: tuple[Owner, ...]
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkspacesAnswer(JsonObject):
    """By name."""

    workspaces: tuple[Owner, ...]


@dataclass(frozen=True, slots=True)
class OwnerRemovedAnswer(JsonObject):
    """`records`: how many memories were deleted with it. `undo` brings each back."""

    id: str
    records: Natural
