"""Conversations to be distilled, and what came of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from commonplace.wire.governed import MAX_REFS, Capable, Name, Reference, Sent
from commonplace.wire.shapes import MAX_TEXT, Answer


class DistillBody(Sent):
    """A conversation in parts, each of which may say who speaks (`user: …`)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"session_id": "s-7", "conversation": ["user: I prefer tabs.", "assistant: Noted."]}]
        }
    )

    session_id: Name
    conversation: list[Annotated[str, Field(max_length=MAX_TEXT)]] = Field(max_length=10_000)
    run_id: Name | None = None
    workflow_id: Name | None = None
    project_id: Name | None = None
    subject: Name | None = None
    artifact_refs: list[Reference] = Field(default=[], max_length=MAX_REFS)
    importance_threshold: float = Field(default=0.5, ge=0, le=1)
    capability: Capable = None


class FactAnswer(Answer):
    category: str
    content: str
    importance: float
    follow_up_needed: bool


class ReportAnswer(Answer):
    method: Literal["rules", "model"]
    user_memory_updated: bool
    agent_memory_updated: bool
    facts: list[FactAnswer]


class DistillAnswer(Answer):
    """`memory_ids` are the facts kept, those that were there already included."""

    ok: bool
    distillation_id: str
    session_id: str
    facts_extracted: int
    stored_count: int
    deduped_count: int
    memory_ids: list[str]
    candidate_ids: list[str]
    status: Literal["stored", "facts_extracted_only", "no_important_facts", "skipped_short_conversation"]
    report: ReportAnswer
