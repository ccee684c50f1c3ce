"""
The keyed door: agents, workspaces and the memories under their keys, as RondoFlow's API has them.

Fields that we do not know are passed over, as they are there: its programs send whole rows back.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from commonplace.values.moment import Moment
from commonplace.values.quarantine import Quarantine
from commonplace.values.record import MAX_KEY, Outcome
from commonplace.wire.shapes import MAX_TEXT

T = TypeVar("T")

Source = Literal["manual", "auto", "director"]
Name = Annotated[str, Field(min_length=1, max_length=255)]
OwnerId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,128}$", examples=["release-notes"])]
KeyName = Annotated[str, Field(min_length=1, max_length=MAX_KEY, examples=["deploy-cmd"])]
Value = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, examples=["Deploy with npm run deploy"])]
Importance = Annotated[int, Field(ge=0, le=100)]


class Sent(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=True)


class NewAgent(Sent):
    name: Name
    memory_enabled: bool = False
    id: OwnerId | None = None


class AgentChange(Sent):
    name: Name | None = None
    memory_enabled: bool | None = None


class NewWorkspace(Sent):
    name: Name
    id: OwnerId | None = None


class WorkspaceChange(Sent):
    name: Name | None = None


class NewMemory(Sent):
    key: KeyName
    value: Value
    source: Source = "manual"
    pinned: bool = False
    importance: Importance = 0


class MemoryChange(Sent):
    """Send only what is to change. The key of a memory stays."""

    value: Value | None = None
    source: Source | None = None
    pinned: bool | None = None
    importance: Importance | None = None


class Pin(Sent):
    pinned: bool


# ---- out


class CamelModel(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class DataAnswer(BaseModel, Generic[T]):
    success: Literal[True] = True
    data: T
    outcome: Outcome | None = Field(
        default=None, exclude_if=lambda value: value is None, description="What a write did; only its answer says so."
    )


class AgentRow(CamelModel):
    id: str
    name: str
    memory_enabled: bool
    created_at: Moment
    updated_at: Moment


class WorkspaceRow(CamelModel):
    id: str
    name: str
    created_at: Moment
    updated_at: Moment


class MemoryRow(CamelModel):
    id: str
    agent_id: str | None
    workspace_id: str | None
    scope: Literal["agent", "workspace"]
    source: Source
    key: str
    value: str
    pinned: bool
    importance: int
    created_at: Moment
    updated_at: Moment


class ScrubbedRow(MemoryRow):
    """As it is kept: so many secrets were taken out, or it waits for a reviewer, and why. Each is there only if it is so."""

    redactions: int | None = Field(default=None, exclude_if=lambda value: value is None)
    quarantined: bool = Field(default=False, exclude_if=lambda value: not value)
    quarantine: Quarantine | None = Field(default=None, exclude_if=lambda value: value is None)


class Deleted(BaseModel):
    deleted: Literal[True] = True


class Removed(BaseModel):
    id: str
