"""
What a conversation was about, in its own words.

The subject is what a person said first. The summary takes the sentences whose words the conversation uses most, those that told a
fact before others, in the order they were said and with who said them. Secrets are marked, orders to agents left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from commonplace.guard.caution import is_suspect
from commonplace.learning.extract import READ, findings, read_turns, voice_of
from commonplace.learning.rules import grammar
from commonplace.learning.rules.finding import Voice
from commonplace.text.analyse import terms
from commonplace.values.record import Turn

LONGEST_SUBJECT: Final = 80
LONGEST_SUMMARY: Final = 500
_LONGEST_SENTENCE: Final = 240
_LEAST_TERMS: Final = 3


class Episode(NamedTuple):
    """Both are empty where nothing was said that may be repeated."""

    subject: str
    summary: str


class _Said(NamedTuple):
    speaker: str
    voice: Voice
    text: str
    terms: tuple[str, ...]


def episode(turns: Sequence[Turn], *, longest: int = LONGEST_SUMMARY) -> Episode:
    """Subject and summary of `turns`, the summary of at most `longest` characters."""
    said = _said(turns)
    if not said:
        return Episode("", "")
    asked = _asked(said)
    subject = grammar.opened(said[asked].text) or said[asked].text
    return Episode(_cut(subject, LONGEST_SUBJECT), _summary(said, asked, longest))


def _asked(said: Sequence[_Said]) -> int:
    """Where a person first says more than a greeting."""
    people = [place for place, item in enumerate(said) if item.voice.role == "person"] or [0]
    return next((place for place in people if len(said[place].terms) >= _LEAST_TERMS), people[0])


def _said(turns: Sequence[Turn]) -> list[_Said]:
    found: list[_Said] = []
    for _, turn, sentences in read_turns(turns, READ):
        voice = voice_of(turn)
        if voice.role == "other":
            continue
        speaker = voice.name or ("assistant" if voice.role == "assistant" else "user")
        for sentence in sentences:
            text = _cut(" ".join(sentence.split()), _LONGEST_SENTENCE)
            if text and not is_suspect(text) and (analysed := tuple(terms(text))):
                found.append(_Said(speaker, voice, text, analysed))
    return found


def _summary(said: Sequence[_Said], asked: int, longest: int) -> str:
    common = Counter(term for item in said for term in set(item.terms))
    scored = [_score(item, common, first=place == asked) for place, item in enumerate(said)]
    chosen: list[int] = []
    for place in sorted(range(len(said)), key=lambda place: (-scored[place], place)):
        if len(_told(said, sorted([*chosen, place]))) <= longest:
            chosen.append(place)
        elif len(chosen) > 8:
            break
    return _told(said, sorted(chosen)) or _cut(said[0].text, longest)


def _score(said: _Said, common: Counter[str], *, first: bool) -> float:
    """How much of the talk a sentence stands for. The root keeps long sentences from winning by length alone."""
    distinct = set(said.terms)
    weight = sum(common[term] for term in distinct) / len(distinct) ** 0.5
    told = bool(findings(said.text, said.voice))
    return weight * (2.0 if told else 1.0) * (1.5 if first else 1.0)


def _told(said: Sequence[_Said], places: Sequence[int]) -> str:
    lines: list[str] = []
    before = ""
    for place in places:
        item = said[place]
        if item.speaker == before:
            lines[-1] += f" {item.text}"
        else:
            lines.append(f"{item.speaker}: {item.text}")
        before = item.speaker
    return "\n".join(lines)


def _cut(text: str, longest: int) -> str:
    """At most `longest` characters, cut after a word."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    word_end = head.rfind(" ")
    return (head[:word_end] if word_end > longest // 2 else head).rstrip(" ,;:，；：") + "…"
