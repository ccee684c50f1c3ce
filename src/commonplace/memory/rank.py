"""
Puts the candidates of a search in order and says why.

Scores are fused, not ranks. Each channel, the words and every embedder, is measured in standard deviations above the
mean of the scope searched, so that channels add up whatever their units. What a passage scores by itself is then lent
on: a turn of a conversation is often understood only with the turns around it ("Yes, last year!"), so it borrows from
its neighbours, the more the shorter it is, and from the best hit of its session. A record that stands alone is its own
session, so that facts and turns meet on equal terms. The words count less where the best text of the scope holds
little of what was asked: then the few words that do match are mere chance. Pins, importance and age only tip a
balance. A score is a plain sum of named parts, and a hit carries all of them.

Everything here is arithmetic on arrays: who the candidates are is for `recall` to find out. The defaults were chosen on
plateaus over five sets of questions, never at a peak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WORDS: Final = "words"
"""The part of the words channel; an embedder's part is `meaning:<its name>`."""

_EXTRA: Final = 0.5
_FEW: Final = 40.0
"""A scope of this many passages has half the chance of a large one that words match without meaning anything."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Every tunable of the ranking. One set serves all data: what must adapt follows the query and the scope."""

    k1: float = 1.2
    """How soon repeats of a word in one passage stop counting."""
    shortest: float = 40.0
    """Passages below this many terms are not preferred for being short: "Wow!" answers nothing."""
    words: float = 1.0
    meaning: float = 1.25
    """What the embedder counts beside the words. Several share it, see `further`."""
    further: float = 0.3
    """How much of `meaning` each further embedder adds to what they share: they mostly say the same."""
    embedders: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """What an embedder counts by name, where that differs from its share."""
    coverage: float = 0.5
    """The words count in full where the best passage holds this share of what the query asks for, else less."""
    before: float = 0.5
    after: float = 0.4
    """What a very short turn borrows from the turn before it and from the turn after it."""
    second: float = 0.5
    """How much of that a turn two places away lends."""
    terse: float = 60.0
    """A turn of this many terms borrows half as much as a very short one."""
    session: float = 0.5
    """What a record receives of the best score in its session."""
    recency: float = 0.05
    half_life: float = 30.0
    """Days after which what a memory gains by being new is half gone."""
    pin: float = 0.5
    importance: float = 0.25
    copies: float = 0.0
    """What a near-copy of a better hit loses."""
    prior: float = 20.0
    """As how many passages of any memory the background counts beside those of a scope."""


@dataclass(frozen=True, kw_only=True)
class ScoreSpread:
    """How one channel's scores are spread over the whole scope (or a fair sample of it), not over the pool."""

    mean: float
    std: float
    best: float

    def mixed(self, count: int, background: ScoreSpread, weight: float) -> ScoreSpread:
        """As `count` passages of this spread and `weight` of the background's have it together: a few passages alone have none."""
        total = count + weight
        if not total > 0.0:
            return self
        mean = (count * self.mean + weight * background.mean) / total
        squares = count * (self.std**2 + (self.mean - mean) ** 2) + weight * (
            background.std**2 + (background.mean - mean) ** 2
        )
        return ScoreSpread(mean=mean, std=sqrt(squares / total), best=self.best)


@dataclass(frozen=True, kw_only=True)
class Pool:
    """
    The candidate passages of one search, an item each in every array.

    `before` and `after` point into the pool: at any passage of the previous and of the next turn of the same session,
    -1 where there is none or it is no candidate.
    """

    record: Ints
    passage: Ints
    words: Floats
    meaning: Mapping[str, Floats]
    """By embedder, the cosine; nan where a passage has no vector yet."""
    channels: Mapping[str, ScoreSpread]
    """By `WORDS` and by embedder."""
    wanted: float
    """What `wanted` says of the query's terms; 0 where it has none."""
    session: Ints
    """-1: none."""
    before: Ints
    after: Ints
    length: Floats
    """Terms of the whole record."""
    age: Floats
    """Days since what the record tells; nan: unknown."""
    pinned: NDArray[np.bool_]
    importance: Floats
    """0 to 100."""
    copy: Ints
    """Near-copies of one another share a number; -1: none."""
    passages: int
    """How many there are in the scopes searched."""


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """
    Records, best first, with the passage that speaks for each. `score` is the sum of `parts`; `words` is the BM25 that the
    part of that name was made of.
    """

    record: Ints
    passage: Ints
    score: Floats
    words: Floats
    parts: Mapping[str, Floats]
    before: Ints
    after: Ints
    """A passage of the turn before and after; -1 where there is none in the pool."""


def idf(passages: float, holding: Ints | Floats) -> Floats:
    """How much each term tells in a scope of `passages`, given how many of them hold it."""
    return np.log1p((passages - holding + 0.5) / (holding + 0.5))


def bm25(count: Floats, length: Floats, mean_length: float, weights: Weights) -> Floats:
    """
    What one term adds to passages that hold it `count` times, to be multiplied by its idf and its weight in the query.

    Length counts in full (b = 1): measured on chats with long answers. Texts below `shortest` are treated as that long.
    """
    relative = np.maximum(length, weights.shortest) / max(mean_length, weights.shortest)
    return (weights.k1 + 1.0) * count / (count + weights.k1 * relative)


def wanted(weight: Floats, rarity: Floats) -> float:
    """
    What a text would score in words that holds the whole query once; pairs and other extras, of half weight, aside.

    The single characters of a Chinese run count: a text that holds the run holds them, and they score.
    """
    full = weight > _EXTRA
    chosen = full if full.any() else np.ones_like(full)
    return float((weight * rarity)[chosen].sum())


