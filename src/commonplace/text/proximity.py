"""
Words near one another: does one of these occur, within so many characters one of those, and so on.

A pattern with several gaps (`a.{0,16}b.{0,16}c`) tries every place for `b` after every `a`, and every `c` after each of those: a
text that repeats the words makes the product of it, a thousand steps a character. Here each part is looked for once, and
what matters of the parts before it is where the last of them ended: the time grows with the text and no faster.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple


class Gap(NamedTuple):
    """At most `most` characters, none of them in `stops`, which is written as in a character class."""

    most: int
    stops: str = ""


class Proximity:
    """
    The parts, patterns without groups that are referred to, with the gaps between them: `Proximity("send", Gap(40, ".\\n"), "key")`.
    If a part could end at several places, it ends where its pattern ends it first.
    """

    def __init__(self, *parts: str | Gap) -> None:
        # In a lookahead, so that one may begin inside another.
        self._first, *others = [re.compile(f"(?=({part}))", re.IGNORECASE) for part in parts if isinstance(part, str)]
        gaps = [part for part in parts if isinstance(part, Gap)]
        stops = [re.compile(f"[{gap.stops}]") if gap.stops else None for gap in gaps]
        self._others = tuple(zip([gap.most for gap in gaps], stops, others, strict=True))

    def end(self, text: str, start: int = 0, stop: int | None = None) -> int | None:
        """Where the first occurrence between `start` and `stop` ends; None if there is none."""
        last = len(text) if stop is None else stop
        ends = [match.end(1) for match in self._first.finditer(text, start, last)]
        for most, stops, part in self._others:
            if not ends:
                return None
            ends.sort()
            ends = [
                match.end(1)
                for match in part.finditer(text, ends[0], last)
                if _is_near(text, ends, match.start(), most, stops)
            ]
        return min(ends, default=None)


def _is_near(text: str, ends: list[int], start: int, most: int, stops: re.Pattern[str] | None) -> bool:
    """The nearest end before `start` decides: between it and `start` lies the least."""
    nearest = ends[bisect_right(ends, start) - 1]
    return start - nearest <= most and not (stops and stops.search(text, nearest, start))
