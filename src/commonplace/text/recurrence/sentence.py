"""
A sentence that says when something is to be done: its time, and what is left of it is the task.

Rules find how often, which day, and what o'clock; of several of a kind the first stands, and a clock beside a day before one that stands
alone. A sentence that tells how things are, or asks, schedules nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from types import ModuleType
from typing import Final, TypeVar

from commonplace.text.recurrence import chinese, english
from commonplace.text.recurrence.timed_task import DayTime, Moment, Repetition, Span, TimedTask, without
from commonplace.text.unicode import reads_as_cjk

LONGEST: Final = 4_200
_EDGES: Final = " \t\r\n,.;:!?，。；：！？、—–-~～"
_JOINTS: Final = re.compile(r"[\s,，的在]*+(?:(?:at|on|by|from)\b\s*+)?+", re.IGNORECASE)
_SEVERAL: Final = re.compile(r"\s*(?:and|or|to|till|until|,|&|-|–|和|与|及|、|，|到|至)\s*(?:at\s*)?", re.IGNORECASE)
_RANGE: Final = re.compile(
    r"\b(?:from|between)\s++\d{1,2}(?:[:.]\d\d)?\s*+(?:[ap]m\s*+)?(?:to|and|till|until|-)\s*+\d|\d{1,2}(?::\d\d)?\s*+(?:到|至)\s*+\d{1,2}(?:点|时|:)",
    re.IGNORECASE,
)
_MARK: Final = re.compile(r"(?:(?<!\s)\s++)?+(?:[,，]\s*+)?+\x00(?:\s*+(?:[,，]\s*+)?+\x00)*+\s*+(?:[,，:：]\s*+)?+")
_DANGLING: Final = re.compile(r"\b(?:at|on|by|every|each)\s*$", re.IGNORECASE)
_QUOTES: Final = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "　": " "})

Part = TypeVar("Part", Repetition, Moment)


def read_sentence(text: str, now: datetime) -> TimedTask | None:
    """What it says, `now` being the local time of whoever speaks. None: it schedules nothing that the rules understand."""
    text = text.strip().translate(_QUOTES)
    if not text or len(text) > LONGEST:
        return None
    language: ModuleType = chinese if reads_as_cjk(text[:600]) else english
    clocks: list[DayTime] = list(language.clocks(text))
    if _has_several(text, clocks):
        return None
    if (often := _first(language.repetitions(text))) is not None:
        return _repeated(language, text, often, clocks)
    if (moment := _first(language.moments(text, now))) is not None:
        return _once(language, text, now, moment, clocks)
    return _at_a_clock(language, text, now, clocks)


def _has_several(text: str, clocks: list[DayTime]) -> bool:
    """Two times of a day, or from one to the other. One schedule has one; half of what was said is worse than a question."""
    between = (text[first.span.end : second.span.start] for first, second in pairwise(clocks))
    return _RANGE.search(text) is not None or any(map(_SEVERAL.fullmatch, between))


def _repeated(language: ModuleType, text: str, often: Repetition, clocks: list[DayTime]) -> TimedTask | None:
    clock, spans = _beside(text, often.span, clocks)
    cron = often.cron(clock.read(late=often.late) if clock else None)
    prompt = _task(language, text, spans)
    return None if cron is None or prompt is None else TimedTask(cron=cron, prompt=prompt)


def _once(language: ModuleType, text: str, now: datetime, moment: Moment, clocks: list[DayTime]) -> TimedTask | None:
    if moment.after is not None and moment.after < timedelta(days=1):
        prompt = _task(language, text, (moment.span,))
        return None if prompt is None else TimedTask(after=moment.after, prompt=prompt)
    clock, spans = _beside(text, moment.span, clocks)
    at = moment.at(now, clock.read(late=moment.late) if clock else None)
    prompt = _task(language, text, spans)
    return None if at is None or prompt is None else TimedTask(at=at.replace(second=0, microsecond=0), prompt=prompt)


def _at_a_clock(language: ModuleType, text: str, now: datetime, clocks: list[DayTime]) -> TimedTask | None:
    """ "At five pm": the next time that the clock shows it."""
    clock = next((clock for clock in clocks if clock.exact or _is_at_an_end(text, clock.span)), None)
    if clock is None:
        return None
    at = datetime.combine(now.date(), clock.at)
    if at <= now and not clock.exact and clock.at.hour < 12 and at + timedelta(hours=12) > now:
        at += timedelta(hours=12)
    prompt = _task(language, text, (clock.span,))
    return None if prompt is None else TimedTask(at=at if at > now else at + timedelta(days=1), prompt=prompt)


def _first(parts: Iterator[Part]) -> Part | None:
    """The surest kind is told first."""
    return next(parts, None)


def _beside(text: str, span: Span, clocks: list[DayTime]) -> tuple[DayTime | None, tuple[Span, ...]]:
    """The clock that belongs to a day, next to it or at an end of the sentence, and what the two take up."""
    free = [clock for clock in clocks if clock.span.end <= span.start or clock.span.end > span.end]
    for clock in free:
        both = Span(start=min(span.start, clock.span.start), end=max(span.end, clock.span.end))
        first, second = sorted((span, clock.span), key=lambda part: part.start)
        if _JOINTS.fullmatch(text[first.end : second.start]):
            return clock, (both,)
    clock = next((clock for clock in free if clock.span.start >= span.end or clock.span.end <= span.start), None)
    if clock is not None and _is_at_an_end(text, clock.span):
        return clock, (span, clock.span)
    return None, (span,)


def _is_at_an_end(text: str, span: Span) -> bool:
    return not text[: span.start].strip(_EDGES) or not text[span.end :].strip(_EDGES)


def _task(language: ModuleType, text: str, spans: tuple[Span, ...]) -> str | None:
    """What is left of the sentence, without what is said around it. None: it is no wish."""
    rest = without(text, *spans)
    if text.rstrip().endswith(("?", "？")) and language is chinese:
        return None
    before = rest.partition("\x00")[0]
    if language is chinese and not chinese.BEFORE.match(before.strip()):
        return None
    rest = _MARK.sub("\x00", rest)
    # The time is taken out of the middle without leaving a hole.
    rest = rest.strip(_EDGES + "\x00") if rest.startswith("\x00") or rest.rstrip(_EDGES).endswith("\x00") else rest
    rest = rest.replace("\x00", "" if language is chinese else " ")
    rest = _DANGLING.sub("", language.LEAD.sub("", rest.strip(_EDGES)).strip(_EDGES)).strip(_EDGES)
    if language.STATEMENT.match(rest) if language is english else language.STATEMENT.search(rest):
        return None
    return rest
