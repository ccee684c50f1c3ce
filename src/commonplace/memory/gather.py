"""From indexes and a question to a pool of candidates, and back from ranked candidates to their places.

Small scopes are judged whole. In a large one the pool is the best few hundred of each channel and the turns around
them; how a channel's scores are spread is then taken from all passages (words) or from an even sample (meaning).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from commonplace.memory.index import EXACT, NEVER, Bools, Floats, Index, Ints, Segment, best_rows, place_key
from commonplace.memory.rank import WORDS, Pool, ScoreSpread, Weights, bm25, idf, wanted
from commonplace.memory.relevance import Calibration

Rows = NDArray[np.intp]
Number = TypeVar("Number", bound=np.generic)

MOST_TERMS = 128
"""Of a longer question only the words that tell the most are asked for."""
WHOLE = 3_000
BEST = 400
_BESIDE = 2
_PASSAGES_BESIDE = 8
_DAY = 86_400_000
_WORDS_MEAN, _WORDS_STD = 0.03, 0.08
"""What passages of any memory score in words, as shares of what a text with the whole question would."""
_MANY = 1_000.0
"""In a scope of a few passages the shortest that counts as short is twice as long as in a large one; of this many, half as much more."""
_ALIKE = 1e-6
"""Squares below this share of their whole are rounding."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """
    `terms` by hash, with their weights; a vector an embedder. Of the background: how often a passage of any memory holds a term, what
    share of the question each is, and by embedder the curve that knows how near texts are that have nothing to do with one another.
    """

    terms: Mapping[int, float]
    vectors: Mapping[str, Floats]
    now: int
    weights: Weights
    chance: Mapping[int, float] = field(default_factory=dict[int, float])
    shares: Mapping[int, float] = field(default_factory=dict[int, float])
    curves: Mapping[str, Calibration] = field(default_factory=dict[str, Calibration])
    allowed: Ints | None = None
    """The records that count; None: all."""
    limit: int = 0
    """How many hits are wanted: the pool is never smaller where it could be larger."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """What is known of the scopes beyond the passages at hand: passages, their terms, and by term who holds it."""

    passages: int
    length: float
    holding: Mapping[int, int]


@dataclass(slots=True)
class _Part:
    """One segment during one search."""

    segment: Segment
    index: int
    offset: int
    alive: Bools
    words: Floats
    meaning: dict[str, Floats] = field(default_factory=dict[str, Floats])

    @property
    def full(self) -> bool:
        return self.alive is self.segment.alive and self.segment.living == len(self.segment)

    @property
    def living(self) -> int:
        return self.segment.living if self.alive is self.segment.alive else int(self.alive.sum())


class Gathering:
    """One search over some indexes."""

    def __init__(self, indexes: Sequence[Index], question: Question, spread: Spread | None = None) -> None:
        self._indexes = indexes
        self._asked = question
        self._parts: list[_Part] = []
        offset = 0
        for number, index in enumerate(indexes):
            for segment in index.segments:
                words = np.zeros(len(segment), dtype=np.float32)
                self._parts.append(_Part(segment, number, offset, self._living(segment), words))
                offset += len(segment)
        self._size = offset
        self._count = sum(part.living for part in self._parts)
        self._spread = spread or Spread(passages=self._count, length=self._length(), holding={})
        self._known = spread is not None
        self._means: dict[str, Floats] = {}

    def pool(self) -> Pool:
        """The candidates. `Pool.passage` is a row number that `place` understands."""
        asked = self._score_words()
        channels = {WORDS: self._spread_of_words(asked)}
        for name, vector in self._asked.vectors.items():
            channels[name] = self._score_meaning(name, vector)
        rows = self._candidates()
        self._look_closely(rows)
        session = self._column("session", rows)
        record = self._column("record", rows)
        before, after = self._beside(session, self._column("position", rows), record)
        return Pool(
            record=record,
            passage=rows.astype(np.int64),
            words=self._values([part.words for part in self._parts], rows),
            meaning={name: self._values([p.meaning[name] for p in self._parts], rows) for name in self._asked.vectors},
            channels=channels,
            wanted=asked,
            session=session,
            before=before,
            after=after,
            length=self._values([part.segment.whole for part in self._parts], rows),
            age=(self._asked.now - self._column("at", rows)) / _DAY,
            pinned=self._column("pinned", rows).astype(np.bool_),
            importance=self._column("importance", rows).astype(np.float64),
            copy=np.full(len(rows), -1, dtype=np.int64),
            passages=self._spread.passages,
        )

    def place(self, row: int) -> tuple[Segment, int]:
        """The segment of a row, and where it stands there."""
        part = next(part for part in reversed(self._parts) if part.offset <= row)
        return part.segment, row - part.offset

    def coverage(self, rows: Ints) -> NDArray[np.float64]:
        """What share of the question each row holds in words."""
        shares = np.zeros(len(rows))
        for part in self._parts:
            here = np.flatnonzero((rows >= part.offset) & (rows < part.offset + len(part.segment)))
            local = (rows[here] - part.offset).astype(np.int32)
            for term, share in self._asked.shares.items() if len(here) else ():
                holders, _ = part.segment.postings.of(term)
                if len(holders):
                    place = np.minimum(holders.searchsorted(local), len(holders) - 1)
                    shares[here[holders[place] == local]] += share
        return shares

    def cosines(self, name: str, rows: Ints) -> NDArray[np.float64]:
        """How near each row is to the question by itself, whatever else the scopes hold; nan where it has no vector."""
        cosines = np.full(len(rows), np.nan)
        for part in self._parts:
            here = np.flatnonzero((rows >= part.offset) & (rows < part.offset + len(part.segment)))
            if len(here):
                vectors = part.segment.vectors[name]
                local = rows[here] - part.offset
                near = vectors.rows(local) @ self._asked.vectors[name]
                cosines[here] = np.where(vectors.scale[local] > 0, near, np.nan)
        return cosines

    @property
    def passages(self) -> int:
        """How many passages the question was asked of."""
        return self._spread.passages

    # ---- words

    @cached_property
    def terms(self) -> list[int]:
        """The terms that are asked for: all, or of many those that tell the most, which are the rarest that are held."""
        terms = list(self._asked.terms) if self._asked.weights.words else []
        if len(terms) <= MOST_TERMS:
            return terms
        counts = self._rough_counts(np.array(terms, dtype=np.uint32))
        worth = idf(self._spread.passages, counts) * np.array([self._asked.terms[term] for term in terms])
        worth[counts == 0] = -1.0
        best = np.argsort(-worth, kind="stable")[: min(MOST_TERMS, int(np.count_nonzero(counts)))]
        return [terms[place] for place in sorted(best.tolist())]

    def _rough_counts(self, terms: NDArray[np.uint32]) -> Ints:
        """How many passages hold each term, the dead among them."""
        if self._known:
            return np.array([self._spread.holding.get(term, 0) for term in terms.tolist()], dtype=np.int64)
        counts = np.zeros(len(terms), dtype=np.int64)
        for part in self._parts:
            counts += part.segment.postings.sizes(terms)
        return np.minimum(counts, self._spread.passages)

    def _length(self) -> float:
        """Terms of all passages that count."""
        if all(part.alive is part.segment.alive for part in self._parts):
            return sum(index.length for index in self._indexes)
        return sum(float(part.segment.columns.length[part.alive].sum(dtype=np.float64)) for part in self._parts)

    def _score_words(self) -> float:
        """Fill in every part's word scores; what a text with the whole question would have."""
        terms = self.terms
        if not terms:
            return 0.0
        found = [[part.segment.postings.of(term) for part in self._parts] for term in terms]
        holding = np.array(
            [self._holding(term, places) for term, places in zip(terms, found, strict=True)], dtype=np.int64
        )
        prior = self._asked.weights.prior
        chance = np.array([self._asked.chance.get(term, 0.0) for term in terms])
        rarity = idf(self._spread.passages + prior, holding + prior * chance)
        weight = np.array([self._asked.terms[term] for term in terms])
        mean = self._spread.length / max(self._spread.passages, 1)
        # Among a few passages, which of them is longer says nothing.
        few = 1.0 + _MANY / (self._spread.passages + _MANY)
        weights = replace(self._asked.weights, shortest=self._asked.weights.shortest * few)
        for places, worth in zip(found, rarity * weight, strict=True):
            for part, (rows, times) in zip(self._parts, places, strict=True):
                if len(rows):
                    length = part.segment.columns.length[rows].astype(np.float64)
                    part.words[rows] += worth * bm25(times.astype(np.float64), length, mean, weights)
        for part in self._parts:
            if not part.full:
                part.words[~part.alive] = 0.0
        return wanted(weight, rarity)

    def _holding(self, term: int, places: Sequence[tuple[NDArray[np.int32], NDArray[np.uint8]]]) -> int:
        if self._known:
            return self._spread.holding.get(term, 0)
        return sum(
            len(rows) if part.full else int(part.alive[rows].sum())
            for part, (rows, _) in zip(self._parts, places, strict=True)
        )

    def _spread_of_words(self, complete: float) -> ScoreSpread:
        total = sum(float(part.words.sum(dtype=np.float64)) for part in self._parts)
        squares = sum(float(np.dot(part.words, part.words)) for part in self._parts)
        count = max(self._spread.passages if self._known else self._count, 1)
        mean = total / count
        best = max((float(part.words.max(initial=0.0)) for part in self._parts), default=0.0)
        variance = squares / count - mean * mean
        std = float(np.sqrt(variance)) if variance > _ALIKE * mean * mean else 0.0
        background = ScoreSpread(mean=_WORDS_MEAN * complete, std=_WORDS_STD * complete, best=0.0)
        return ScoreSpread(mean=mean, std=std, best=best).mixed(count, background, self._asked.weights.prior)

    # ---- meaning

    def _score_meaning(self, name: str, vector: Floats) -> ScoreSpread:
        """Cosines after the mean of the scopes is taken away from both sides; nan where nobody looked."""
        count = max(sum(len(index) for index in self._indexes), 1)
        mean = np.zeros(len(vector), dtype=np.float32)
        for index in self._indexes:
            mean += index.mean(name) * np.float32(len(index) / (count + self._asked.weights.prior))
        self._means[name] = mean
        sampled: list[Floats] = []
        for part in self._parts:
            vectors = part.segment.vectors[name]
            part.meaning[name] = np.full(len(part.segment), np.nan, dtype=np.float32)
            if len(part.segment) <= EXACT:
                rows = part.alive & (vectors.scale > 0)
                part.meaning[name][rows] = _centred(vectors.units, vector, mean)[rows]
                sampled.append(part.meaning[name][rows])
                continue
            rows = vectors.nearest(vector, mean, part.alive & (vectors.scale > 0), BEST)
            part.meaning[name][rows] = _centred(vectors.rows(rows), vector, mean)
            sample = vectors.sample if part.full else vectors.sample[part.alive[vectors.even]]
            sampled.append(_centred(sample, vector, mean))
        seen = np.concatenate(sampled) if sampled else np.zeros(0, dtype=np.float32)
        if not len(seen):
            return ScoreSpread(mean=0.0, std=0.0, best=0.0)
        spread = ScoreSpread(mean=float(seen.mean()), std=float(seen.std()), best=float(seen.max()))
        curve = self._asked.curves.get(name)
        background = spread if curve is None else curve.unrelated
        return spread.mixed(self._count, background, self._asked.weights.prior)

    def _look_closely(self, rows: Rows) -> None:
        """Candidates that came by their words or as neighbours get their cosine too."""
        for part in self._parts:
            if len(part.segment) <= EXACT:
                continue
            here = rows[(rows >= part.offset) & (rows < part.offset + len(part.segment))] - part.offset
            for name, vector in self._asked.vectors.items():
                vectors = part.segment.vectors[name]
                unseen = here[np.isnan(part.meaning[name][here]) & (vectors.scale[here] > 0)]
                part.meaning[name][unseen] = _centred(vectors.rows(unseen), vector, self._means[name])

    # ---- the pool

    def _living(self, segment: Segment) -> Bools:
        alive = segment.alive
        if segment.expiring:
            alive = alive & ((segment.columns.expires == NEVER) | (segment.columns.expires > self._asked.now))
        if self._asked.allowed is not None:
            alive = alive & np.isin(segment.columns.record, self._asked.allowed)
        return alive

    def _candidates(self) -> Rows:
        if not self._asked.vectors:
            return self._best([part.words for part in self._parts], above=0.0)
        if self._count <= WHOLE:
            return np.concatenate([np.flatnonzero(part.alive) + part.offset for part in self._parts] or [_NONE])
        chosen = [self._best([part.words for part in self._parts], above=0.0)]
        chosen += [self._best([p.meaning[name] for p in self._parts], above=-2.0) for name in self._asked.vectors]
        best = np.unique(np.concatenate(chosen))
        return np.unique(np.concatenate([best, self._turns_beside(best)]))

    def _best(self, scores: Sequence[Floats], above: float) -> Rows:
        joined = scores[0] if len(scores) == 1 else np.concatenate(scores)
        return best_rows(joined, np.flatnonzero(joined > above), max(BEST, self._asked.limit))

    def _turns_beside(self, rows: Rows) -> Rows:
        """Rows of the turns up to two places before and after these."""
        found: list[Rows] = []
        for index in range(len(self._indexes)):
            parts = [part for part in self._parts if part.index == index]
            keys = [_keys_beside(part, rows) for part in parts]
            wanted_keys = np.unique(np.concatenate(keys)) if keys else _NONE
            for part in parts if len(wanted_keys) else ():
                places, order = part.segment.places
                left = np.searchsorted(places, wanted_keys)
                right = np.minimum(np.searchsorted(places, wanted_keys, side="right"), left + _PASSAGES_BESIDE)
                local = order[_ranges(left, right)]
                found.append(local[part.alive[local]] + part.offset)
        return np.concatenate(found) if found else _NONE

    def _beside(self, session: Ints, position: Ints, record: Ints) -> tuple[Ints, Ints]:
        """
        For each row of the pool a row of the turn before it and of the one after it, -1 where there is none. Of two turns in
        one place, one of them moved there, the older counts, whichever of them the index met first.
        """
        key = place_key(session, position)
        order = np.lexsort((record, key))
        ordered = key[order]

        def turn(step: int) -> Ints:
            place = np.searchsorted(ordered, key + step)
            place[place == len(ordered)] = 0
            fits = (ordered[place] == key + step) & (session >= 0) & (position >= 0) if len(ordered) else session < -1
            return np.where(fits, order[place] if len(ordered) else -1, -1)

        return turn(-1), turn(1)

    def _column(self, name: str, rows: Rows) -> Ints:
        values = self._at([getattr(part.segment.columns, name) for part in self._parts], rows).astype(np.int64)
        if name == "session" and len(self._indexes) > 1:
            # Sessions are numbered within an index: keep those of different indexes apart.
            owner = self._at([np.full(len(part.segment), part.index) for part in self._parts], rows)
            values = np.where(values >= 0, values * len(self._indexes) + owner, values)
        return values

    def _values(self, arrays: Sequence[Floats], rows: Rows) -> NDArray[np.float64]:
        return self._at(arrays, rows).astype(np.float64)

    def _at(self, arrays: Sequence[NDArray[Number]], rows: Rows) -> NDArray[Number]:
        if len(arrays) == 1:
            return arrays[0][rows]
        out = np.empty(len(rows), dtype=arrays[0].dtype)
        for part, array in zip(self._parts, arrays, strict=True):
            here = (rows >= part.offset) & (rows < part.offset + len(array))
            out[here] = array[rows[here] - part.offset]
        return out


