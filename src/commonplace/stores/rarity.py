"""Which terms of a question are worth a look at their passages: the rarest, as far as they lead to no flood of passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

MOST_PASSAGES: Final = 20_000
"""No question is answered by a closer look at more of them."""


def rarer_terms(counts: Sequence[int], cap: int) -> Iterator[tuple[list[int], int | None]]:
    """
    Given how many passages hold each term: which terms to read the passages of, by their places, and how many passages at
    most (None: all). First all that at most `cap` passages hold, rarest first, up to `MOST_PASSAGES` in all; then, for whoever
    got nothing, the others one by one, the newest `cap` of each.
    """
    ranked = sorted((place for place, count in enumerate(counts) if count), key=lambda place: counts[place])
    rare: list[int] = []
    total = 0
    for place in ranked:
        total += counts[place]
        if counts[place] > cap or (rare and total > MOST_PASSAGES):
            break
        rare.append(place)
    if rare:
        yield rare, None
    if cap > 0:
        yield from (([place], cap) for place in ranked if counts[place] > cap)
