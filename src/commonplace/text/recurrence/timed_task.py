"""What both languages have in common: the parts of a time, and what they come to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

MORNING: Final = time(9)
"""When something is done on a day, if nobody says when."""
_WEEK: Final = 7
_MONTHS: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedTask:
    """
    What is to be done: again and again by five fields of `cron`, or once: `at` a time by the clock of whoever speaks, or `after` so long, whatever their
    clock does meanwhile.
    """

    prompt: str
    cron: str | None = None
    at: datetime | None = None
    after: timedelta | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A part of the sentence, from `start` to before `end`."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Repetition:
    """
    How often: `minutes` or `hours` between two, or the days of cron (`day` of the month, `month`, `weekday`). `clock` is when on such a day if nothing else is
    said; `late`: a clock of twelve hours means the later one.
    """

    span: Span
    minutes: int | None = None
    hours: int | None = None
    day: str = "*"
    month: str = "*"
    weekday: str = "*"
    clock: time = MORNING
    late: bool = False

    def cron(self, clock: time | None) -> str | None:
        """The five fields; None: they cannot say it."""
        if self.minutes is not None:
            if self.minutes == 60:
                return "0 * * * *"
            return _step(self.minutes, 60, "{} * * * *") if clock is None else None
        if self.hours is not None:
            minute = clock.minute if clock is not None else 0
            return None if clock is not None else _step(self.hours, 24, f"{minute} {{}} * * *")
        at = clock or self.clock
        return f"{at.minute} {at.hour} {self.day} {self.month} {self.weekday}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DayTime:
    """A time of day. `exact`: it is said which half of the day is meant."""

    span: Span
    at: time
    exact: bool = False

    def read(self, *, late: bool) -> time:
        if late and not self.exact and 1 <= self.at.hour < 12:
            return self.at.replace(hour=self.at.hour + 12)
        return self.at


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """One day or moment: in `after`, or on `day`. `next_year`: a day that has passed is the next year's, and so the next week's with `next_week`."""

    span: Span
    after: timedelta | None = None
    day: date | None = None
    clock: time = MORNING
    late: bool = False
    again: timedelta | None = None
    next_year: bool = False

    def at(self, now: datetime, clock: time | None) -> datetime | None:
        if self.after is not None:
            moment = now + self.after
            return moment if clock is None else datetime.combine(moment.date(), clock)
        if self.day is None:
            return None
        moment = datetime.combine(self.day, clock or self.clock)
        if moment <= now and self.again is not None:
            moment += self.again
        if moment <= now and self.next_year:
            moment = _in_year(moment, moment.year + 1) or moment
        return moment


def without(text: str, *spans: Span | None) -> str:
    """The rest of the sentence."""
    for span in sorted((span for span in spans if span is not None), key=lambda span: span.start, reverse=True):
        text = f"{text[: span.start]} \x00 {text[span.end :]}"
    return text


def weekday_on(now: datetime, weekday: int, *, weeks: int | None = None) -> date:
    """That day (Monday is 0) of the week so many weeks on, or the next one there is, today too."""
    monday = now.date() - timedelta(days=now.weekday())
    if weeks is not None:
        return monday + timedelta(days=weekday + _WEEK * weeks)
    return now.date() + timedelta(days=(weekday - now.weekday()) % _WEEK)


def day_of(now: datetime, day: int, month: int | None = None, year: int | None = None) -> date | None:
    """That day of this year or the named one, or of this month or the next that has it. None: there is none."""
    if month is not None:
        return _date(year or now.year, month, day)
    for ahead in range(_MONTHS):
        month_number = now.month - 1 + ahead
        match = _date(now.year + month_number // _MONTHS, month_number % _MONTHS + 1, day)
        if match is not None and match >= now.date():
            return match
    return None


def months_on(now: datetime, months: int) -> timedelta:
    """As long as it is to the same day so many months on, or to the last one of that month."""
    number = now.month - 1 + months
    for day in range(now.day, now.day - 4, -1):
        match = _date(now.year + number // _MONTHS, number % _MONTHS + 1, day)
        if match is not None:
            return match - now.date()
    return timedelta(0)


def clock_at(hour: int, minute: int) -> time | None:
    if hour == 24 and minute == 0:
        hour = 0
    return time(hour, minute) if 0 <= hour < 24 and 0 <= minute < 60 else None


def _step(count: int, most: int, fields: str) -> str | None:
    if count == 1:
        return fields.format("*")
    # What does not divide the hour or the day is not the same distance each time.
    return fields.format(f"*/{count}") if 1 < count < most and most % count == 0 else None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _in_year(moment: datetime, year: int) -> datetime | None:
    try:
        return moment.replace(year=year)
    except ValueError:
        return None