def rank(pool: Pool, weights: Weights) -> Ranked:
    """The records of `pool` in order, each once."""
    channels = _channels(pool, weights)
    own = np.sum(list(channels.values()), axis=0, initial=0.0) + np.zeros(len(pool.record))
    best, member = _best_passages(pool, own)
    # A record that stands alone is its own session: what it would lend itself counts with its words and its meaning.
    within = pool.session[best] >= 0
    share = np.where(within, 1.0, 1.0 + weights.session)
    parts = {name: values[best] * share for name, values in channels.items()}
    if within.any():
        parts["neighbours"] = _neighbours(pool, own[best], best, member, weights)
        parts["session"] = np.where(within, weights.session * _session_best(pool.session[best], own[best]), 0.0)
    parts["recency"] = _recency(pool.age[best], weights)
    parts["pin"] = weights.pin * pool.pinned[best].astype(np.float64)
    parts["importance"] = weights.importance * pool.importance[best] / 100.0
    if weights.copies:
        parts["copies"] = _copies(pool.copy[best], _total(parts), pool.record[best], weights)
    score = _total(parts)
    # Ordinals grow as records are written: of two equal hits the newer one comes first.
    order = np.lexsort((-pool.record[best], -score))
    return Ranked(
        record=pool.record[best][order],
        passage=pool.passage[best][order],
        score=score[order],
        words=pool.words[best][order],
        parts={name: values[order] for name, values in parts.items()},
        before=_rows(pool, pool.before[best][order]),
        after=_rows(pool, pool.after[best][order]),
    )


def _rows(pool: Pool, pointers: Ints) -> Ints:
    return np.where(pointers >= 0, pool.passage[pointers], -1) if len(pool.passage) else pointers


def _total(parts: Mapping[str, Floats]) -> Floats:
    return np.sum(list(parts.values()), axis=0)


def _channels(pool: Pool, weights: Weights) -> dict[str, Floats]:
    """Each channel's part for every passage."""
    words = pool.channels.get(WORDS)
    # In a small scope few texts can match by chance.
    coverage = weights.coverage * pool.passages / (pool.passages + _FEW)
    trust = _trust(words.best if words else 0.0, pool.wanted, coverage)
    parts = {WORDS: weights.words * trust * _standard(pool.words, words)}
    several = max(len(pool.meaning), 1)
    share = weights.meaning * (1.0 + weights.further * (several - 1)) / several
    for name, cosine in pool.meaning.items():
        weight = weights.embedders.get(name, share)
        parts[f"meaning:{name}"] = weight * _standard(cosine, pool.channels.get(name))
    return parts


def _trust(best: float, asked: float, coverage: float) -> float:
    """How far the words can be trusted: squared, since half of what is needed is already mostly chance."""
    if asked <= 0.0:
        return 0.0
    return min(1.0, max(0.0, best / asked) / coverage) ** 2 if coverage > 0.0 else 1.0


def _standard(values: Floats, channel: ScoreSpread | None) -> Floats:
    """Standard deviations above the scope's mean; none where there is no value or no spread."""
    if channel is None or not channel.std > 1e-9:
        return np.zeros(len(values))
    return np.nan_to_num((values - channel.mean) / channel.std, nan=0.0, posinf=0.0, neginf=0.0)


def _best_passages(pool: Pool, own: Floats) -> tuple[Ints, Ints]:
    """The position of each record's best passage, by record, and for every passage which of these records it is of."""
    order = np.lexsort((pool.passage, -own, pool.record))
    records = pool.record[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = records[1:] != records[:-1]
    member = np.empty(len(order), dtype=np.int64)
    member[order] = np.cumsum(first) - 1
    return order[first], member


def _neighbours(pool: Pool, own: Floats, best: Ints, member: Ints, weights: Weights) -> Floats:
    """What each record borrows from the turns around it, by the score they have of their own."""
    if len(own) == 0:
        return np.zeros(0)
    borrowed = np.zeros(len(own))
    for pointers, weight in ((pool.before, weights.before), (pool.after, weights.after)):
        near = _follow(pointers[best], member)
        far = np.where(near >= 0, near[near], -1)
        borrowed += weight * (_lent(own, near) + weights.second * _lent(own, far))
    return borrowed / (1.0 + pool.length[best] / weights.terse)


def _follow(pointers: Ints, member: Ints) -> Ints:
    return np.where(pointers >= 0, member[pointers], -1)


def _lent(own: Floats, at: Ints) -> Floats:
    return np.where(at >= 0, own[at], 0.0)


def _session_best(session: Ints, own: Floats) -> Floats:
    """The best score of each record's session; its own where it has none."""
    best = own.copy()
    within = np.flatnonzero(session >= 0)
    if len(within):
        _, group = np.unique(session[within], return_inverse=True)
        highest = np.full(int(group.max()) + 1, -np.inf)
        np.maximum.at(highest, group, own[within])
        best[within] = highest[group]
    return best


def _recency(age: Floats, weights: Weights) -> Floats:
    """From half the weight for what is new down to minus half for what is long past; nothing where the time is unknown."""
    freshness = np.exp2(-np.maximum(age, 0.0) / weights.half_life) - 0.5
    return weights.recency * np.nan_to_num(freshness, nan=0.0)


def _copies(copy: Ints, score: Floats, record: Ints, weights: Weights) -> Floats:
    """The penalty of every record but the best of each group of near-copies."""
    order = np.lexsort((-record, -score, copy))
    groups = copy[order]
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (groups[1:] == groups[:-1]) & (groups[1:] >= 0)
    penalty = np.zeros(len(order))
    penalty[order[again]] = -weights.copies
    return penalty
