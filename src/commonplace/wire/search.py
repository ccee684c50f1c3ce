"""Questions and hits on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.json import JsonObject
from commonplace.values.layer import LayerName, LayerText
from commonplace.values.moment import Moment
from commonplace.values.query import Hit, Mode, Why
from commonplace.values.record import Record, Trust
from commonplace.wire.shapes import Everyone, Label, Line, NarrowBody, Question, ScopeName

Labels = Annotated[list[Label], Field(max_length=100)]
Weight = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


class SearchBody(NarrowBody):
    """A question, and which records may answer it. What is absent or empty narrows nothing."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "when do we ship?", "scopes": ["workspace:web"], "limit": 5}]}
    )

    text: Question
    scopes: list[ScopeName] | None = Field(
        default=None, max_length=100, description="Where to look; absent: in what is shared, and in your own."
    )
    everyone: Everyone = False
    limit: int = Field(default=10, ge=1, le=1000)
    mode: Mode = "hybrid"
    kinds: Labels = Field(default=[])
    sources: Labels = Field(default=[])
    tags: Labels = Field(default=[], description="All of them must be there.")
    trust: list[Trust] = Field(default=[], max_length=100)
    sessions: Labels = Field(default=[])
    speaker: Line | None = None
    pinned: bool | None = None
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = Field(default=None, description="Search the memory as it stood at that moment.")
    diversity: float = Field(default=0.0, ge=0, le=1e6, allow_inf_nan=False)
    weights: dict[Label, Weight] = Field(default={}, max_length=100)
    layer: LayerName | None = Field(
        default=None,
        description="Tell each hit by a layer, too. L0: an abstract. L1: an overview. L2: the text itself.",
    )
    budget: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="So many tokens for the layers of all hits: one that does not fit gets a shorter layer, or ends the list.",
    )
    min_relevance: float = Field(
        default=0.0, ge=0, le=1, description="Leave out hits less likely than this to answer the question."
    )
    copies: bool = Field(
        default=False,
        description="Show each of several records that say the same, not one with the others as evidence.",
    )
    explain: bool = Field(default=True, description="Whether each hit says why it is there.")
    run: Label | None = Field(
        default=None, description="Into which run it is recalled: it is not learned from it again."
    )


@dataclass(frozen=True, slots=True)
class HitAnswer(JsonObject):
    """
    `passage` is the stretch of the text that was found, `layer` the text that was asked for instead. `relevance` is the chance that this answers
    the question; if no hit is `relevant`, no memory does. `evidence`: records that say the same; `contradicted_by`: hits that say otherwise.
    """

    record: Record
    score: float
    passage: str
    why: Why | None
    layer: LayerText | None = None
    relevance: float = 1.0
    relevant: bool = True
    evidence: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()

    @classmethod
    def of(cls, hit: Hit, *, explain: bool) -> HitAnswer:
        why = hit.why if explain else None
        likely, others = round(hit.relevance, 4), (hit.evidence, hit.contradicted_by)
        return cls(hit.record, hit.score, hit.passage, why, hit.layer, likely, hit.relevant, *others)

    def hit(self) -> Hit:
        why = self.why or Why({}, (), 0, len(self.record.text))
        others = (self.evidence, self.contradicted_by)
        return Hit(self.record, self.score, why, self.layer, self.relevance, self.relevant, *others)


@dataclass(frozen=True, slots=True)
class HitsAnswer(JsonObject):
    """Best first."""

    hits: tuple[HitAnswer, ...]

    @classmethod
    def of(cls, hits: Iterable[Hit], *, explain: bool = True) -> HitsAnswer:
        return cls(tuple(HitAnswer.of(hit, explain=explain) for hit in hits))


@dataclass(frozen=True, slots=True)
class RecalledAnswer(JsonObject):
    """Which of a block's records a question recalled, and why."""

    id: str
    score: float
    why: Why
    relevance: float = 1.0
    evidence: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()

    @classmethod
    def of(cls, hit: Hit) -> RecalledAnswer:
        likely = round(hit.relevance, 4)
        return cls(hit.record.id, hit.score, hit.why, likely, hit.evidence, hit.contradicted_by)

    def hit(self, record: Record) -> Hit:
        others = (self.evidence, self.contradicted_by)
        return Hit(record, self.score, self.why, None, self.relevance, True, *others)
