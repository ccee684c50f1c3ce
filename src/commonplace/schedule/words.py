"""A schedule's times in plain words, in English and Chinese. What the table does not have is told as the five fields are written."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from commonplace.schedule.times import zone_of
from commonplace.values.schedule import Timing

_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS_ZH: Final = ("日", "一", "二", "三", "四", "五", "六", "日")
_NAMES: Final = {name[:3].casefold(): number for number, name in enumerate(_DAYS[:7])}
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_STEP: Final = re.compile(r"\*/(\d{1,2})")
_NUMBER: Final = re.compile(r"\d{1,2}")


def words(timing: Timing, *, chinese: bool = False) -> str:
    if timing.at is not None:
        return _once(timing.at, timing.zone, chinese)
    zone = f"（{timing.zone}）" if chinese else f" ({timing.zone})"
    fields = (timing.cron or "").split()
    text = _repeated(fields, chinese) if len(fields) == 5 else None
    return f"{text or timing.cron}{zone}"


def _once(at: datetime, zone: str, chinese: bool) -> str:
    local = at.astimezone(zone_of(zone))
    if chinese:
        return f"{local.year}年{local.month}月{local.day}日（周{_DAYS_ZH[local.isoweekday()]}）{local:%H:%M}（{zone}）"
    return f"once on {_DAYS[local.isoweekday()]}, {local:%Y-%m-%d} at {local:%H:%M} ({zone})"


def _repeated(fields: list[str], chinese: bool) -> str | None:
    minute, hour, day, month, weekday = fields
    if month != "*":
        return None
    if (day, weekday) == ("*", "*") and (often := _often(minute, hour, chinese)):
        return often
    if not (_NUMBER.fullmatch(minute) and _NUMBER.fullmatch(hour)):
        return None
    clock = f"{int(hour):02}:{int(minute):02}"
    days = _days(day, weekday, chinese)
    if days is None:
        return None
    return f"{days}{clock}" if chinese else f"{days} at {clock}"


def _often(minute: str, hour: str, chinese: bool) -> str | None:
    """Every few minutes, every hour, every few hours."""
    if hour == "*":
        if minute in ("*", "*/1"):
            return "每分钟" if chinese else "every minute"
        if step := _STEP.fullmatch(minute):
            return f"每{step[1]}分钟" if chinese else f"every {step[1]} minutes"
        if _NUMBER.fullmatch(minute):
            at = int(minute)
            if at == 0:
                return "每小时" if chinese else "every hour"
            return f"每小时的第{at}分钟" if chinese else f"every hour at {at} minutes past"
    if (step := _STEP.fullmatch(hour)) and minute == "0":
        return f"每{step[1]}小时" if chinese else f"every {step[1]} hours"
    return None


def _days(day: str, weekday: str, chinese: bool) -> str | None:
    if (day, weekday) == ("*", "*"):
        return "每天" if chinese else "every day"
    if weekday == "*":
        return _of_month(day, chinese)
    if day != "*" or (numbers := _weekdays(weekday)) is None:
        return None
    if numbers == [1, 2, 3, 4, 5]:
        return "每个工作日" if chinese else "every weekday"
    if numbers == [0, 6]:
        return "每个周末" if chinese else "every Saturday and Sunday"
    if chinese:
        return "每周" + "、".join(_DAYS_ZH[number] for number in sorted(numbers, key=lambda number: number or 7))
    return "every " + _listed([_DAYS[number] for number in sorted(numbers, key=lambda number: number or 7)])


def _of_month(day: str, chinese: bool) -> str | None:
    if day == "L":
        return "每月最后一天" if chinese else "on the last day of each month"
    numbers = day.split(",")
    if not all(_NUMBER.fullmatch(number) for number in numbers):
        return None
    if chinese:
        return "每月" + "、".join(str(int(number)) for number in numbers) + "日"
    return f"on the {_listed([_ordinal(int(number)) for number in numbers])} of each month"


def _weekdays(field: str) -> list[int] | None:
    numbers: set[int] = set()
    for part in field.casefold().split(","):
        first, dash, last = part.partition("-")
        low, high = _weekday(first), _weekday(last or first)
        if low is None or high is None or (dash and low > high):
            return None
        numbers.update(number % 7 for number in range(low, high + 1))
    return sorted(numbers)


def _weekday(name: str) -> int | None:
    if name in _NAMES:
        return _NAMES[name]
    return int(name) if name.isdigit() and int(name) <= 7 else None


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _ordinal(number: int) -> str:
    if 11 <= number <= 13:
        return f"{number}th"
    return f"{number}{_ENDINGS.get(number % 10, 'th')}"
