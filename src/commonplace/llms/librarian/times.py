"""Times in plain sentences: whether one is named, and what repeats as the five fields of cron."""

from __future__ import annotations

import re
from typing import Final

_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_HAN_DAYS: Final = {"日": 0, "天": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6}
_HAN: Final = {name: n for n, name in enumerate("零一二三四五六七八九十")} | {"两": 2, "十一": 11, "十二": 12}

_TIMED: Final = re.compile(
    r"\d|\b(?:every|each|daily|weekly|monthly|hourly|tomorrow|tonight|today|noon|midnight|morning|afternoon|evening|lunch|dinner|weekend|next|in an?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|minutes?|hours?|days?|weeks?|months?|before|after|when)\b"
    r"|每|明天|后天|今晚|今天|周[一二三四五六日天]|星期|下周|月底|分钟|小时|点|之后|以后|前|早上|晚上|中午|下午|隔|等|到",
    re.IGNORECASE,
)
_CLOCK: Final = re.compile(
    r"\b(?:at )?(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))? ?(?P<half>[ap]\.?m\b)?", re.IGNORECASE
)
_HAN_CLOCK: Final = re.compile(
    r"(?P<part>早上|上午|中午|下午|晚上|凌晨|傍晚|晚|早)?(?P<hour>\d{1,2}|十[一二]?|[一二两三四五六七八九])点(?P<minute>半|一刻|三刻|\d{1,2}分?)?"
)
_EVERY: Final = re.compile(
    r"\b(?:every|each) (?:(?P<count>\d{1,2}) )?(?P<unit>minutes?|hours?|day|morning|evening|night|weekday|weekend|month|mon|tue|wed|thu|fri|sat|sun)"
    r"|\b(?P<often>hourly|daily|weekly|monthly|nightly)\b",
    re.IGNORECASE,
)
_HAN_EVERY: Final = re.compile(
    r"每(?:个)?(?P<unit>小时|天|日|早|晚|工作日|周末|月(?P<day>\d{1,2})?[号日]?|(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天]))|每隔?(?P<count>\d{1,2})(?P<small>分钟|小时)"
)
_HOURS: Final = {"morning": 8, "evening": 18, "night": 21, "nightly": 21, "早": 8, "晚": 21}


def is_timed(text: str) -> bool:
    return _TIMED.search(text) is not None


def cron_of(text: str) -> str | None:
    """The five fields of what repeats, or None if nothing does or this cannot say it."""
    if match := _EVERY.search(text):
        return _english(match, text)
    if match := _HAN_EVERY.search(text):
        return _chinese(match, text)
    return None


def _english(match: re.Match[str], text: str) -> str | None:
    unit = (match["often"] or match["unit"]).casefold()
    count = int(match["count"]) if match["count"] else 1
    if unit.startswith("minute"):
        return f"*/{count} * * * *" if 0 < count < 60 else None
    if unit.startswith("hour"):
        return f"0 */{count} * * *" if 0 < count < 24 else None
    if count > 1:
        return None
    rest = text[: match.start()] + " " + text[match.end() :]
    clock = _clock(_CLOCK.search(rest)) or (0, _HOURS.get(unit, 9))
    return _fields(clock, unit if unit.startswith("month") else unit[:3] if unit[:3] in _DAYS else unit)


def _chinese(match: re.Match[str], text: str) -> str | None:
    if match["count"]:
        count = int(match["count"])
        if match["small"] == "分钟":
            return f"*/{count} * * * *" if 0 < count < 60 else None
        return f"0 */{count} * * *" if 0 < count < 24 else None
    unit = match["unit"]
    if unit == "小时":
        return "0 * * * *"
    clock = _han_clock(_HAN_CLOCK.search(text)) or (0, _HOURS.get(unit, 9))
    if match["weekday"]:
        return f"{clock[0]} {clock[1]} * * {_HAN_DAYS[match['weekday']]}"
    if unit.startswith("月"):
        day = int(match["day"] or 1)
        return f"{clock[0]} {clock[1]} {day} * *" if 0 < day <= 31 else None
    return _fields(clock, {"工作日": "weekday", "周末": "weekend"}.get(unit, "day"))


def _fields(clock: tuple[int, int], unit: str) -> str:
    minute, hour = clock
    if unit in _DAYS:
        return f"{minute} {hour} * * {_DAYS.index(unit)}"
    days = {"weekday": "* * 1-5", "weekend": "* * 0,6", "weekly": "* * 1", "month": "1 * *", "monthly": "1 * *"}
    return f"{minute} {hour} {days.get(unit, '* * *')}"


def _clock(match: re.Match[str] | None) -> tuple[int, int] | None:
    """Minute and hour."""
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if match["half"]:
        hour = hour % 12 + (12 if match["half"][0].casefold() == "p" else 0)
    return (minute, hour) if hour < 24 and minute < 60 else None


def _han_clock(match: re.Match[str] | None) -> tuple[int, int] | None:
    if match is None:
        return None
    name = match["hour"]
    hour = int(name) if name.isdigit() else _HAN[name]
    if match["part"] in ("下午", "晚上", "傍晚", "晚") and hour < 12:
        hour += 12
    minutes = match["minute"] or "0"
    minute = {"半": 30, "一刻": 15, "三刻": 45}.get(minutes) or int(
        minutes.rstrip("分") if minutes.rstrip("分").isdigit() else 0
    )
    return (minute, hour) if hour < 24 and minute < 60 else None
