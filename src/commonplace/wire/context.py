"""Memory for a prompt on the wire."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from pydantic import ConfigDict, Field

from commonplace.values.context import ContextBlock, ContextMeta
from commonplace.wire.records import RecordAnswer
from commonplace.wire.search import RecalledAnswer
from commonplace.wire.shapes import Answer, Body, Count, Label, Question, ScopeName


class ContextBody(Body):
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
    session: Label | None = Field(default=None, description="The conversation it is for; its turns come first.")
    agent: Label | None = None
    workspace: Label | None = None
    budget: int | None = Field(default=None, ge=1, le=1_000_000, description="At most so many tokens.")
    run: Label | None = Field(
        default=None,
        description="Into which run it is recalled; absent: into the session. What is recalled is not learned from it again.",
    )


class ContextMetaAnswer(Answer):
    used: bool
    records_total: Count
    session_records: Count
    history_records: Count
    fact_records: Count
    score_min: float | None
    score_max: float | None


class ContextAnswer(Answer):
    """Without records the text is empty. `left_out` were too many for the budget."""

    text: str
    tokens: Count
    records: list[RecordAnswer]
    hits: list[RecalledAnswer]
    left_out: Count
    meta: ContextMetaAnswer

    @classmethod
    def of(cls, block: ContextBlock, now: datetime) -> ContextAnswer:
        return cls.model_construct(
            text=block.text,
            tokens=block.tokens,
            records=[RecordAnswer.of(record, now) for record in block.records],
            hits=[RecalledAnswer.of(hit) for hit in block.hits],
            left_out=block.left_out,
            meta=ContextMetaAnswer.model_construct(**asdict(block.meta)),
        )

    def value(self) -> ContextBlock:
        records = tuple(one.value() for one in self.records)
        held = {record.id: record for record in records}
        return ContextBlock(
            text=self.text,
            tokens=self.tokens,
            records=records,
            hits=tuple(hit.value(held[hit.id]) for hit in self.hits if hit.id in held),
            left_out=self.left_out,
            meta=ContextMeta(**self.meta.model_dump()),
        )
