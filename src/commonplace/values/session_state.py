"""What a live session can be set to, and what it is doing now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.permission import PermissionPolicy, PermissionRequest
from commonplace.values.session import Session

ActivityState = Literal["asking", "running", "idle"]
"""A permission waits for somebody; a turn is played; neither."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionMode(JsonObject):
    """A way of working that a session can be switched to: of our own agent, how much it asks; of a hosted one, whatever it offers."""

    id: str
    name: str
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionOptions(JsonObject):
    """The `mode` and the `model` of a session, each one of those it may have. `context` is how many tokens of history a prompt may hold."""

    mode: str
    modes: tuple[SessionMode, ...]
    model: str
    models: tuple[str, ...]
    context: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedPrompt(JsonObject):
    """What somebody said that is played now, or waits for its turn. `client` is the program they said it with."""

    run: str
    text: str
    at: Moment
    state: Literal["running", "queued"]
    speaker: str
    client: str | None = None
    scheduled: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionState(JsonObject):
    """A session as its clients see it: its `options`, its prompts in their order, and the permissions that it waits for."""

    session: str
    options: SessionOptions
    prompts: tuple[QueuedPrompt, ...] = ()
    permissions: tuple[PermissionRequest, ...] = ()
    policy: PermissionPolicy = "designated"
    listeners: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionActivity(JsonObject):
    """What a session does now: its prompts in their order, and the permissions that it waits for."""

    prompts: tuple[QueuedPrompt, ...] = ()
    permissions: tuple[PermissionRequest, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveSessionSummary(JsonObject):
    """
    A session that is in use, and what it does now: `tool` is the title of the call that runs. `prompts` are what is played and what waits for its
    turn, `permissions` what waits for an answer, `listeners` how many hear it.
    """

    session: Session
    state: ActivityState = "idle"
    tool: str | None = None
    prompts: tuple[QueuedPrompt, ...] = ()
    permissions: tuple[PermissionRequest, ...] = ()
    listeners: int = 0
