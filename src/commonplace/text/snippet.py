"""The part of a text that has most of the terms somebody asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from commonplace.text.analyse import terms as terms_of

WIDTH: Final = 240
_MOST: Final = 100_000
"""Of a longer text only the beginning is looked at."""


def snippet(text: str, terms: Collection[str], width: int = WIDTH) -> str:
    """At most `width` characters and an ellipsis at each end that was cut; the first such part, if several have as many terms."""
    if len(text) <= width:
        return text.strip()
    wanted_terms, step = set(terms), max(width // 2, 1)
    best, most = 0, -1
    for start in range(0, min(len(text), _MOST), step):
        count = len(wanted_terms.intersection(terms_of(text[start : start + width])))
        if count > most:
            best, most = start, count
    return _cut(text, best, min(best + width, len(text)))


def _cut(text: str, start: int, stop: int) -> str:
    """Without a part of a word at either end, if there are spaces near."""
    if start and (space := text.find(" ", start, start + 30)) >= 0:
        start = space + 1
    if stop < len(text) and (space := text.rfind(" ", stop - 30, stop)) > start:
        stop = space
    return ("…" if start else "") + text[start:stop].strip() + ("…" if stop < len(text) else "")
