"""Looking after the memory, on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject, Natural
from commonplace.values.upkeep import Finding, Rule, Upkeep
from commonplace.wire.shapes import MAX_COUNT, Answer, Body, NarrowBody, ScopeName

_LONGEST = 3_155_760_000_000.0


@dataclass(frozen=True, slots=True)
class FindingsAnswer(JsonObject):
    findings: tuple[Finding, ...]


class RuleBody(Body):
    """How long the records of a scope are kept. One without limits lifts the rule. Pinned records are always kept."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": "session", "max_age": 7776000}]})

    scope: ScopeName = Field(description="kind:id, or a kind alone for all of them.")
    max_age: float | None = Field(default=None, ge=0, le=_LONGEST, allow_inf_nan=False, description="Seconds.")
    max_records: int | None = Field(default=None, ge=0, le=MAX_COUNT)

    def rule(self) -> Rule:
        age = None if self.max_age is None else timedelta(seconds=self.max_age)
        return Rule(scope=self.scope, max_age=age, max_records=self.max_records)


@dataclass(frozen=True, slots=True)
class RulesAnswer(JsonObject):
    rules: tuple[Rule, ...]


class TidyBody(NarrowBody):
    """`purge_after`: also remove for good what was deleted so many seconds ago or more."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"purge_after": 2592000}]})

    purge_after: float | None = Field(default=None, ge=0, le=_LONGEST, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class LogAnswer(JsonObject):
    log: tuple[Upkeep, ...]


class EmbedderBody(Body):
    """The embedder to change to, or several with commas between them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"embedder": "static"}]})

    embedder: str = Field(min_length=1, max_length=500, description="static, gte-small, none, openai:MODEL.")


class ReindexedAnswer(Answer):
    texts: Natural
