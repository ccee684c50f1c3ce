"""
Agents and workspaces at the native door. What they remember are the records of their scopes: `/v1/records?scope=agent:<id>`.
"""

from typing import Annotated

from fastapi import APIRouter, Path

from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.values.principal import Owner
from commonplace.wire.owners import (
    AgentBody,
    AgentChangeBody,
    AgentsAnswer,
    OwnerRemovedAnswer,
    WorkspaceBody,
    WorkspaceChangeBody,
    WorkspacesAnswer,
)
from commonplace.wire.shapes import Label

router = APIRouter(prefix="/v1", tags=["native"])

AgentId = Annotated[Label, Path(description="The agent's id.")]
WorkspaceId = Annotated[Label, Path(description="The workspace's id.")]


@router.get("/agents", summary="List the agents in reach", responses=problems(), dependencies=[only_conditions()])
async def agents(who: Caller, served: Served) -> AgentsAnswer:
    """By name. An agent that nobody created, but whose scope holds records, is among them. `models` may be asked to speak."""
    return AgentsAnswer(tuple(await served.owners.owners(who, "agent")), served.owners.models)


@router.post("/agents", status_code=201, summary="Create an agent", responses=problems(409))
async def create_agent(body: AgentBody, who: Caller, served: Served) -> Owner:
    """Only an admin may set `skills`, `resources` and `mcp_servers`, which are read and run on the daemon's machine."""
    profile = None if body.profile is None else body.profile.value()
    return await served.owners.create(
        who, "agent", body.name, id=body.id, memory_enabled=body.memory_enabled, profile=profile
    )


@router.get("/agents/{id:path}", summary="Look at an agent", responses=problems(404))
async def agent(id: AgentId, who: Caller, served: Served) -> Owner:
    return await served.owners.owner(who, "agent", id)


@router.patch(
    "/agents/{id:path}", summary="Rename an agent, set it up, or switch its memory on or off", responses=problems(404)
)
async def edit_agent(id: AgentId, body: AgentChangeBody, who: Caller, served: Served) -> Owner:
    """
    While its memory is off, `/v1/context` has no section for it. Its records stay. A `profile` replaces the one it has, as a whole:
    a writer may change `persona` and `model`, and allow fewer tools or a stricter `approval`; an admin may change all of it.
    """
    profile = None if body.profile is None else body.profile.value()
    return await served.owners.change(
        who, "agent", id, name=body.name, memory_enabled=body.memory_enabled, profile=profile
    )


@router.delete("/agents/{id:path}", summary="Remove an agent with all it remembers", responses=problems(404))
async def remove_agent(id: AgentId, who: Caller, served: Served) -> OwnerRemovedAnswer:
    """Each of its records is deleted; `undo` brings it back."""
    return OwnerRemovedAnswer(id, await served.owners.remove(who, "agent", id))


@router.get(
    "/workspaces", summary="List the workspaces in reach", responses=problems(), dependencies=[only_conditions()]
)
async def workspaces(who: Caller, served: Served) -> WorkspacesAnswer:
    """By name. A workspace that nobody created, but whose scope holds records, is among them."""
    return WorkspacesAnswer(tuple(await served.owners.owners(who, "workspace")))


@router.post("/workspaces", status_code=201, summary="Create a workspace", responses=problems(409))
async def create_workspace(body: WorkspaceBody, who: Caller, served: Served) -> Owner:
    return await served.owners.create(who, "workspace", body.name, id=body.id, memory_enabled=True)


@router.get("/workspaces/{id:path}", summary="Look at a workspace", responses=problems(404))
async def workspace(id: WorkspaceId, who: Caller, served: Served) -> Owner:
    return await served.owners.owner(who, "workspace", id)


@router.patch("/workspaces/{id:path}", summary="Rename a workspace", responses=problems(404))
async def edit_workspace(id: WorkspaceId, body: WorkspaceChangeBody, who: Caller, served: Served) -> Owner:
    return await served.owners.change(who, "workspace", id, name=body.name)


@router.delete("/workspaces/{id:path}", summary="Remove a workspace with all it remembers", responses=problems(404))
async def remove_workspace(id: WorkspaceId, who: Caller, served: Served) -> OwnerRemovedAnswer:
    """Each of its records is deleted; `undo` brings it back."""
    return OwnerRemovedAnswer(id, await served.owners.remove(who, "workspace", id))
