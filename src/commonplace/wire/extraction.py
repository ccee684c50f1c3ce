"""Talk that is to be read for facts, what came of it, and what a director learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from commonplace.values.extraction import Extracted, ExtractionStatus
from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.record import Record
from commonplace.wire.records import TurnBody
from commonplace.wire.shapes import MAX_LIST, MAX_TEXT, Body, Label, NarrowBody, RecordId, ScopeName

_MOST_AGENTS = 100


class ExtractBody(NarrowBody):
    """
    A finished run or conversation: as `turns`, as a `transcript` whose lines say who speaks (`user: …`), or as the `session`
    that its turns are kept under. `agents` are those of the run, the first of which learns; `workspace` is what they worked on;
    `scope` is where facts go that are for neither.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "transcript": "user: Please remember that we deploy with `make ship`.\n\nassistant: I will.",
                    "agents": ["ana"],
                    "workspace": "web",
                    "session": "chat-7",
                    "at": "2026-03-01T09:30:00Z",
                }
            ]
        }
    )

    transcript: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    turns: list[TurnBody] = Field(default=[], max_length=MAX_LIST)
    session: Label | None = None
    agents: list[Label] = Field(default=[], max_length=_MOST_AGENTS)
    workspace: Label | None = None
    scope: ScopeName | None = None
    run: Label | None = None
    recalled: list[RecordId] = Field(
        default=[], max_length=MAX_LIST, description="Records that were shown in it: they are not learned again."
    )
    at: Moment | None = Field(default=None, description="When it was, for turns that do not say so themselves.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractAnswer(JsonObject):
    """
    `facts` were written; `superseded` are the records they took the place of. `dropped` counts what was found and not kept:
    `known`, `recalled`, `outdated`, `over_limit`, `memory_disabled`, `no_target`. `fallback` says why a model was not used.
    """

    status: ExtractionStatus
    method: Literal["rules", "model"]
    fallback: str | None
    facts: tuple[Record, ...]
    superseded: tuple[str, ...]
    dropped: Mapping[str, int]

    @classmethod
    def of(cls, extraction: Extracted) -> ExtractAnswer:
        return cls(**{field.name: getattr(extraction, field.name) for field in fields(cls)})

    def extracted(self) -> Extracted:
        return Extracted(**{field.name: getattr(self, field.name) for field in fields(self)})


class LearningBody(Body):
    """What a director learned in a run of these agents. It is kept with the first of them, cut to 2,000 characters."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"agents": ["planner", "coder"], "learning": "The coder needs the schema first."}]
        }
    )

    agents: list[Label] = Field(min_length=1, max_length=_MOST_AGENTS)
    learning: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    run: Label | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningsAnswer(JsonObject):
    """Newest first."""

    count: Natural
    learnings: tuple[Record, ...]
