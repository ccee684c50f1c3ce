"""Memory made fit for a prompt."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.values.json import JsonObject, Natural
from commonplace.values.layer import LayerChoice
from commonplace.values.query import Filter, Hit
from commonplace.values.record import Record


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextQuery:
    """
    What a prompt wants of the memory: what answers `text`, or with `min_relevance` all that is so relevant, and `session` as it went, within
    `budget` tokens. Each memory is told by its passage, or by `layer`.
    """

    text: str
    filter: Filter = Filter()
    session: str | None = None
    budget: int = 2000
    layer: LayerChoice | None = None
    min_relevance: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextMeta(JsonObject):
    """How much of what is in a block, and how well it fits the question."""

    used: bool = False
    records_total: Natural = 0
    session_records: Natural = 0
    history_records: Natural = 0
    fact_records: Natural = 0
    score_min: float | None = None
    score_max: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextBlock:
    """
    Text for a prompt, its tokens, the records in it in the order they stand there, the hits among them, and how many
    records were left out to stay within the budget. Without records the text is empty.
    """

    text: str = ""
    tokens: int = 0
    records: tuple[Record, ...] = ()
    hits: tuple[Hit, ...] = ()
    left_out: int = 0
    meta: ContextMeta = ContextMeta()

    def __str__(self) -> str:
        return self.text
