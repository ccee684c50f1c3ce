"""
When a schedule is due, by five fields of cron or once.

A day has 23 or 25 hours twice a year: what is due in the hour that is left out comes right after it, and what is due in the hour that comes twice
comes once. What comes due in quiet hours waits for their end, where several become one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from commonplace.values.moment import utc
from commonplace.values.schedule import InvalidSchedule, Timing

_FIELDS: Final = 5
_LONGEST: Final = 200
_PLAIN: Final = re.compile(r"[0-9A-Za-z*/,\- ]+")
_QUIET: Final = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})(?:\s+(\S{1,64}))?")
_MOST_QUIET: Final = 3_000
"""How many due times in quiet hours are passed over, one after the other, before we give up: those of two days, once a minute."""


def check_zone(name: str) -> str:
    """Raises InvalidSchedule: there is no such time zone."""
    zone_of(name)
    return name


def zone_of(name: str) -> ZoneInfo:
    """Raises InvalidSchedule."""
    try:
        if not name or len(name) > 64 or not name.isprintable():
            raise ValueError
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSchedule(
            f"{name!r:.80} is no time zone that is known here. Write one such as Europe/Berlin or Asia/Shanghai."
        ) from None


def check_cron(text: str) -> str:
    """The five fields, a blank between each two. Raises InvalidSchedule: they are none, or are never due."""
    fields = text[: _LONGEST + 1].split()
    plain = " ".join(fields)
    if len(fields) != _FIELDS or len(text) > _LONGEST or not _PLAIN.fullmatch(plain):
        raise InvalidSchedule(
            "Cron has five fields here: minute, hour, day of the month, month, day of the week. For instance: 0 9 * * 1-5"
        )
    try:
        next(CronSim(plain, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration):
        raise InvalidSchedule(
            f"{plain!r:.80} is no time that ever comes. Check each field, for instance: 0 9 * * 1-5"
        ) from None
    return plain


@dataclass(frozen=True, kw_only=True, slots=True)
class QuietHours:
    """From `start` until before `end` by the clock of `zone`; over midnight if the end is the earlier one."""

    start: time
    end: time
    zone: ZoneInfo

    def end_after(self, moment: datetime) -> datetime | None:
        """When they are over, if the moment lies in them."""
        local = moment.astimezone(self.zone)
        clock = local.time().replace(fold=0)
        over_midnight = self.end <= self.start
        is_quiet = clock >= self.start or clock < self.end if over_midnight else self.start <= clock < self.end
        if not is_quiet:
            return None
        day = local.date() + timedelta(days=1 if over_midnight and clock >= self.start else 0)
        end = utc(datetime.combine(day, self.end, tzinfo=self.zone))
        # In the hour that comes twice the end may lie behind by the clock of the first.
        return end if end > moment else utc(datetime.combine(day, self.end.replace(fold=1), tzinfo=self.zone))


def quiet_hours(text: str | None, zone: str) -> QuietHours | None:
    """`22:00-07:00`, a zone of their own behind them or not. Raises InvalidSchedule."""
    if text is None:
        return None
    match = _QUIET.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        start, end = time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))
        if start == end:
            raise ValueError
    except ValueError:
        raise InvalidSchedule(
            f"{text!r:.80} are no quiet hours. Write them as 22:00-07:00, or 22:00-07:00 Europe/Berlin."
        ) from None
    return QuietHours(start=start, end=end, zone=zone_of(match[5] or zone))


def check_timing(timing: Timing) -> Timing:
    """Raises InvalidSchedule."""
    zone_of(timing.zone)
    quiet_hours(timing.quiet, timing.zone)
    if timing.cron is not None:
        check_cron(timing.cron)
    return timing


def next_due(timing: Timing, after: datetime) -> datetime | None:
    """The first due time behind `after`; None: there is none any more."""
    return next(due_times(timing, after), None)


def next_times(timing: Timing, after: datetime, count: int = 3) -> tuple[datetime, ...]:
    times = due_times(timing, after)
    return tuple(due for due, _ in zip(times, range(count), strict=False))


def due_times(timing: Timing, after: datetime) -> Iterator[datetime]:
    """Each due time behind `after`, in order, outside quiet hours."""
    quiet = quiet_hours(timing.quiet, timing.zone)
    last, passed = after, 0
    for due in _plain_times(timing, _before_quiet(quiet, after)):
        moved = (quiet.end_after(due) if quiet else None) or due
        if moved > last:
            last, passed = moved, 0
            yield moved
        elif (passed := passed + 1) > _MOST_QUIET:
            return


def _before_quiet(quiet: QuietHours | None, after: datetime) -> datetime:
    """What came due in quiet hours before `after` may be said at their end, which is behind it."""
    return after if quiet is None else after - timedelta(days=1)


def _plain_times(timing: Timing, after: datetime) -> Iterator[datetime]:
    if timing.at is not None:
        # Once, however long ago: who asks decides whether it is over.
        yield utc(timing.at)
    if timing.cron is not None:
        for local in _cron(timing.cron, timing.zone, utc(after)):
            yield utc(local)


def _cron(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    try:
        yield from CronSim(cron, after.astimezone(_zone(zone)))
    except (CronSimError, OverflowError):
        raise InvalidSchedule from None


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return zone_of(name)
