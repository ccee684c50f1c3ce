"""Files of managed memory on the wire."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject
from commonplace.values.shelf import ShelfChange, ShelfFiles, ShelfName
from commonplace.wire.shapes import MAX_LIST, MAX_TEXT, Body, Label, NarrowBody, Question


@dataclass(frozen=True, slots=True)
class ShelvesAnswer(JsonObject):
    """The folders that the key reaches."""

    roots: tuple[ShelfFiles, ...]


@dataclass(frozen=True, slots=True)
class ShelfChangesAnswer(JsonObject):
    """Newest first; of each folder the last 20 are kept."""

    changes: tuple[ShelfChange, ...]


class ShelfTextBody(Body):
    """The whole file, Markdown."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "---\nname: Tone\ntype: feedback\n---\nPlain and short."}]}
    )

    text: str = Field(max_length=MAX_TEXT)


class ShelfMoveBody(NarrowBody):
    """`root` and `path` as the file has them now; `to`: whose it is to be."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"root": "project", "path": "project/release-day.md", "to": "user"}]}
    )

    root: ShelfName
    path: str = Field(max_length=2048)
    to: ShelfName


class ShelfRecallBody(NarrowBody):
    """`tools` are those at hand in the turn: what only tells how to use one of them is left out, but not what warns of it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "How do we write release notes?", "tools": ["grep_search"]}]}
    )

    query: Question
    tools: list[Label] = Field(default=[], max_length=MAX_LIST)
    run: Label | None = Field(
        default=None, description="Into which run it is recalled. What is recalled is not learned from it again."
    )
