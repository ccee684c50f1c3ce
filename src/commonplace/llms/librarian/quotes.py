"""
Which sentences of a memory answer a question.

A short memory is quoted whole. Of a longer one those sentences count that hold the most of the question's words, rare words counting for more, and
among them those that have what the question asks for: a date for "when", a name for "who", a number for "how many". A sentence without a word
of the question may still be the answer if it stands behind one that has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from commonplace.text.analyse import query_terms, terms
from commonplace.text.chunk import Span, sentences
from commonplace.text.extractive import MORE
from commonplace.text.rarity import shares

WHOLE: Final = 320
"""Characters of a memory that is quoted whole."""
MOST_SENTENCES: Final = 4
_LONGEST: Final = 600
_READ: Final = 20_000
"""Characters of a memory that are looked at: a passage is much shorter."""
_ENOUGH: Final = 0.6
_LENT: Final = 0.5
"""What a sentence has of the one before it."""
_FITS: Final = 0.2

_EXPECTED: Final = tuple(
    (re.compile(question, re.IGNORECASE), re.compile(answer))
    for question, answer in (
        (
            r"\b(?:when|what (?:day|date|time|year|month)|how long|since when)\b|什么时候|几点|哪天|何时|几号|星期几|多久",
            r"\d|\b(?:[Yy]esterday|[Tt]oday|[Tt]omorrow|[Tt]onight|[Ll]ast|[Nn]ext|ago|[A-Z][a-z]+day|January|February|March|April|May|June|July|August|September|October|November|December)\b|[年月日号点周天]",
        ),
        (r"\bhow (?:many|much|old|tall|far|often|big)\b|\bwhat (?:number|price|cost|amount)\b|多少|几|多大|多高", r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|half|dozen|hundred)\b|[一二两三四五六七八九十百千万半]"),
        (r"\b(?:who|whose|whom)\b|谁|哪位", r"(?<=[^.!?] )[A-Z][a-z]+|\b(?:mother|father|sister|brother|friend|boss|wife|husband|mom|dad)\b|[\u4e00-\u9fff]"),
        (r"\bwhere\b|哪里|哪儿|哪个(?:地方|城市|房间)|在哪", r"\b(?:in|at|near|on|from|to|behind|under|inside)\b|[在里上下旁]"),
        (r"\bwhy\b|为什么|为何|为啥", r"\b(?:because|since|so that|due to|reason|to)\b|因为|由于|所以|为了"),
    )
)  # fmt: skip


_ABBREVIATION: Final = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|No|Nr|vs|etc|approx|e\.g|i\.e|[A-Z]))\.$")


def spans_of(text: str) -> list[Span]:
    """The sentences of a text; one does not end with "Dr."."""
    spans: list[Span] = []
    for start, stop in sentences(text):
        goes_on = bool(spans) and _ABBREVIATION.search(text[max(spans[-1][1] - 8, spans[-1][0]) : spans[-1][1]])
        spans.append((spans.pop()[0] if goes_on else start, stop))
    return spans


def quote(question: str, text: str) -> str:
    """A few sentences of `text`, in their order and word for word; dots stand for what is left out between them."""
    text = text.strip()[:_READ]
    spans = spans_of(text)
    if len(text) <= WHOLE and len(spans) <= MOST_SENTENCES + 1:
        return " ".join(text.split())
    places = _best(question, [text[start:stop] for start, stop in spans])
    pieces: list[str] = []
    for run in _runs(places):
        whole = " ".join(text[spans[run[0]][0] : spans[run[-1]][1]].split())
        most = _LONGEST * len(run)
        pieces.append(whole if len(whole) <= most else whole[:most].rstrip() + MORE)
    return f" {MORE} ".join(pieces)


def _runs(places: Sequence[int]) -> Iterator[list[int]]:
    """Places that follow one another, together."""
    run: list[int] = []
    for place in places:
        if run and place != run[-1] + 1:
            yield run
            run = []
        run.append(place)
    yield run


def covered(question: str, text: str) -> float:
    """The share of the question's words that a text holds, rare words counting for more."""
    return _share(shares(query_terms(question)), text)


def _best(question: str, parts: Sequence[str]) -> list[int]:
    weights = shares(query_terms(question))
    answers = [answer for asks, answer in _EXPECTED if asks.search(question)]
    words = [_share(weights, part) for part in parts]
    scores: list[float] = []
    for place, part in enumerate(parts):
        near = max(words[place], _LENT * words[place - 1] if place else 0.0)
        # What merely repeats the question is none of its answers.
        is_question = part.rstrip().endswith(("?", "？"))
        fits = bool(near) and not is_question and any(answer.search(part) for answer in answers)
        scores.append(near + _FITS * fits - _FITS * is_question)
    best = max(scores)
    order = sorted(range(len(parts)), key=lambda place: (-scores[place], place))
    strong = [place for place in order[:MOST_SENTENCES] if scores[place] >= _ENOUGH * best or place == order[0]]
    # What stands around the best sentence says what it leaves open: "It was on Friday."
    first = order[0]
    around = [place for place in (first + 1, first - 1, first + 2) if 0 <= place < len(parts)]
    return sorted([*dict.fromkeys([*strong, *around])][:MOST_SENTENCES])


def _share(weights: Mapping[str, float], text: str) -> float:
    return sum(weights[term] for term in {*terms(text)} & weights.keys())
