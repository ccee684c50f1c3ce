"""Times in Chinese sentences."""

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

_DIGITS: Final = {name: n for n, name in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0, "俩": 2}
_NUMBER: Final = r"\d{1,4}|[零〇一二两三四五六七八九十]{1,3}"
_WEEKDAYS: Final = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 5}
_WEEK: Final = r"(?:周|星期|礼拜)"
_PARTS: Final = {
    "凌晨": (time(5), False),
    "半夜": (time(0), False),
    "午夜": (time(0), False),
    "清晨": (time(7), False),
    "早晨": (time(8), False),
    "早上": (time(8), False),
    "早": (time(8), False),
    "上午": (time(9), False),
    "中午": (time(12), False),
    "下午": (time(15), True),
    "傍晚": (time(18), True),
    "晚上": (time(20), True),
    "夜里": (time(21), True),
    "晚": (time(20), True),
}
_PART: Final = "|".join(_PARTS)
_PART_BEHIND: Final = rf"(?:的?(?P<part>{_PART}))?"

_OFTEN: Final = re.compile(
    rf"每(?:隔|过)?(?:(?P<half>半)(?:个)?小时|(?P<count>{_NUMBER})?(?:个)?(?P<unit>分钟|小时|钟头))"
)
_WORKDAYS: Final = re.compile(
    rf"(?:每个?|在|逢)?(?:工作日|上班日)|每?(?:周|星期|礼拜)一(?:到|至|-|~)(?:周|星期|礼拜)?五{_PART_BEHIND}"
)
_WEEKENDS: Final = re.compile(r"(?:每个?|每?逢)(?:周末)|周末(?=都)")
_NAMED: Final = re.compile(
    rf"(?:每个?|每?逢){_WEEK}(?P<days>[一二三四五六日天](?:(?:、|，|,|和|与|及|还有)?(?:每个?)?{_WEEK}?[一二三四五六日天](?![点月号个十百\d]))*)"
)
_WEEKLY: Final = re.compile(rf"每个?{_WEEK}(?![一二三四五六日天末])")
_MONTHLY: Final = re.compile(
    rf"每个?月(?:的)?(?:(?P<day>{_NUMBER})[号日]|(?P<last>最后一天|月底)|(?P<first>月初|第一天))?|(?P<end>每月底)"
)
_YEARLY: Final = re.compile(rf"每年(?:的)?(?P<month>{_NUMBER})月(?P<day>{_NUMBER})[号日]")
_DAILY: Final = re.compile(r"每(?:一)?(?:天|日)|每(?P<part>早|晚|天早上|个?早上|个?晚上|个?下午|个?上午|个?中午)")
_IN: Final = re.compile(
    rf"(?:再?过|等)?(?:(?P<half>半)(?:个)?小时|(?P<count>{_NUMBER})(?:个)?(?P<more>半)?(?P<unit>分钟|小时|钟头|天|周|星期|礼拜|月)(?P<tail>半)?)"
    r"(?:之后|以后|过后|后)(?!天)|(?:再?过|等)(?:(?P<half2>半)(?:个)?小时|(?P<count2>"
    rf"{_NUMBER})(?:个)?(?P<unit2>分钟|小时|钟头|天|周|星期|礼拜|月))"
)
_RELATIVE: Final = re.compile(
    rf"(?P<day>大后天|后天|明天|明日|今天|今日)(?:的)?(?P<part>{_PART})?|(?P<short>明早|明晚|今早|今晚)(?:上)?"
)
_WEEKDAY: Final = re.compile(
    rf"(?P<which>下下个?|下个?|这个?|本)?{_WEEK}(?P<day>[一二三四五六日天])(?:的)?(?P<part>{_PART})?"
)
_NEXT: Final = re.compile(r"下个?(?P<unit>周|星期|礼拜|月)(?![一二三四五六日天末\d])")
_DATE: Final = re.compile(
    rf"(?:(?P<year>20\d\d)年)?(?P<month>{_NUMBER})月(?P<day>{_NUMBER})[号日](?:的)?(?P<part>{_PART})?|(?P<year2>20\d\d)-(?P<month2>\d{{1,2}})-(?P<day2>\d{{1,2}})"
)
_OF_MONTH: Final = re.compile(rf"(?P<next>下个?月)?(?P<day>{_NUMBER})[号日](?:的)?(?P<part>{_PART})?")
_CLOCKS: Final = re.compile(
    rf"(?P<part>{_PART})?(?:的)?(?P<hour>{_NUMBER})(?:点钟?|时(?!间))(?:(?P<quarter>半|一刻|三刻|整)|(?P<minute>{_NUMBER})分?(?!钟))?"
    rf"|(?P<part2>{_PART})?(?:的)?(?P<hour2>\d{{1,2}})[:：](?P<minute2>\d{{2}})|(?P<word>{_PART}|正午|零点)"
)

LEAD: Final = re.compile(
    r"^(?:请你?|麻烦你?|帮我们?|帮忙|拜托你?|能不能|可不可以|可以|能|你|我们?想让你|我们?要你|我们?希望你|我想|记得|别忘了|不要忘记|务必|在|于|到|从|就|都|定时|安排|设置?|创建|一个|定时任务|提醒[:：]|[，,：:、\s\x00])+"
)
BEFORE: Final = re.compile(
    r"^(?:请|麻烦|帮我|帮忙|拜托|能不能|可不可以|可以|能|你|我们?想让你|我们?要你|我们?希望你|我想|记得|别忘了|不要忘记|务必|在|于|到|从|就|定时|安排|设置?|创建|一个|定时任务|提醒(?:我|我们|大家|他|她)?|叫我|通知(?:我|我们|大家)?|告诉我|给我|让我|嘿|好的?|[，,：:、。\s\d一二三]|@\S++)*$"
)
"""What may stand before the time in a wish; with anything else before it a sentence tells how things are."""
STATEMENT: Final = re.compile(r"^(?:什么|谁|哪|怎么|为什么|多少|有没有|是不是|会不会|都?会|是|有)|[吗呢]$")


