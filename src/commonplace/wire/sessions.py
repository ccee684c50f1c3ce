"""Sessions of an agent on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject, Natural
from commonplace.values.session import ArchiveChoice, SessionChanges, SessionFields, SessionFilters, SessionHit
from commonplace.values.session_state import LiveSessionSummary
from commonplace.wire.queries import UrlQuery
from commonplace.wire.shapes import MAX_COUNT, Body, Label, Line, NarrowBody, Question

Position = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Title = Annotated[str, Field(max_length=4_096, json_schema_extra={"minLength": 1, "maxLength": 200})]


class SessionBody(Body):
    """
    Without an `id` it is given one, without a `title` its first message gives it one. `shared`: with whoever reaches its `workspace`.
    `folder` is where its tools work.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent": "assistant", "workspace": "web"}]})

    agent: Label = "assistant"
    id: Label | None = None
    workspace: Label | None = None
    folder: Line | None = None
    title: Title | None = None
    model: Label | None = None
    source: Label | None = None
    shared: bool = False

    def fields(self) -> SessionFields:
        values = self.model_dump(exclude={"agent"}, exclude_none=True)
        return SessionFields(**values)  # pyright: ignore[reportArgumentType] - the fields above are those


class SessionChangeBody(NarrowBody):
    """What is absent stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "The slow parser"}, {"archived": True}]})

    title: Title | None = None
    model: Label | None = None
    folder: Line | None = None
    shared: bool | None = None
    archived: bool | None = None

    def changes(self) -> SessionChanges:
        return SessionChanges(**self.model_dump())


class _SessionConditions(UrlQuery):
    agent: Label | None = None
    workspace: Label | None = None
    everyone: bool = Field(default=False, description="Other people's sessions, too. For admins; the audit says so.")

    def filters(self, archived: ArchiveChoice) -> SessionFilters:
        return SessionFilters(agent=self.agent, workspace=self.workspace, everyone=self.everyone, archived=archived)


class SessionsQuery(_SessionConditions):
    archived: ArchiveChoice = "no"
    limit: int = Field(default=50, ge=1, le=200)
    cursor: Line | None = None


class SessionSearchQuery(_SessionConditions):
    q: Question
    session: Label | None = Field(default=None, description="Only in this session.")
    archived: ArchiveChoice = "any"
    limit: int = Field(default=10, ge=1, le=100)


class LiveSessionsQuery(UrlQuery):
    everyone: bool = Field(default=False, description="Other people's sessions, too. For admins; the audit says so.")


class MessagesQuery(UrlQuery):
    after: Position | None = Field(default=None, description="The first messages behind this position.")
    before: Position | None = Field(default=None, description="The last messages before this position.")
    limit: int = Field(default=100, ge=1, le=1_000)


@dataclass(frozen=True, slots=True)
class LiveSessionsAnswer(JsonObject):
    """Those that wait for a permission first, then those that play a turn."""

    sessions: tuple[LiveSessionSummary, ...]


@dataclass(frozen=True, slots=True)
class SessionHitsAnswer(JsonObject):
    """The best of each session first."""

    hits: tuple[SessionHit, ...]


@dataclass(frozen=True, slots=True)
class SessionDeletedAnswer(JsonObject):
    """`messages`: how many went with it, hidden ones included."""

    id: str
    messages: Natural
