"""
A long text told shorter, in its own sentences.

The first sentence says what a text is about; of the others those count that share the most words with the rest. How much a
sentence shares with all others is the sum, over its words, of how many others have them, so that a text is read once
and not compared sentence by sentence. The sentences chosen stand in their own order. The same text always gives the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt

from commonplace.text.analyse import terms
from commonplace.text.chunk import Span, sentences
from commonplace.text.tokens import TokenCounter, estimate

MORE = "…"


def summary(text: str, most: int, count: TokenCounter = estimate) -> str:
    """At most `most` tokens of `text`: all of it where it fits, else its first and its most central sentences."""
    whole = text.strip()
    if count(whole) <= most:
        return whole
    found = list(sentences(text))
    first = found[0]
    size = count(text[slice(*first)])
    if size > most:
        return _clip(text[slice(*first)], most, count)
    chosen, left = [first], most - size
    for place in _by_centrality([text[slice(*span)] for span in found]):
        if left <= 0:
            break
        size = count(text[slice(*found[place])])
        if 0 < size <= left:
            chosen.append(found[place])
            left -= size
    # A tokenizer may count two sentences as more than the sum of both.
    while count(told := _told(text, chosen)) > most and len(chosen) > 1:
        chosen.pop()
    return told if count(told) <= most else _clip(told, most, count)


def _by_centrality(parts: Sequence[str]) -> list[int]:
    """The places of all sentences but the first, the most central first; what was said before is left out."""
    words = [frozenset(terms(part)) for part in parts]
    shared = Counter(word for one in words for word in one)
    first: dict[frozenset[str], int] = {}
    for place, one in enumerate(words):
        if one:
            first.setdefault(one, place)
    weight = {place: sum(shared[word] - 1 for word in one) / sqrt(len(one)) for one, place in first.items() if place}
    return sorted(weight, key=lambda place: (-weight[place], place))


def _told(text: str, chosen: Sequence[Span]) -> str:
    """The spans in their order, on lines of their own where they were."""
    told: list[str] = []
    before = 0
    for start, stop in sorted(chosen):
        if told:
            told.append("\n" if "\n" in text[before:start] else " " if start > before else "")
        told.append(text[start:stop])
        before = stop
    return "".join(told)


def _clip(text: str, most: int, count: TokenCounter) -> str:
    """The beginning of a text, with dots that say that it goes on."""
    told = text
    while told and (tokens := count(told + MORE)) > most:
        told = told[: min(len(told) - 1, len(told) * most // tokens)].rstrip()
    return told + MORE if told else ""
