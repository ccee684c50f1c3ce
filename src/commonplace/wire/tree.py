"""The context tree, documents and distillation on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject
from commonplace.values.layer import LayerText
from commonplace.wire.shapes import MAX_LIST, MAX_TEXT, Body, Label, Line, ScopeName

ResourceUri = Annotated[Label, Field(max_length=240)]


class ResourceBody(Body):
    """A document of the caller's own. Under a known `uri` it becomes the next version."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"content": "We ship on Fridays.", "uri": "notes/handbook.md"}]}
    )

    content: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    uri: ResourceUri | None = None
    title: Label | None = None


class NodeLayersBody(Body):
    """`node` is a record's id, or an address in the tree."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"node": "commonplace://resources/web/docs/deploy.md"}]})

    node: Annotated[Line, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class NodeLayersAnswer(JsonObject):
    """L0 and L1; a folder has none to keep."""

    layers: tuple[LayerText, ...]


class DistillationBody(Body):
    """A conversation, part by part. `scope` is where its facts go; absent: the session's own."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "session": "chat-7",
                    "conversation": ["user: I prefer dark mode in every editor.", "assistant: Noted."],
                    "scope": "session:chat-7",
                }
            ]
        }
    )

    session: Label
    conversation: Annotated[list[Annotated[str, Field(max_length=MAX_TEXT)]], Field(min_length=1, max_length=MAX_LIST)]
    scope: ScopeName | None = None
    run: Label | None = None
    workflow: Label | None = None
    artifact_refs: list[Label] = Field(default=[], max_length=100)
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="How important a fact has to be; default 0.5."
    )
