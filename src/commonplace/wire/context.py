"""Memory for a prompt on the wire."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pydantic import ConfigDict, Field

from commonplace.values.context import ContextBlock, ContextMeta
from commonplace.values.json import JsonObject, Natural
from commonplace.values.layer import LayerChoice
from commonplace.values.record import Record
from commonplace.wire.search import RecalledAnswer
from commonplace.wire.shapes import Everyone, Label, NarrowBody, Question, ScopeName


class ContextBody(NarrowBody):
    """
    A `query` gets the `<memory_context>` block of a prompt. An `agent`, a `workspace` or both get the sections
    `## Agent Memory` and `## Workspace Memory` instead.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "how do we deploy?", "scopes": ["workspace:web"], "budget": 500},
                {"agent": "ana", "workspace": "web"},
            ]
        }
    )

    query: Question | None = None
    scopes: list[ScopeName] | None = Field(default=None, max_length=100)
    everyone: Everyone = False
    session: Label | None = Field(default=None, description="The conversation it is for; its turns come first.")
    agent: Label | None = None
    workspace: Label | None = None
    layer: LayerChoice | None = Field(
        default=None,
        description="Tell each memory by a layer instead of its passage; auto: by the fullest that fits the budget.",
    )
    budget: int | None = Field(default=None, ge=1, le=1_000_000, description="At most so many tokens.")
    min_relevance: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="All memories at least so likely to answer; absent: those that do, which may be none.",
    )
    run: Label | None = Field(
        default=None,
        description="Into which run it is recalled; absent: into the session. What is recalled is not learned from it again.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextAnswer(JsonObject):
    """Without records the text is empty. `left_out` were too many for the budget."""

    text: str
    tokens: Natural
    records: tuple[Record, ...]
    hits: tuple[RecalledAnswer, ...]
    left_out: Natural
    meta: ContextMeta

    @classmethod
    def of(cls, block: ContextBlock) -> ContextAnswer:
        return cls(**_fields(block), hits=tuple(map(RecalledAnswer.of, block.hits)))

    def block(self) -> ContextBlock:
        records_by_id = {record.id: record for record in self.records}
        hits = tuple(hit.hit(records_by_id[hit.id]) for hit in self.hits if hit.id in records_by_id)
        return ContextBlock(**_fields(self), hits=hits)


def _fields(block: ContextBlock | ContextAnswer) -> dict[str, Any]:
    return {field.name: getattr(block, field.name) for field in fields(block) if field.name != "hits"}
