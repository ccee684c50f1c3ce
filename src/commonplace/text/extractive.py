"""
A summary of a long text, in its own sentences.

The first sentence says what a text is about; of the others those count that share the most words with the rest. How much a
sentence shares with all others is the sum, over its words, of how many others have them, so that a text is read once
and not compared sentence by sentence. The sentences keep their order. The same text always gives the same summary.
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
    """At most `most` tokens of `text`: all of it if it fits, else its first and its most central sentences."""
    whole = text.strip()
    if count(whole) <= most:
        return whole
    spans = list(sentences(text))
    first = spans[0]
    size = count(text[slice(*first)])
    if size > most:
        return _clip(text[slice(*first)], most, count)
    selection, remaining = [first], most - size
    for place in _by_centrality([text[slice(*span)] for span in spans]):
        if remaining <= 0:
            break
        size = count(text[slice(*spans[place])])
        if 0 < size <= remaining:
            selection.append(spans[place])
            remaining -= size
    # A tokenizer may count two sentences as more than the sum of both.
    while count(short := _joined(text, selection)) > most and len(selection) > 1:
        selection.pop()
    return short if count(short) <= most else _clip(short, most, count)


def _by_centrality(parts: Sequence[str]) -> list[int]:
    """The places of all sentences but the first, the most central first; a sentence with the words of an earlier one is left out."""
    words = [frozenset(terms(part)) for part in parts]
    shared = Counter(word for bag in words for word in bag)
    first: dict[frozenset[str], int] = {}
    for place, bag in enumerate(words):
        if bag:
            first.setdefault(bag, place)
    weight = {place: sum(shared[word] - 1 for word in bag) / sqrt(len(bag)) for bag, place in first.items() if place}
    return sorted(weight, key=lambda place: (-weight[place], place))


def _joined(text: str, selection: Sequence[Span]) -> str:
    """The spans in their order, each on a line of its own if it was."""
    parts: list[str] = []
    before = 0
    for start, stop in sorted(selection):
        if parts:
            parts.append("\n" if "\n" in text[before:start] else " " if start > before else "")
        parts.append(text[start:stop])
        before = stop
    return "".join(parts)


def _clip(text: str, most: int, count: TokenCounter) -> str:
    """The beginning of a text, with dots that say that it goes on."""
    beginning = text
    while beginning and (tokens := count(beginning + MORE)) > most:
        beginning = beginning[: min(len(beginning) - 1, len(beginning) * most // tokens)].rstrip()
    return beginning + MORE if beginning else ""
