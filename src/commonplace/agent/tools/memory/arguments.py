"""What each tool is asked."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

from pydantic import BaseModel, ConfigDict, Field

from commonplace.agent.tools.memory.places import TIERS, ScopeArguments
from commonplace.values.layer import LayerName
from commonplace.values.tree import SCHEME

MOST_FOUND: Final = 20
MOST_LISTED: Final = 200


class Arguments(BaseModel):
    """What a tool is called with."""

    model_config = ConfigDict(extra="forbid")


# Models make them up: one that is no tier is refused with a reason of its own, not by its type.
TierName = Annotated[
    str | None,
    Field(
        description="session: this conversation. project: everyone who works on the project. global: everyone.",
        json_schema_extra={"enum": list(TIERS)},
    ),
]
SessionId = Annotated[str | None, Field(description="The conversation; only to narrow it down on purpose.")]
ProjectId = Annotated[str | None, Field(description="The project; by default the one you work in.")]
ScopeName = Annotated[
    str | None,
    Field(
        description="Instead of a tier: a scope as kind:id, where kind is session, agent, workspace, channel or user; or global."
    ),
]
AllowGlobal = Annotated[bool, Field(description="Whether what everyone shares counts, too.")]


class Scoped(Arguments):
    tier: TierName = None
    session_id: SessionId = None
    project_id: ProjectId = None
    allow_global: AllowGlobal = True
    scope: ScopeName = None

    @property
    def scope_arguments(self) -> ScopeArguments:
        return ScopeArguments(
            tier=self.tier or None,
            session_id=self.session_id or None,
            project_id=self.project_id or None,
            scope=self.scope or None,
            allow_global=self.allow_global,
        )


class SearchArguments(Scoped):
    query: Annotated[str, Field(description="What you want to know, as a question or in a few words.")] = ""
    limit: Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": MOST_FOUND})] = 5
    min_relevance: Annotated[
        float | None,
        Field(
            description="From 0 to 1: all memories at least so likely to answer. Without: those that do, which may be none.",
            json_schema_extra={"minimum": 0, "maximum": 1},
        ),
    ] = None
    layer: Annotated[
        str | None,
        Field(
            description="Instead of the passage: L0, an abstract, L1, an overview, or L2, the text itself.",
            json_schema_extra={"enum": list(get_args(LayerName))},
        ),
    ] = None


class StoreArguments(Scoped):
    content: Annotated[str, Field(description="One thing worth remembering, so that it is understood on its own.")] = ""
    key: Annotated[
        str | None,
        Field(
            description="A name for it within its scope: storing under it again makes a new version, not a second one."
        ),
    ] = None
    source: Annotated[str, Field(description="Where it comes from.")] = "agent_note"
    metadata: Annotated[dict[str, Any], Field(description="What else should be kept with it.")] = {}


class RememberArguments(Arguments):
    content: Annotated[str, Field(description="The fact, so that it is understood on its own.")] = ""
    scope: Annotated[
        str | None,
        Field(
            description="project: file it with the workspace. user: with the person. Without: where it belongs.",
            json_schema_extra={"enum": ["project", "user"]},
        ),
    ] = None


class ListArguments(Scoped):
    limit: Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": MOST_LISTED})] = 50
    cursor: Annotated[str | None, Field(description="What the answer before gave, to go on there.")] = None


class DeleteArguments(Scoped):
    id: Annotated[str | None, Field(description="The memory's id.")] = None
    chunk_id: Annotated[str | None, Field(description="The same as id.")] = None


class CorrectArguments(Scoped):
    id: Annotated[str, Field(description="The id of the memory that is wrong or out of date.")] = ""
    content: Annotated[str, Field(description="What is true instead, so that it is understood on its own.")] = ""
    reason: Annotated[str | None, Field(description="Why, in a few words.")] = None


class ContextArguments(Scoped):
    query: Annotated[str, Field(description="What the conversation is about just now.")] = ""
    budget: Annotated[
        int | None, Field(description="How many tokens it may have.", json_schema_extra={"minimum": 1})
    ] = None


class TreeArguments(Arguments):
    uri: Annotated[
        str, Field(description="The address of a folder or a memory, as this tool lists them; without: the top.")
    ] = SCHEME
    layer: Annotated[
        str | None,
        Field(
            description="Read it instead of listing it. L0: an abstract. L1: an overview. L2: the text itself.",
            json_schema_extra={"enum": list(get_args(LayerName))},
        ),
    ] = None
    cursor: Annotated[str | None, Field(description="What the answer before gave, to go on there.")] = None
