"""
History: the sessions of an agent and what was said in them.

It answers "what was said", and is no memory: nothing of it is recalled as a memory, and a prompt holds as much of it as fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from commonplace.errors import Conflict, Overloaded, TooManyRequests
from commonplace.values.json import Json, JsonObject, Natural
from commonplace.values.moment import Moment


class TurnQueueFull(TooManyRequests):
    """Too many turns of this session wait already. Wait for one to end, or cancel it."""

    code = "turn_queue_full"
    status = 503


class SessionEnding(Conflict):
    """This session was ended while it was spoken to, and nothing of what was said is kept. Say it again."""

    code = "session_ending"


class SessionsUnavailable(Conflict):
    """On this system the workers of a daemon cannot pass on requests for a session to the one that leads it. Start it with --workers 1."""

    code = "sessions_unavailable"


class TooManySessions(Overloaded):
    """As many sessions are in use as this daemon may have. Try again when others have ended."""

    code = "too_many_sessions"


MessageRole = Literal["user", "assistant", "tool", "event"]
MessageKind = Literal["text", "thinking", "tool_call", "tool_result", "status", "event"]
ArchiveChoice = Literal["no", "yes", "any"]
"""Sessions that are not archived, those that are, or all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Session(JsonObject):
    """
    A conversation with `agent`. `owner` is the subject of the person whose it is; only if it is `shared` do others see it.
    `workspace` is the id of the workspace it is about, `folder` where its tools work. `source` is the way in by which it was
    begun (`chat`, `api`, `acp`, a channel). `messages` counts those that are not hidden.
    """

    id: str
    owner: str
    agent: str
    created_at: Moment
    updated_at: Moment
    workspace: str | None = None
    folder: str | None = None
    title: str | None = None
    model: str | None = None
    source: str = "api"
    shared: bool = False
    archived_at: Moment | None = None
    messages: Natural = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageDraft:
    """A message before it is kept. `id` makes it known again: the same id in the same session is kept once."""

    id: str
    role: MessageRole
    kind: MessageKind
    text: str = ""
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
    run: str | None = None
    call: str | None = None
    speaker: str | None = None
    context_visible: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionMessage(JsonObject):
    """
    One entry of a session, at its `position` (from 1, without gaps). `call` is the id of the tool call that a `tool_call` or a
    `tool_result` is about, `run` the turn it belongs to, `speaker` the subject who said it. What is not `context_visible` is a
    hidden event: no prompt has it and no search finds it.
    """

    session: str
    position: int
    id: str
    at: Moment
    role: MessageRole
    kind: MessageKind
    text: str = ""
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
    run: str | None = None
    call: str | None = None
    speaker: str | None = None
    context_visible: bool = True


@dataclass(frozen=True, slots=True)
class SessionPage(JsonObject):
    """The session that was used last comes first. `cursor` continues the list; None is the end."""

    sessions: tuple[Session, ...]
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MessagePage(JsonObject):
    """In the order they were said. `before` and `after`: whether there are messages on that side of the page."""

    messages: tuple[SessionMessage, ...]
    before: bool = False
    after: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionHit(JsonObject):
    """A message that has words of the question, in its session; `snippet` is the part of it that does."""

    session: Session
    message: SessionMessage
    snippet: str
    score: float


class SessionFields(TypedDict, total=False):
    """A new session, as callers name it. Without an `id` it is given one, without a `title` the first message gives it one."""

    id: str
    workspace: str
    folder: str
    title: str
    model: str
    source: str
    shared: bool


class SessionChanges(TypedDict, total=False):
    """What to change of a session; what is absent or None stays as it is."""

    title: str | None
    model: str | None
    folder: str | None
    shared: bool | None
    archived: bool | None


class SessionFilters(TypedDict, total=False):
    """Which sessions; what is absent narrows nothing. `everyone`: other people's, too, for admins."""

    agent: str | None
    workspace: str | None
    archived: ArchiveChoice
    everyone: bool
