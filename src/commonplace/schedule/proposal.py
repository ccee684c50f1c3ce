"""A sentence becomes a schedule, for somebody to confirm."""

from __future__ import annotations

from datetime import UTC, datetime

from commonplace.schedule.times import check_cron, zone_of
from commonplace.text.recurrence.sentence import read_sentence
from commonplace.values.moment import utc
from commonplace.values.schedule import InvalidSchedule, Timing

_FIELDS = 5


def propose(text: str, now: datetime, zone: str) -> tuple[Timing, str]:
    """
    When, and what is to be done then. The five fields of cron are taken, too, with or without a task behind them.

    Raises:
        InvalidSchedule: it says no time, or one that has passed.
    """
    local = now.astimezone(zone_of(zone))
    parts = text.split(maxsplit=_FIELDS)
    if len(parts) >= _FIELDS and all(part[0] in "*0123456789" for part in parts[:2]):
        cron = check_cron(" ".join(parts[:_FIELDS]))
        return Timing(zone=zone, cron=cron), parts[_FIELDS] if len(parts) > _FIELDS else ""
    task = read_sentence(text, local.replace(tzinfo=None))
    if task is None:
        raise InvalidSchedule
    if task.cron is not None:
        return Timing(zone=zone, cron=check_cron(task.cron)), task.prompt
    if task.after is not None:
        return Timing(zone=zone, at=utc(now + task.after).replace(microsecond=0)), task.prompt
    if task.at is None:
        raise InvalidSchedule
    at = _moment(task.at, local)
    if at <= utc(now):
        raise InvalidSchedule(f"{task.at:%Y-%m-%d %H:%M} has passed in {zone}. Name a time that is still to come.")
    return Timing(zone=zone, at=at), task.prompt


def _moment(naive: datetime, local: datetime) -> datetime:
    """
    By the clock of the zone. In the hour that comes twice it is the first one that is still to come; a time that the clock leaves out is as much later.
    """
    first = naive.replace(tzinfo=local.tzinfo).astimezone(UTC)
    second = naive.replace(tzinfo=local.tzinfo, fold=1).astimezone(UTC)
    return utc(second if first <= local < second else first)
