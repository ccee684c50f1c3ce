"""
When it was: "yesterday", "next Friday", 昨天, 下周五, worked out from the day it was said.

A fact is read months after it was learned, and "yesterday" means nothing then. So the date is written behind the words that
mean it, and the first one is the time that the fact is about. A week begins on Monday: next Friday is the Friday of next week,
as 下周五 is; last Friday is the most recent one. What is vague ("a few days ago", "soon") stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "一": 1, "两": 2, "二": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_IN_CHINESE: Final = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 5}
_WORDS: Final = {
    "the day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "this afternoon": 0, "this evening": 0, "tomorrow": 1, "the day after tomorrow": 2,
    "大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "今天": 0, "今日": 0, "今晚": 0, "今早": 0, "明天": 1, "明日": 1,
    "明早": 1, "明晚": 1, "后天": 2, "後天": 2, "大后天": 3, "大後天": 3,
}  # fmt: skip
_STEPS: Final = {"last": -1, "this": 0, "next": 1, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "下下": 2, "上上": -2}
_YEARS_IN_CHINESE: Final = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2, "後年": 2}
_COUNT: Final = r"(?P<count>\d{1,3}|a couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_HAN_COUNT: Final = "(?P<count>\\d{1,3}|[一两兩二三四五六七八九十])"

_ENGLISH: Final = re.compile(
    r"\b(?:(?P<word>the day before yesterday|the day after tomorrow|yesterday|last night|today|tonight|tomorrow"
    r"|this (?:morning|afternoon|evening))"
    r"|(?P<step>last|this|next) (?:(?P<day>mon|tues|wednes|thurs|fri|satur|sun)day|(?P<unit>week|weekend|month|year))"
    rf"|(?:(?P<ahead>in) )?{_COUNT} (?P<units>day|week|month|year)s?(?(ahead)| (?P<ago>ago)))\b(?!['’-]\w)",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    "(?P<word>大前天|大[后後]天|前天|昨天|昨日|昨晚|今天|今日|今晚|今早|明天|明日|明早|明晚|[后後]天)"
    "|(?P<step>上上|下下|上|这|這|本|下)(?:个|個)?(?:(?:周|星期|礼拜|禮拜)(?P<day>[一二三四五六日天末])?|(?P<unit>月))"
    "|(?P<year>前年|去年|今年|明年|[后後]年)"
    f"|{_HAN_COUNT}(?:个|個)?(?P<units>天|周|星期|月|年)(?P<way>前|后|後|之前|以前|之后|之後|以后|以後)"
)
_UNITS: Final = {"天": "day", "周": "week", "星期": "week", "月": "month", "年": "year"}
_DATE_FOLLOWS: Final = re.compile(r"\s*[(（\[](?:[A-Z周]\w+ )?\d{4}")
_WEEKDAYS_IN_CHINESE: Final = "一二三四五六日"


class When(NamedTuple):
    """A day, or the day that a week, a month or a year begins with, and how it is written."""

    first: date
    text: str

    @property
    def at(self) -> datetime:
        return datetime(self.first.year, self.first.month, self.first.day, tzinfo=UTC)


class Dated(NamedTuple):
    """A text with its dates behind the words that mean them, and the first of them."""

    text: str
    at: datetime | None


def resolved(text: str, said_at: datetime) -> Dated:
    """`text` as it was said at `said_at`, with the dates that it means."""
    parts: list[str] = []
    place, first = 0, None
    for match, when in _times(text, said_at.date()):
        first = first or when.at
        if _DATE_FOLLOWS.match(text, match.end()):
            continue
        parts += [text[place : match.end()], marked(when, chinese=ord(match[0][-1]) > 0x2E80)]
        place = match.end()
    return Dated("".join([*parts, text[place:]]), first)


def marked(when: When, *, chinese: bool) -> str:
    """A date as it stands behind the words that mean it: "[Thursday 2026-11-12]"."""
    if when.text != when.first.isoformat():
        return f"[{when.text}]" if chinese else f" [{when.text}]"
    return (
        f"[周{_WEEKDAYS_IN_CHINESE[when.first.weekday()]} {when.text}]"
        if chinese
        else f" [{when.first:%A} {when.text}]"
    )


def meant(words: str, said_at: datetime) -> When | None:
    """What the first time in `words` means, if they were said at `said_at`."""
    return next((when for _, when in _times(words, said_at.date())), None)


def _times(text: str, today: date) -> list[tuple[re.Match[str], When]]:
    times: list[tuple[re.Match[str], When]] = []
    for pattern, reading in ((_ENGLISH, _english), (_CHINESE, _chinese)):
        for match in pattern.finditer(text):
            when = _in_range(reading, match, today)
            if when is not None:
                times.append((match, when))
    return sorted(times, key=lambda pair: pair[0].start())


def _in_range(reading: Callable[[re.Match[str], date], When | None], match: re.Match[str], today: date) -> When | None:
    try:
        return reading(match, today)
    except (OverflowError, ValueError):
        # Before the first day of the calendar, or after its last.
        return None


def _english(match: re.Match[str], today: date) -> When | None:
    if word := match["word"]:
        return _day(today + timedelta(days=_WORDS[word.lower()]))
    if step := match["step"]:
        steps = _STEPS[step.lower()]
        if match["day"]:
            return _weekday(today, steps, _DAYS.index(f"{match['day'].lower()}day"))
        return _stepped(today, steps, match["unit"].lower())
    count = _number(match["count"].lower())
    return _counted(today, count if match["ahead"] else -count, match["units"].lower())


def _chinese(match: re.Match[str], today: date) -> When | None:
    if word := match["word"]:
        return _day(today + timedelta(days=_WORDS[word]))
    if year := match["year"]:
        return _stepped(today, _YEARS_IN_CHINESE[year], "year")
    if step := match["step"]:
        if match["unit"]:
            return _stepped(today, _STEPS[step], "month")
        if match["day"] and match["day"] != "末":
            monday = today - timedelta(days=today.weekday())
            return _day(monday + timedelta(weeks=_STEPS[step], days=_DAYS_IN_CHINESE[match["day"]]))
        return _stepped(today, _STEPS[step], "weekend" if match["day"] else "week")
    count = _number(match["count"])
    return _counted(today, -count if "前" in match["way"] else count, _UNITS[match["units"]])


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text]


def _day(when: date) -> When:
    return When(when, when.isoformat())


def _weekday(today: date, steps: int, weekday: int) -> When:
    if steps < 0:
        return _day(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))
    monday = today - timedelta(days=today.weekday())
    return _day(monday + timedelta(weeks=steps, days=weekday))


def _stepped(today: date, steps: int, unit: str) -> When:
    """The week, weekend, month or year that is `steps` from this one."""
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=steps)
    if unit == "week":
        return When(monday, f"week of {monday.isoformat()}")
    if unit == "weekend":
        return _day(monday + timedelta(days=5))
    if unit == "month":
        month = _months(today, steps).replace(day=1)
        return When(month, f"{month:%Y-%m}")
    return When(date(today.year + steps, 1, 1), str(today.year + steps))


def _counted(today: date, count: int, unit: str) -> When:
    if unit in ("day", "week"):
        return _day(today + timedelta(days=count * (7 if unit == "week" else 1)))
    return _stepped(today, count, unit)


def _months(today: date, count: int) -> date:
    years, month = divmod(today.month - 1 + count, 12)
    return date(today.year + years, month + 1, 1)