def repetitions(text: str) -> Iterator[Repetition]:
    """All there are, the surest kind first."""
    for match in _OFTEN.finditer(text):
        if match["half"]:
            yield Repetition(span=_span(match), minutes=30)
        elif match["unit"] == "分钟":
            yield Repetition(span=_span(match), minutes=_number(match["count"]))
        else:
            yield Repetition(span=_span(match), hours=_number(match["count"]))
    for match in _YEARLY.finditer(text):
        day, month = str(_number(match["day"])), str(_number(match["month"]))
        yield Repetition(span=_span(match), day=day, month=month)
    for match in _MONTHLY.finditer(text):
        day = "L" if match["last"] or match["end"] else str(_number(match["day"]))
        yield Repetition(span=_span(match), day=day)
    for pattern, weekday in ((_WORKDAYS, "1-5"), (_WEEKENDS, "0,6"), (_WEEKLY, "1")):
        for match in pattern.finditer(text):
            yield Repetition(span=_span(match), weekday=weekday)
    for match in _NAMED.finditer(text):
        days = [str((_WEEKDAYS[name] + 1) % 7) for name in match["days"] if name in _WEEKDAYS]
        yield Repetition(span=_span(match), weekday=",".join(dict.fromkeys(days)))
    for match in _DAILY.finditer(text):
        clock, late = _part((match["part"] or "").removeprefix("天").removeprefix("个"))
        yield Repetition(span=_span(match), clock=clock, late=late)


def moments(text: str, now: datetime) -> Iterator[Moment]:
    for match in _IN.finditer(text):
        if match["half"] or match["half2"]:
            yield Moment(span=_span(match), after=timedelta(minutes=30))
            continue
        unit, count = match["unit"] or match["unit2"], float(_number(match["count"] or match["count2"]))
        count += 0.5 if match["more"] or match["tail"] else 0
        yield Moment(span=_span(match), after=_after(now, unit, count))
    for match in _RELATIVE.finditer(text):
        short = match["short"]
        name, part = (short[0], short[1]) if short else (match["day"], match["part"] or "")
        days = {"大": 3, "后": 2, "明": 1}.get(name[0], 0)
        clock, late = _part(part)
        yield Moment(span=_span(match), day=now.date() + timedelta(days=days), clock=clock, late=late)
    for match in _DATE.finditer(text):
        year, month = match["year"] or match["year2"], _number(match["month"] or match["month2"])
        day = day_of(now, _number(match["day"] or match["day2"]), month, int(year) if year else None)
        clock, late = _part(match["part"])
        if day is not None:
            yield Moment(span=_span(match), day=day, clock=clock, late=late, next_year=year is None)
    for match in _WEEKDAY.finditer(text):
        which = match["which"]
        weeks = which.count("下") if which else None
        clock, late = _part(match["part"])
        day = weekday_on(now, _WEEKDAYS[match["day"]], weeks=weeks)
        again = timedelta(days=7) if weeks is None else None
        yield Moment(span=_span(match), day=day, clock=clock, late=late, again=again)
    for match in _NEXT.finditer(text):
        after = months_on(now, 1) if match["unit"] == "月" else timedelta(days=7)
        yield Moment(span=_span(match), day=now.date() + after)
    for match in _OF_MONTH.finditer(text):
        start = now + months_on(now.replace(day=1), 1) if match["next"] else now
        start = start.replace(day=1) if match["next"] else start
        day, (clock, late) = day_of(start, _number(match["day"])), _part(match["part"])
        if day is not None:
            yield Moment(span=_span(match), day=day, clock=clock, late=late)


def clocks(text: str) -> Iterator[DayTime]:
    for match in _CLOCKS.finditer(text):
        if word := match["word"]:
            yield DayTime(
                span=_span(match), at={"正午": time(12), "零点": time(0)}.get(word) or _part(word)[0], exact=True
            )
            continue
        hour = _number(match["hour"] or match["hour2"])
        quarter = {"半": 30, "一刻": 15, "三刻": 45}.get(match["quarter"] or "")
        minute = quarter if quarter is not None else _number(match["minute"] or match["minute2"] or "零")
        part = match["part"] or match["part2"]
        if part and hour <= 12:
            is_noon = part == "中午" and hour < 6
            hour = hour + 12 if (_part(part)[1] or is_noon) and hour < 12 else hour
            hour = 0 if hour == 12 and part in ("凌晨", "半夜", "午夜") else hour
        if (clock := clock_at(hour, minute)) is not None:
            yield DayTime(span=_span(match), at=clock, exact=part is not None)


def _part(name: str | None) -> tuple[time, bool]:
    return _PARTS.get(name or "", (time(9), False))


def _after(now: datetime, unit: str, count: float) -> timedelta:
    if unit == "月":
        return months_on(now, int(count))
    seconds = {"分钟": 60, "小时": 3_600, "钟头": 3_600, "天": 86_400}.get(unit, 604_800)
    return timedelta(seconds=seconds * count)


def _number(text: str | None) -> int:
    if not text:
        return 1
    if text.isdigit():
        return int(text)
    if "十" in text:
        tens, _, ones = text.partition("十")
        return (_DIGITS.get(tens, 1) if tens else 1) * 10 + (_DIGITS.get(ones, 0) if ones else 0)
    return int("".join(str(_DIGITS.get(digit, 0)) for digit in text))


def _span(match: re.Match[str]) -> Span:
    return Span(start=match.start(), end=match.end())
