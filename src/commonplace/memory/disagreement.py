"""
Hits that contradict one another say so, and of two that fit about equally the more trusted stands first.

`text/conflict` reads two passages by rules. Only hits that answer the question are compared, and of a conversation only what the same person
said. What a less trusted hit loses is a part of its score, named `trust`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from commonplace.text.conflict import conflict
from commonplace.values.query import Hit
from commonplace.values.record import Record, Trust

MARGIN: Final = 0.15
"""Hits fit about equally if their chances to answer the question differ by no more than this."""
COMPARED: Final = 40
"""So many of the best hits are compared, each with each."""
_STEP: Final = 1e-6
_LEVELS: Final[dict[Trust, int]] = {
    "human_approved": 2,
    "verified": 2,
    "system_generated": 2,
    "external_user_supplied": 1,
    "model_generated": 1,
    "connector_sourced": 0,
}


def compare(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, best first, each with those that contradict it, and in the order of their trust where they fit about equally."""
    against: dict[str, list[Hit]] = {}
    for better, other in combinations([hit for hit in hits if hit.relevant][:COMPARED], 2):
        if _is_comparable(better.record, other.record) and conflict(better.passage, other.passage):
            against.setdefault(better.record.id, []).append(other)
            against.setdefault(other.record.id, []).append(better)
    if not against:
        return list(hits)
    scores = _lowered(hits, against)
    marked = [_marked(hit, scores[hit.record.id], against.get(hit.record.id, ())) for hit in hits]
    return sorted(marked, key=lambda hit: -hit.score)


def _is_comparable(a: Record, b: Record) -> bool:
    """Two people may say "I live in …" and both be right."""
    return a.speaker is None or b.speaker is None or a.speaker == b.speaker


def _lowered(hits: Sequence[Hit], against: dict[str, list[Hit]]) -> dict[str, float]:
    """The scores: a hit falls behind those of more trust that contradict it and are near. The most trusted are settled first."""
    scores = {hit.record.id: hit.score for hit in hits}
    for hit in sorted(hits, key=lambda hit: -_LEVELS[hit.record.trust]):
        id = hit.record.id
        for other in against.get(id, ()):
            is_near = abs(hit.relevance - other.relevance) <= MARGIN
            if is_near and _LEVELS[other.record.trust] > _LEVELS[hit.record.trust]:
                scores[id] = min(scores[id], scores[other.record.id] - _STEP)
    return scores


def _marked(hit: Hit, score: float, others: Sequence[Hit]) -> Hit:
    if score < hit.score:
        parts = {**hit.why.parts, "trust": hit.why.parts.get("trust", 0.0) + score - hit.score}
        hit = replace(hit, score=score, why=replace(hit.why, parts=parts))
    return replace(hit, contradicted_by=tuple(other.record.id for other in others)) if others else hit
