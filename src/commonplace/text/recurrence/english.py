"""Times in English sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Final

from commonplace.text.recurrence.timed_task import (
    DayTime,
    Moment,
    Repetition,
    Span,
    clock_at,
    day_of,
    months_on,
    weekday_on,
)

_UNITS: Final = ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen").split()
_NUMBERS: Final = {name: n for n, name in enumerate(_UNITS, start=1)} | {
    "a": 1,
    "an": 1,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "forty-five": 45,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
    "other": 2,
    "second": 2,
    "third": 3,
}
_COUNT: Final = rf"\d{{1,4}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}"
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY: Final = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_AND: Final = r"(?:\s*,\s*(?:and\s+|on\s+)?|\s+and\s+(?:on\s+)?|\s*&\s*)"
_PARTS: Final = {
    "morning": (time(8), False),
    "noon": (time(12), False),
    "midnight": (time(0), False),
    "lunchtime": (time(12), False),
    "afternoon": (time(15), True),
    "evening": (time(18), True),
    "night": (time(21), True),
    "day": (time(9), False),
}
_PART: Final = "|".join(_PARTS)


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_OFTEN: Final = _rule(
    rf"\b(?:every|each)\s+(?:(?P<half>half(?:\s+an)?)\s+|(?P<count>{_COUNT})\s+)?(?P<unit>minute|min|hour)s?\b"
)
_HOURLY: Final = _rule(r"\b(?:hourly|once an hour)\b")
_DAILY: Final = _rule(rf"\b(?:(?:every|each)\s+(?:single\s+)?(?P<part>{_PART})|(?P<word>daily|nightly|once a day))\b")
_WEEKDAYS: Final = _rule(
    r"\b(?:(?:on\s+)?(?:every|each)\s+(?:weekday|workday|working day|business day)|(?:on\s+)?(?:weekdays|workdays|working days|business days)|"
    r"(?:every day\s+)?(?:from\s+)?monday\s+(?:to|through|till|until)\s+friday)\b(?:\s+(?P<part>morning|afternoon|evening)s?\b)?"
)
_WEEKENDS: Final = _rule(r"\b(?:(?:on\s+)?(?:every|each)\s+weekend|(?:on|at)\s+(?:the\s+)?weekends?)\b")
_NAMED: Final = _rule(
    rf"\b(?:(?:on\s+)?(?:every|each)\s+(?P<every>{_DAY}(?:{_AND}(?:every\s+|each\s+)?{_DAY})*)|(?:on\s+)?(?P<plural>{_DAY}s(?:{_AND}{_DAY}s)*)|"
    rf"(?:weekly|once a week|every week)(?:\s+on\s+(?P<weekly>{_DAY}s?(?:{_AND}{_DAY}s?)*))?)\b(?:\s+(?P<part>morning|afternoon|evening|night)s?\b)?"
)
_ORDINAL: Final = r"(?:the\s+)?(?P<day{n}>\d{{1,2}})(?:st|nd|rd|th)|the\s+(?P<name{n}>first|last)(?:\s+day)?"
_MONTHLY: Final = _rule(
    rf"\b(?:(?:on\s+)?(?:{_ORDINAL.format(n=1)})\s+(?:day\s+)?of\s+(?:each|every|the)\s+month|"
    rf"(?:monthly|once a month|every month|each month)(?:(?:\s*+,)?+\s++(?:on\s+)?(?:{_ORDINAL.format(n=2)}))?|"
    rf"(?:on\s+)?every\s+(?P<day3>\d{{1,2}})(?:st|nd|rd|th))\b"
)
_YEARLY: Final = _rule(
    rf"\b(?:(?:every|each)\s+year|yearly|once a year)\s+on\s+(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})|"
    rf"(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?)(?!\w)"
)
_IN: Final = _rule(
    rf"\b(?:in|after)\s+(?:(?P<half>half\s+an?)\s+|(?:about\s+)?(?P<count>{_COUNT})\s+(?P<more>and\s+a\s+half\s+)?)(?P<unit>minute|min|hour|day|week|month)s?(?P<tail>\s+and\s+a\s+half)?"
    rf"(?:'s?\s+time|\s+from\s+now)?\b|\b(?P<count2>{_COUNT})\s+(?P<unit2>minute|min|hour|day|week|month)s?\s+from\s+now\b"
)
_RELATIVE: Final = _rule(
    r"\b(?P<day>the day after tomorrow|tomorrow|today|tonight|this (?:morning|afternoon|evening))(?!['’]s)\b(?:\s+(?P<part>morning|afternoon|evening|night|noon)\b)?"
)
_WEEKDAY: Final = _rule(
    rf"\b(?:(?P<which>next|this|coming|on)\s+)(?P<day>{_DAY})\b(?!['’]s)(?:\s+(?P<part>morning|afternoon|evening|night)\b)?"
)
_NEXT: Final = _rule(r"\bnext\s+(?P<unit>week|month)\b(?!['’]s)")
_DATE: Final = _rule(
    rf"\b(?:on\s+)?(?:the\s+)?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{_MONTH})|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?![:\d]))"
    r"(?:,?\s+(?P<year>20\d\d))?(?!\w)|\b(?:on\s+)?(?P<year3>20\d\d)-(?P<month3>\d{1,2})-(?P<day3>\d{1,2})(?:T(?=\d))?"
)
_OF_MONTH: Final = _rule(r"\bon\s+the\s+(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?!\s+of)")
_HOUR: Final = r"\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_BEHIND: Final = r"(?:\s*(?P<half{n}>[ap])\.?m\b\.?)?(?:\s*o['’]?clock)?(?:\s+(?:in\s+the|at)\s+(?P<part{n}>morning|afternoon|evening|night)\b)?"
_CLOCKS: Final = _rule(
    rf"(?:\b(?:at|by|around|about)\s+)?\b(?:(?P<past>half|a?\s*quarter|(?:ten|twenty|five|\d{{1,2}})(?=\s+minutes|\s+past)|(?<=at )(?:ten|twenty|five))(?:\s+minutes)?\s+(?P<side>past|to|after)\s+(?P<hour1>{_HOUR})\b{_BEHIND.format(n=1)})"
    rf"|(?:\b(?:at|by|around|about)\s+)?\b(?P<hour2>\d{{1,2}})[:](?P<minute2>\d{{2}})\b{_BEHIND.format(n=2)}"
    rf"|\b(?:at|by|around|about)\s+(?P<hour3>\d{{1,2}})\.(?P<minute3>\d{{2}})\b{_BEHIND.format(n=3)}"
    rf"|\b(?:at|by|around|about)\s+(?P<hour4>{_HOUR})\b(?![.:,]?\d|%|\s*(?:percent|people|minutes|hours|items)){_BEHIND.format(n=4)}"
    rf"|\b(?P<hour5>\d{{1,2}})\s*(?P<half5>[ap])\.?m\b\.?"
    rf"|\b(?P<hour6>{_HOUR})\s+(?:o['’]?clock)\b(?:\s+(?:in\s+the|at)\s+(?P<part6>morning|afternoon|evening|night)\b)?"
    rf"|\b(?:at\s+)?(?P<word>noon|midnight|midday|lunchtime)\b"
    rf"|\bin\s+the\s+(?P<vague>morning|afternoon|evening)\b"
)

LEAD: Final = _rule(
    r"^(?:(?:hey|hi|hello|ok(?:ay)?|please|pls|kindly|also|and|then|so|,|:|-)\s*|(?:can|could|would|will)\s+you\s+(?:please\s+)?|"
    r"i(?:'d|\s+would)?\s+(?:want|need|like)\s+you\s+to\s+|i\s+want\s+to\s+be\s+|we(?:'d|\s+would)?\s+(?:want|need|like)\s+you\s+to\s+|you\s+(?:should|must|shall)\s+|make\s+sure\s+(?:to|that\s+you)\s+|"
    r"(?:set\s+up|set|create|add|schedule|make)\s+(?:me\s+)?(?:an?\s+)?(?:(?:recurring|daily|weekly)\s+)?(?:task|schedule|job|reminder)\s*(?:to|that|for|:)?\s+|schedule\s*(?::|(?=\x00))\s*)+"
)
STATEMENT: Final = _rule(
    r"^(?:(?:the|a|an|it|its|they|their|we|our|i|my|there|this|that|these|those|he|she|his|her|nobody|somebody|everybody|everyone|someone|what|who|when|where|why|how|which|did|do|does|"
    r"is|are|was|were|has|have|had|should|shall)\b|\S+\s+(?:is|are|was|were|runs|happens|takes place|starts|has|have|had|will)\b)"
)


def repetitions(text: str) -> Iterator[Repetition]:
    """All there are, the surest kind first."""
    for match in _OFTEN.finditer(text):
        count = 30 if match["half"] and match["unit"].casefold() == "hour" else _number(match["count"])
        if match["unit"].casefold() == "hour" and not match["half"]:
            yield Repetition(span=_span(match), hours=count)
        else:
            yield Repetition(span=_span(match), minutes=count)
    for match in _HOURLY.finditer(text):
        yield Repetition(span=_span(match), hours=1)
    for match in _YEARLY.finditer(text):
        month, day = match["month"] or match["month2"], match["day"] or match["day2"]
        yield Repetition(span=_span(match), day=str(int(day)), month=str(_MONTHS.index(month[:3].casefold()) + 1))
    for match in _MONTHLY.finditer(text):
        days = [match[name] for name in ("day1", "day2", "day3") if match[name]]
        is_last = "last" in (name.casefold() for name in (match["name1"], match["name2"]) if name)
        day = "L" if is_last else str(int(days[0])) if days else "1"
        yield Repetition(span=_span(match), day=day)
    for match in _WEEKDAYS.finditer(text):
        yield _on_days(match, "1-5")
    for match in _WEEKENDS.finditer(text):
        yield Repetition(span=_span(match), weekday="0,6")
    for match in _NAMED.finditer(text):
        names = match["every"] or match["plural"] or match["weekly"] or "monday"
        yield _on_days(match, ",".join(_weekdays(names)))
    for match in _DAILY.finditer(text):
        part = match["part"] or ("night" if match["word"].casefold() == "nightly" else "day")
        clock, late = _PARTS[part.casefold()]
        yield Repetition(span=_span(match), clock=clock, late=late)


def moments(text: str, now: datetime) -> Iterator[Moment]:
    for match in _IN.finditer(text):
        unit = (match["unit"] or match["unit2"]).casefold()
        count = 0.5 if match["half"] else float(_number(match["count"] or match["count2"]))
        count += 0.5 if match["more"] or match["tail"] else 0
        yield Moment(span=_span(match), after=_after(now, unit, count))
    for match in _RELATIVE.finditer(text):
        day = match["day"].casefold()
        days = {"the day after tomorrow": 2, "tomorrow": 1}.get(day, 0)
        part = match["part"] or (
            "night" if day == "tonight" else day.removeprefix("this ") if day.startswith("this") else "day"
        )
        clock, late = _PARTS[part.casefold()]
        yield Moment(span=_span(match), day=now.date() + timedelta(days=days), clock=clock, late=late)
    for match in _WEEKDAY.finditer(text):
        weekday = _DAYS.index(match["day"][:3].casefold())
        which = match["which"].casefold()
        weeks = {"next": 1, "this": 0}.get(which)
        clock, late = _PARTS[(match["part"] or "day").casefold()]
        again = timedelta(days=7) if weeks is None else None
        yield Moment(span=_span(match), day=weekday_on(now, weekday, weeks=weeks), clock=clock, late=late, again=again)
    for match in _DATE.finditer(text):
        yield from _dated(match, now)
    for match in _OF_MONTH.finditer(text):
        if (day := day_of(now, int(match["day"]))) is not None:
            yield Moment(span=_span(match), day=day)
    for match in _NEXT.finditer(text):
        after = timedelta(days=7) if match["unit"].casefold() == "week" else months_on(now, 1)
        yield Moment(span=_span(match), day=now.date() + after)


def clocks(text: str) -> Iterator[DayTime]:
    for match in _CLOCKS.finditer(text):
        groups = match.groupdict()
        if word := groups["word"] or groups["vague"]:
            yield DayTime(span=_span(match), at=_PARTS.get(word.casefold(), (time(12), False))[0], exact=True)
            continue
        number = next(n for n in range(1, 7) if groups.get(f"hour{n}"))
        hour, minute = _number(groups[f"hour{number}"]), int(groups.get(f"minute{number}") or 0)
        if groups["past"]:
            hour, minute = _past(hour, groups["past"].casefold(), groups["side"].casefold())
        half, part = groups.get(f"half{number}"), groups.get(f"part{number}")
        late = bool(half and half.casefold() == "p") or (part is not None and _PARTS[part.casefold()][1])
        if (half or part) and hour <= 12:
            hour = hour % 12 + (12 if late else 0)
        if (clock := clock_at(hour, minute)) is not None:
            is_exact = bool(half or part) or (minute > 0 and groups[f"hour{number}"].startswith("0"))
            yield DayTime(span=_span(match), at=clock, exact=is_exact)


def _dated(match: re.Match[str], now: datetime) -> Iterator[Moment]:
    if match["year3"]:
        year, month, number = int(match["year3"]), int(match["month3"]), int(match["day3"])
    else:
        year = int(match["year"]) if match["year"] else None
        month = _MONTHS.index((match["month"] or match["month2"])[:3].casefold()) + 1
        number = int(match["day"] or match["day2"])
    if (day := day_of(now, number, month, year)) is not None:
        yield Moment(span=_span(match), day=day, next_year=year is None)


def _on_days(match: re.Match[str], weekday: str) -> Repetition:
    clock, late = _PARTS[(match["part"] or "day").casefold()]
    return Repetition(span=_span(match), weekday=weekday, clock=clock, late=late)


def _weekdays(names: str) -> list[str]:
    numbers = [(_DAYS.index(name[:3].casefold()) + 1) % 7 for name in re.findall(_DAY, names, re.IGNORECASE)]
    return [str(number) for number in dict.fromkeys(numbers)]


def _after(now: datetime, unit: str, count: float) -> timedelta:
    if unit == "month":
        return months_on(now, int(count))
    seconds = {"min": 60, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}[unit]
    return timedelta(seconds=seconds * count)


def _past(hour: int, past: str, side: str) -> tuple[int, int]:
    name = past.removeprefix("a").strip() if past.endswith("quarter") else past
    minutes = {"half": 30, "quarter": 15}.get(name) or _number(name)
    return (hour, minutes) if side != "to" else ((hour - 1) % 24, 60 - minutes)


def _number(text: str | None) -> int:
    if not text:
        return 1
    return int(text) if text.isdigit() else _NUMBERS[text.casefold()]


def _span(match: re.Match[str]) -> Span:
    return Span(start=match.start(), end=match.end())
