"""Turns of the agent, as the native door tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from commonplace.values.json import JsonObject
from commonplace.values.permission import PermissionRequest, PermissionVoteChoice
from commonplace.values.turn_event import TurnEvent

EVENT: Final[TypeAdapter[TurnEvent]] = TypeAdapter(Annotated[TurnEvent, Field(discriminator="type")])
"""Reads an event of a turn, and writes it."""

EPOCH: Final = "X-Commonplace-Epoch"
"""The header that says which count of events an id belongs to: a daemon that starts anew counts anew."""


class SayBody(BaseModel):
    """What somebody says. `model`: another than the agent's own, among those of the settings."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=1_000_000, examples=["What did we decide about the release?"])
    model: str | None = Field(default=None, max_length=200, examples=["openai:gpt-5-mini"])


class SessionStateBody(BaseModel):
    """How the next turns are played. `mode` and `model` are each one of the session's options; what is absent stays."""

    model_config = ConfigDict(extra="forbid")

    mode: str | None = Field(default=None, max_length=200, examples=["auto-edit"])
    model: str | None = Field(default=None, max_length=200, examples=["openai:gpt-5-mini"])


class PermissionBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    choice: PermissionVoteChoice


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionsAnswer(JsonObject):
    """What waits for a person."""

    permissions: tuple[PermissionRequest, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CancelAnswer(JsonObject):
    """`cancelled`: a turn was played, and was ended."""

    cancelled: bool
