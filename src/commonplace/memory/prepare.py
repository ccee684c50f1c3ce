"""From a text to the passages it is found by: cut, analysed, embedded.

What is analysed is more than the text: the speaker's name is indexed with what was said, unless it is a mere role, and
the day it tells of is indexed as the words by which a question would name it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from commonplace.errors import EmbedderError, WrongDimension
from commonplace.ports.embedder import Embedder, Floats
from commonplace.text.analyse import date_terms, terms
from commonplace.text.chunk import spans
from commonplace.text.postings import pack
from commonplace.text.tokens import TokenCounter
from commonplace.values.record import Passage, Record
from commonplace.values.vector import to_bytes

AT_ONCE = 2_000
"""Characters that are cut in less time than a thread takes to begin."""
ROLES = frozenset({"user", "assistant", "system", "tool"})


class Told(NamedTuple):
    """All that a record is found by."""

    text: str
    speaker: str | None = None
    at: datetime | None = None

    @classmethod
    def by(cls, record: Record) -> Told:
        return cls(record.text, record.speaker, record.at)


class _Cut(NamedTuple):
    start: int
    stop: int
    spoken: str
    length: int
    terms: bytes


async def embedded(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """
    What `embedder` answers, once it is what its port promises.

    Raises:
        WrongDimension: the vectors are of another size than it says.
        EmbedderError: there are more or fewer of them than texts, or they hold what is no number.
    """
    rows = await embedder.embed(texts)
    if len(rows) != len(texts):
        raise EmbedderError(
            f"{embedder.name} answered {len(texts)} texts with {len(rows)} vectors. Nothing was stored."
        )
    if rows.shape[1:] != (embedder.dimension,):
        raise WrongDimension(
            f"{embedder.name} answered with vectors of {rows.shape[-1]} numbers, and says it gives {embedder.dimension}."
        )
    if not np.isfinite(rows).all():
        raise EmbedderError(f"{embedder.name} answered with what is no number. Nothing was stored.")
    return rows


class Preparer:
    """Makes passages with the vectors of every embedder it was given."""

    def __init__(self, embedders: Sequence[Embedder], count: TokenCounter) -> None:
        self.embedders = tuple(embedders)
        self.count = count

    async def passages(self, contents: Sequence[Told]) -> list[tuple[Passage, ...]]:
        if sum(len(content.text) for content in contents) <= AT_ONCE:
            cuts = [self._cut(content) for content in contents]
        else:
            cuts = await asyncio.to_thread(lambda: [self._cut(content) for content in contents])
        texts = [cut.spoken for group in cuts for cut in group]
        vectors: list[dict[str, bytes]] = [{} for _ in texts]
        for embedder in self.embedders if texts else ():
            for vector, value in zip(vectors, to_bytes(await embedded(embedder, texts)), strict=True):
                vector[embedder.name] = value
        each = iter(vectors)
        return [
            tuple(Passage(cut.start, cut.stop, cut.length, cut.terms, next(each)) for cut in group) for group in cuts
        ]

    def _cut(self, content: Told) -> list[_Cut]:
        days = [] if content.at is None else date_terms(content.at)
        cuts: list[_Cut] = []
        for start, stop, spoken in stretches(content, self.count):
            words = terms(spoken)
            cuts.append(_Cut(start, stop, spoken, len(words), pack(words + days)))
        return cuts


def stretches(content: Told, count: TokenCounter) -> Iterator[tuple[int, int, str]]:
    """Where each passage stands, and what is analysed and embedded of it: its text behind the name of who said it."""
    before = prefix_of(content.speaker)
    for start, stop in spans(content.text, count):
        yield start, stop, before + content.text[start:stop]


def prefix_of(speaker: str | None) -> str:
    """What is embedded before the words of a speaker."""
    return "" if speaker is None or speaker.casefold() in ROLES else f"{speaker}: "
