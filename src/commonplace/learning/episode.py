"""
What a conversation was about, in its own words.

The subject is what a person said first. The summary takes the sentences whose words the conversation uses most, sentences with a
fact before others, in their order and with their speakers. Secrets are marked, orders to agents left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from commonplace.guard.caution import is_suspect
from commonplace.learning.extract import READ, read_turns, statements_in, voice_of
from commonplace.learning.rules import grammar
from commonplace.learning.rules.statement import Voice
from commonplace.text.analyse import terms
from commonplace.values.record import Turn

LONGEST_SUBJECT: Final = 80
LONGEST_SUMMARY: Final = 500
_LONGEST_SENTENCE: Final = 240
_LEAST_TERMS: Final = 3


class Episode(NamedTuple):
    """Both are empty if nothing was said that may be repeated."""

    subject: str
    summary: str


class _Remark(NamedTuple):
    speaker: str
    voice: Voice
    text: str
    terms: tuple[str, ...]


def episode(turns: Sequence[Turn], *, longest: int = LONGEST_SUMMARY) -> Episode:
    """Subject and summary of `turns`, the summary of at most `longest` characters."""
    remarks = _remarks(turns)
    if not remarks:
        return Episode("", "")
    opening = _opening(remarks)
    subject = grammar.opened(remarks[opening].text) or remarks[opening].text
    return Episode(_cut(subject, LONGEST_SUBJECT), _summary(remarks, opening, longest))


def _opening(remarks: Sequence[_Remark]) -> int:
    """Where a person first says more than a greeting."""
    people = [place for place, remark in enumerate(remarks) if remark.voice.role == "person"] or [0]
    return next((place for place in people if len(remarks[place].terms) >= _LEAST_TERMS), people[0])


def _remarks(turns: Sequence[Turn]) -> list[_Remark]:
    remarks: list[_Remark] = []
    for _, turn, sentences in read_turns(turns, READ):
        voice = voice_of(turn)
        if voice.role == "other":
            continue
        speaker = voice.name or ("assistant" if voice.role == "assistant" else "user")
        for sentence in sentences:
            text = _cut(" ".join(sentence.split()), _LONGEST_SENTENCE)
            if text and not is_suspect(text) and (analysed := tuple(terms(text))):
                remarks.append(_Remark(speaker, voice, text, analysed))
    return remarks


def _summary(remarks: Sequence[_Remark], opening: int, longest: int) -> str:
    common = Counter(term for remark in remarks for term in set(remark.terms))
    scored = [_score(remark, common, first=place == opening) for place, remark in enumerate(remarks)]
    selection: list[int] = []
    for place in sorted(range(len(remarks)), key=lambda place: (-scored[place], place)):
        if len(_dialogue(remarks, sorted([*selection, place]))) <= longest:
            selection.append(place)
        elif len(selection) > 8:
            break
    return _dialogue(remarks, sorted(selection)) or _cut(remarks[0].text, longest)


def _score(remark: _Remark, common: Counter[str], *, first: bool) -> float:
    """How much of the talk a sentence stands for. The root keeps long sentences from winning by length alone."""
    distinct = set(remark.terms)
    weight = sum(common[term] for term in distinct) / len(distinct) ** 0.5
    is_fact = bool(statements_in(remark.text, remark.voice))
    return weight * (2.0 if is_fact else 1.0) * (1.5 if first else 1.0)


def _dialogue(remarks: Sequence[_Remark], places: Sequence[int]) -> str:
    lines: list[str] = []
    before = ""
    for place in places:
        remark = remarks[place]
        if remark.speaker == before:
            lines[-1] += f" {remark.text}"
        else:
            lines.append(f"{remark.speaker}: {remark.text}")
        before = remark.speaker
    return "\n".join(lines)


def _cut(text: str, longest: int) -> str:
    """At most `longest` characters, cut after a word."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    word_end = head.rfind(" ")
    return (head[:word_end] if word_end > longest // 2 else head).rstrip(" ,;:，；：") + "…"
