"""The keyed door: RondoFlow's agents, workspaces and memories."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query

from commonplace.doors.rondoflow.shapes import (
    AgentChange,
    AgentRow,
    DataAnswer,
    Deleted,
    MemoryChange,
    MemoryRow,
    NewAgent,
    NewMemory,
    NewWorkspace,
    Pin,
    Removed,
    ScrubbedRow,
    Source,
    WorkspaceChange,
    WorkspaceRow,
)
from commonplace.doors.rondoflow.use_cases import KeyedMemories, MemoryDraft, shown_key, shown_source
from commonplace.server.auth import Caller, Served, use_case
from commonplace.server.door import ApiDoor, only_conditions
from commonplace.service.services import Services
from commonplace.values.changes import Changes
from commonplace.values.principal import Owner
from commonplace.values.record import Record

router = APIRouter(prefix="/api", tags=["keyed"])


def _use_cases(services: Services) -> list[object]:
    return [KeyedMemories(services.desk, services.records, services.owners)]


DOOR: Final = ApiDoor(routers=(router,), use_cases=_use_cases)
UseMemories = Annotated[KeyedMemories, use_case(KeyedMemories)]

AgentId = Annotated[str, Path(alias="agentId", max_length=255)]
WorkspaceId = Annotated[str, Path(alias="workspaceId", max_length=255)]
MemoryId = Annotated[UUID, Path(alias="memoryId")]
Row = MemoryRow | ScrubbedRow


# ---- agents


@router.get("/agents", summary="List the agents in reach, by name")
async def list_agents(who: Caller, served: Served) -> DataAnswer[list[AgentRow]]:
    return DataAnswer(data=[_agent(owner) for owner in await served.owners.owners(who, "agent")])


@router.post("/agents", status_code=201, summary="Create an agent")
async def create_agent(body: NewAgent, who: Caller, served: Served) -> DataAnswer[AgentRow]:
    """Without an id it is given one. Its memory is off until you switch it on."""
    owner = await served.owners.create(who, "agent", body.name, id=body.id, memory_enabled=body.memory_enabled)
    return DataAnswer(data=_agent(owner))


@router.get("/agents/{agentId}", summary="Look at an agent")
async def get_agent(agent: AgentId, who: Caller, served: Served) -> DataAnswer[AgentRow]:
    return DataAnswer(data=_agent(await served.owners.owner(who, "agent", agent)))


@router.patch("/agents/{agentId}", summary="Rename an agent, or switch its memory on or off")
async def change_agent(agent: AgentId, body: AgentChange, who: Caller, served: Served) -> DataAnswer[AgentRow]:
    changed = await served.owners.change(who, "agent", agent, name=body.name, memory_enabled=body.memory_enabled)
    return DataAnswer(data=_agent(changed))


@router.delete("/agents/{agentId}", summary="Remove an agent with all it remembers")
async def remove_agent(agent: AgentId, who: Caller, served: Served) -> DataAnswer[Deleted]:
    """Each of its records is deleted, and can be brought back by `undo` at `/v1`."""
    await served.owners.remove(who, "agent", agent)
    return DataAnswer(data=Deleted())


@router.get(
    "/agents/{agentId}/memories",
    summary="List an agent's memories: pinned, then important, then by key",
    dependencies=[only_conditions()],
)
async def list_agent_memories(agent: AgentId, who: Caller, memories: UseMemories) -> DataAnswer[list[MemoryRow]]:
    return DataAnswer(data=[_row(record) for record in await memories.memories(who, "agent", agent)])


@router.post("/agents/{agentId}/memories", status_code=201, summary="Write a memory under its key")
async def put_agent_memory(agent: AgentId, body: NewMemory, who: Caller, memories: UseMemories) -> DataAnswer[Row]:
    """A key that is there already gets the new value, source, pin and importance."""
    return _answer(await memories.remember(who, "agent", agent, _memory(body)))


@router.patch("/agents/{agentId}/memories/{memoryId}", summary="Change a memory in part")
async def change_agent_memory(
    agent: AgentId, memory: MemoryId, body: MemoryChange, who: Caller, memories: UseMemories
) -> DataAnswer[Row]:
    """What is not sent stays as it is. The key cannot be changed."""
    return _answer(await memories.edit(who, "agent", agent, str(memory), _changes(body)))


@router.patch("/agents/{agentId}/memories/{memoryId}/pin", summary="Pin or unpin a memory")
async def pin_agent_memory(
    agent: AgentId, memory: MemoryId, body: Pin, who: Caller, memories: UseMemories
) -> DataAnswer[MemoryRow]:
    record = await memories.pin(who, "agent", agent, str(memory), body.pinned)
    return DataAnswer(data=_row(record), outcome=record.outcome)


@router.delete("/agents/{agentId}/memories/{memoryId}", summary="Delete a memory")
async def delete_agent_memory(
    agent: AgentId, memory: MemoryId, who: Caller, memories: UseMemories
) -> DataAnswer[Deleted]:
    await memories.forget(who, "agent", agent, str(memory))
    return DataAnswer(data=Deleted())


# ---- workspaces


@router.get("/workspaces", summary="List the workspaces in reach, by name")
async def list_workspaces(who: Caller, served: Served) -> DataAnswer[list[WorkspaceRow]]:
    return DataAnswer(data=[_workspace(owner) for owner in await served.owners.owners(who, "workspace")])


@router.post("/workspaces", status_code=201, summary="Create a workspace")
async def create_workspace(body: NewWorkspace, who: Caller, served: Served) -> DataAnswer[WorkspaceRow]:
    owner = await served.owners.create(who, "workspace", body.name, id=body.id, memory_enabled=True)
    return DataAnswer(data=_workspace(owner))


@router.get("/workspaces/{workspaceId}", summary="Look at a workspace")
async def get_workspace(workspace: WorkspaceId, who: Caller, served: Served) -> DataAnswer[WorkspaceRow]:
    return DataAnswer(data=_workspace(await served.owners.owner(who, "workspace", workspace)))


@router.patch("/workspaces/{workspaceId}", summary="Rename a workspace")
async def change_workspace(
    workspace: WorkspaceId, body: WorkspaceChange, who: Caller, served: Served
) -> DataAnswer[WorkspaceRow]:
    return DataAnswer(data=_workspace(await served.owners.change(who, "workspace", workspace, name=body.name)))


@router.delete("/workspaces/{workspaceId}", summary="Remove a workspace with all it remembers")
async def remove_workspace(workspace: WorkspaceId, who: Caller, served: Served) -> DataAnswer[Removed]:
    """Each of its records is deleted, and can be brought back by `undo` at `/v1`."""
    await served.owners.remove(who, "workspace", workspace)
    return DataAnswer(data=Removed(id=workspace))


@router.get(
    "/workspaces/{workspaceId}/memories",
    summary="List its memories: pinned, then important, then newest",
    dependencies=[only_conditions("source", "pinned")],
)
async def list_workspace_memories(
    workspace: WorkspaceId,
    who: Caller,
    memories: UseMemories,
    source: Annotated[Source | None, Query(description="Only what was written this way.")] = None,
    pinned: Annotated[bool | None, Query(description="Only what is pinned, or only what is not.")] = None,
) -> DataAnswer[list[MemoryRow]]:
    records = await memories.memories(who, "workspace", workspace, source=source, pinned=pinned)
    return DataAnswer(data=[_row(record) for record in records])


@router.post("/workspaces/{workspaceId}/memories", status_code=201, summary="Write a memory under its key")
async def put_workspace_memory(
    workspace: WorkspaceId, body: NewMemory, who: Caller, memories: UseMemories
) -> DataAnswer[Row]:
    """A key that is there already gets the new value, source, pin and importance."""
    return _answer(await memories.remember(who, "workspace", workspace, _memory(body)))


@router.patch("/workspaces/{workspaceId}/memories/{memoryId}", summary="Change a memory in part")
async def change_workspace_memory(
    workspace: WorkspaceId, memory: MemoryId, body: MemoryChange, who: Caller, memories: UseMemories
) -> DataAnswer[Row]:
    """What is not sent stays as it is. The key cannot be changed."""
    changed = await memories.edit(who, "workspace", workspace, str(memory), _changes(body))
    return _answer(changed)


@router.patch("/workspaces/{workspaceId}/memories/{memoryId}/pin", summary="Pin or unpin a memory")
async def pin_workspace_memory(
    workspace: WorkspaceId, memory: MemoryId, body: Pin, who: Caller, memories: UseMemories
) -> DataAnswer[MemoryRow]:
    record = await memories.pin(who, "workspace", workspace, str(memory), body.pinned)
    return DataAnswer(data=_row(record), outcome=record.outcome)


@router.delete("/workspaces/{workspaceId}/memories/{memoryId}", summary="Delete a memory")
async def delete_workspace_memory(
    workspace: WorkspaceId, memory: MemoryId, who: Caller, memories: UseMemories
) -> DataAnswer[Removed]:
    gone = await memories.forget(who, "workspace", workspace, str(memory))
    return DataAnswer(data=Removed(id=gone.id))


# ---- shapes


def _agent(owner: Owner) -> AgentRow:
    return AgentRow(
        id=owner.id,
        name=owner.name,
        memory_enabled=owner.memory_enabled,
        created_at=owner.created_at,
        updated_at=owner.updated_at,
    )


def _workspace(owner: Owner) -> WorkspaceRow:
    return WorkspaceRow(id=owner.id, name=owner.name, created_at=owner.created_at, updated_at=owner.updated_at)


def _memory(body: NewMemory) -> MemoryDraft:
    return MemoryDraft(
        key=body.key, value=body.value, source=body.source, pinned=body.pinned, importance=body.importance
    )


def _changes(body: MemoryChange) -> Changes:
    return {"text": body.value, "source": body.source, "pinned": body.pinned, "importance": body.importance}


def _row(record: Record) -> MemoryRow:
    of_agent = record.scope.kind == "agent"
    return MemoryRow(
        id=record.id,
        agent_id=record.scope.id if of_agent else None,
        workspace_id=None if of_agent else record.scope.id,
        scope="agent" if of_agent else "workspace",
        source=shown_source(record),
        key=shown_key(record),
        value=record.text,
        pinned=record.pinned,
        importance=record.importance,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def _answer(record: Record) -> DataAnswer[Row]:
    return DataAnswer(data=_written(record), outcome=record.outcome)


def _written(record: Record) -> Row:
    redactions, note, row = record.metadata.get("redactions"), record.quarantine, _row(record)
    if not isinstance(redactions, int) and note is None:
        return row
    count = redactions if isinstance(redactions, int) else None
    return ScrubbedRow(**row.model_dump(), redactions=count, quarantined=note is not None, quarantine=note)
