"""The weights of the ranking: their defaults by what answers, and in words, for whoever wants to turn one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from commonplace.memory.rank import Weights
from commonplace.values.census import Weight

_MEANINGS: Final[Mapping[str, str]] = {
    "k1": "How soon repeats of a word in one passage stop counting.",
    "shortest": "Passages below this many terms are not preferred for being short.",
    "words": "What the words of the question count.",
    "meaning": "What the embedder counts beside the words; several share it.",
    "further": "How much of that each further embedder adds.",
    "coverage": "The words count in full where the best passage holds this share of what was asked, else less.",
    "before": "What a very short turn borrows from the turn before it.",
    "after": "What a very short turn borrows from the turn after it.",
    "second": "How much of that a turn two places away lends.",
    "terse": "A turn of this many terms borrows half as much as a very short one.",
    "session": "What a record receives of the best score in its session.",
    "recency": "What a memory gains by being new.",
    "half_life": "Days after which that is half gone.",
    "pin": "What a pinned record gains.",
    "importance": "What a record of importance 100 gains; others by their share.",
    "copies": "What a near-copy of a better hit loses.",
    "prior": "As how many passages of any memory the background counts beside those of a scope.",
}
_CONTEXTUAL: Final = "gte-"
_SHARES: Final = {True: 2.5, False: 0.15}
WEIGHTS: Final[tuple[Weight, ...]] = tuple(
    Weight(name=name, default=float(getattr(Weights(), name)), meaning=meaning) for name, meaning in _MEANINGS.items()
)


def default_weights(embedders: Collection[str]) -> Weights:
    """
    The weights of a question that these embedders have a vector of. Beside one that reads whole sentences the others count little, and a turn
    needs less of the turn before it. Chosen on a plateau over the development sets.
    """
    if not any(name.startswith(_CONTEXTUAL) for name in embedders):
        return Weights()
    shares = {name: _SHARES[name.startswith(_CONTEXTUAL)] for name in embedders}
    return Weights(embedders=shares, before=0.4, after=0.5)