_NONE: Rows = np.zeros(0, dtype=np.intp)
_STEPS = np.array([step for step in range(-_BESIDE, _BESIDE + 1) if step])


def _keys_beside(part: _Part, rows: Rows) -> Ints:
    """The places beside those of `rows` that are in this part."""
    here = rows[(rows >= part.offset) & (rows < part.offset + len(part.segment))] - part.offset
    session, position = part.segment.columns.session[here], part.segment.columns.position[here]
    within = (session >= 0) & (position >= 0)
    return (place_key(session[within], position[within])[:, None] + _STEPS).ravel()


def _centred(units: Floats, vector: Floats, mean: Floats) -> Floats:
    """Cosine of each unit row and `vector`, both less `mean`."""
    asked = vector - mean
    square = np.float32(mean @ mean)
    apart, length = 1.0 - 2.0 * (units @ mean) + square, float(asked @ asked)
    if length < _ALIKE:
        return np.zeros(len(units), dtype=np.float32)
    cosine = (units @ asked - float(asked @ mean)) / np.sqrt(np.maximum(apart, _ALIKE) * length)
    # What is all but the mean itself points nowhere: the rest is rounding, which must not be taken for a direction.
    return np.where(apart < _ALIKE, 0.0, cosine).astype(np.float32)


def _ranges(left: Rows, right: Rows) -> Rows:
    """All numbers of the half-open ranges, one after another."""
    sizes = right - left
    begins = np.repeat(left - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) if len(left) else _NONE
    return begins + np.arange(int(sizes.sum()))
