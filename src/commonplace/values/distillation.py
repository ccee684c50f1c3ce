"""What came of a conversation that was distilled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from commonplace.values.json import JsonObject
from commonplace.values.quarantine import Withheld
from commonplace.values.scope import Scope

DistillStatus = Literal["stored", "facts_extracted_only", "no_important_facts", "skipped_short_conversation"]
DistilledCategory = Literal["user_preference", "task_outcome", "learning", "fact"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillationFact(JsonObject):
    """One fact, of an importance from 0 to 1."""

    content: str
    category: DistilledCategory
    importance: float
    follow_up_needed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillReport(JsonObject):
    """
    `stored` and `deduped` are ids of records: facts that were new, and those that were there. `fallback` says why no model was used; `quarantined` are those of them that
    wait for a reviewer.
    """

    id: str
    status: DistillStatus
    facts: tuple[DistillationFact, ...]
    stored: tuple[str, ...]
    deduped: tuple[str, ...]
    user_memory_updated: bool
    agent_memory_updated: bool
    method: Literal["rules", "model"] = "rules"
    fallback: str | None = None
    quarantined: tuple[Withheld, ...] = ()


class DistillFields(TypedDict, total=False):
    """
    What a distillation may be told. `scope` is where the facts go (default: the session's own), `threshold` how important a fact
    has to be, from 0 to 1.
    """

    scope: Scope | str | None
    run: str | None
    workflow: str | None
    artifact_refs: Sequence[str]
    threshold: float | None
