"""Questions and hits on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from commonplace.values.query import Filters, Hit, Mode, Why
from commonplace.values.record import Record, Trust
from commonplace.wire.records import RecordAnswer
from commonplace.wire.shapes import Answer, Body, Label, Line, Moment, Question, ScopeName

Labels = Annotated[list[Label], Field(max_length=100)]
Weight = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


class SearchBody(Body):
    """A question, and which records may answer it. What is absent or empty narrows nothing."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "when do we ship?", "scopes": ["workspace:web"], "limit": 5}]}
    )

    text: Question
    scopes: list[ScopeName] | None = Field(
        default=None, max_length=100, description="Where to look; absent: wherever your key reaches."
    )
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
    explain: bool = Field(default=True, description="Whether each hit says why it is there.")
    run: Label | None = Field(
        default=None, description="Into which run it is recalled: it is not learned from it again."
    )

    def filters(self) -> Filters:
        return {
            "kinds": self.kinds,
            "sources": self.sources,
            "tags": self.tags,
            "trust": self.trust,
            "sessions": self.sessions,
            "speaker": self.speaker,
            "pinned": self.pinned,
            "since": self.since,
            "until": self.until,
        }


class WhyAnswer(Answer):
    """
    The parts sum to the score. `start` and `stop` are the passage's place in the record's text, `bm25` is what its words
    scored by themselves.
    """

    parts: dict[str, float]
    words: list[str]
    start: int
    stop: int
    bm25: float = 0.0

    @classmethod
    def of(cls, why: Why) -> WhyAnswer:
        return cls.model_construct(
            parts=dict(why.parts), words=list(why.words), start=why.start, stop=why.stop, bm25=why.bm25
        )

    def value(self) -> Why:
        return Why(self.parts, tuple(self.words), self.start, self.stop, self.bm25)


class HitAnswer(Answer):
    record: RecordAnswer
    score: float
    passage: str
    why: WhyAnswer | None

    @classmethod
    def of(cls, hit: Hit, now: datetime, *, explain: bool) -> HitAnswer:
        return cls.model_construct(
            record=RecordAnswer.of(hit.record, now),
            score=hit.score,
            passage=hit.passage,
            why=WhyAnswer.of(hit.why) if explain else None,
        )

    def value(self) -> Hit:
        record = self.record.value()
        why = self.why.value() if self.why else Why({}, (), 0, len(record.text))
        return Hit(record, self.score, why)


class HitsAnswer(Answer):
    """Best first."""

    hits: list[HitAnswer]

    @classmethod
    def of(cls, hits: Iterable[Hit], now: datetime, *, explain: bool = True) -> HitsAnswer:
        return cls.model_construct(hits=[HitAnswer.of(hit, now, explain=explain) for hit in hits])


class RecalledAnswer(Answer):
    """Which of a block's records a question recalled, and why."""

    id: str
    score: float
    why: WhyAnswer

    @classmethod
    def of(cls, hit: Hit) -> RecalledAnswer:
        return cls.model_construct(id=hit.record.id, score=hit.score, why=WhyAnswer.of(hit.why))

    def value(self, record: Record) -> Hit:
        return Hit(record, self.score, self.why.value())
