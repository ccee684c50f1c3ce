"""How recall is counted: shares of evidence among the first few."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2

from bench.sets import Asked

DEEP = 60
"""How many hits are read for a set that counts sessions."""


def share(found: Sequence[str], evidence: Collection[str], k: int) -> float:
    """The share of the evidence among the first k."""
    return len(set(found[:k]) & set(evidence)) / len(evidence)


def gain(found: Sequence[str], evidence: Collection[str], k: int) -> float:
    """nDCG at k: each piece of evidence counts less the lower it stands, against the best possible order."""
    got = sum(1 / log2(place + 2) for place, one in enumerate(found[:k]) if one in evidence)
    best = sum(1 / log2(place + 2) for place in range(min(k, len(evidence))))
    return got / best


def of_turns(asked: Asked, found: Sequence[str]) -> dict[str, float]:
    """`found` are ids of the records, best first."""
    figures = {f"R@{k}": share(found, asked.evidence, k) for k in (5, 10, 20)}
    return figures if asked.overlap else figures | {"R@10 no shared word": figures["R@10"]}


def of_sessions(asked: Asked, found: Sequence[str]) -> dict[str, float]:
    """`found` names the session of each hit; a session stands where its first hit does."""
    ordered = list(dict.fromkeys(found))
    every = {f"all@{k}": float(asked.evidence <= set(ordered[:k])) for k in (5, 10)}
    return every | {"nDCG@10": gain(ordered, asked.evidence, 10)}


def means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each figure over the questions that have it."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: _mean([row[name] for row in rows if name in row]) for name in names}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
