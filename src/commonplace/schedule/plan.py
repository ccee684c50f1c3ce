"""
What becomes of a schedule: it comes due, is played, and is due again.

Each step is a pure function from one state to the next; the store keeps the first that anybody makes of a version. What was missed while no daemon ran is
played once. A turn that fails is tried again after 1, 5 and 15 minutes, as long as its period lasts, and is one failure; five periods in a row disable
the schedule.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.schedule.times import due_times, next_due
from commonplace.values.moment import to_iso, to_ms
from commonplace.values.schedule import MOST_ERROR, MOST_PREVIEW, Fire, FireStatus, LastFire, Schedule

BACK_OFF: Final = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
MOST_FAILURES: Final = 5
LOOK_AGAIN: Final = timedelta(minutes=1)
"""How long after a turn was queued somebody looks whether its job is still there."""
_MOST_MISSED: Final = 1_000
_LATE: Final = timedelta(minutes=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class FireOutcome:
    """
    How a turn went. `lasting`: it would fail in the same way again, so that the schedule is disabled. `until`: nothing can be done before then, such
    as the end of the day whose budget is used up.
    """

    status: FireStatus
    run: str | None = None
    preview: str | None = None
    error: str | None = None
    lasting: bool = False
    until: datetime | None = None


def come_due(schedule: Schedule, now: datetime) -> tuple[datetime, int]:
    """The last time that it was due by now, and how many before that were missed."""
    due, missed = schedule.next_due or now, 0
    if schedule.timing.is_recurring:
        for later in due_times(schedule.timing, due):
            if later > now or missed >= _MOST_MISSED:
                break
            due, missed = later, missed + 1
    return due, missed


def fired(schedule: Schedule, fire: Fire, now: datetime) -> Schedule:
    """A turn of it is queued. Until that is over, `next_due` is when somebody looks whether it still is."""
    look_at = now + LOOK_AGAIN if schedule.enabled else None
    is_new_period = bool(fire.missed and schedule.attempt)
    return schedule.with_changes(
        now,
        fire=fire,
        next_due=look_at,
        attempt=0 if is_new_period else schedule.attempt,
        failures=schedule.failures + is_new_period,
    )


def passed_over(schedule: Schedule, now: datetime) -> Schedule:
    """It came due while its target was paused: what recurs goes on with the next time, and what does not waits."""
    if not schedule.timing.is_recurring:
        return schedule.with_changes(now, next_due=now + LOOK_AGAIN)
    due, _ = come_due(schedule, now)
    last = LastFire(status="skipped", due=due, fired_at=now, finished_at=now, error="Schedules are paused here.")
    return schedule.with_changes(now, next_due=next_due(schedule.timing, now), attempt=0, last=last)


def finished(schedule: Schedule, outcome: FireOutcome, now: datetime) -> Schedule:
    """The turn is over."""
    fire = schedule.fire
    if fire is None:
        return schedule
    last = LastFire(
        status=outcome.status,
        due=fire.due,
        fired_at=fire.since,
        finished_at=now,
        run=outcome.run,
        preview=_cut(outcome.preview, MOST_PREVIEW),
        error=_cut(outcome.error, MOST_ERROR),
    )
    played = outcome.status in ("ok", "cancelled") or outcome.run is not None
    schedule = schedule.with_changes(now, fire=None, last=last, fires=schedule.fires + played)
    if outcome.lasting:
        return disabled(schedule, outcome.error or "It cannot be played.", now)
    if not schedule.enabled or fire.by is not None:
        return schedule.with_changes(now, next_due=_on_again(schedule, fire.since))
    if outcome.status == "error":
        return _failed(schedule, fire.due, now)
    if outcome.status == "skipped":
        return _put_off(schedule, fire.due, outcome.until or now + LOOK_AGAIN, now)
    failures = 0 if outcome.status == "ok" else schedule.failures
    return _next_period(schedule.with_changes(now, failures=failures), fire.due, now)


def disabled(schedule: Schedule, because: str | None, now: datetime) -> Schedule:
    return schedule.with_changes(
        now, enabled=False, next_due=None, attempt=0, disabled_because=_cut(because, MOST_ERROR)
    )


def enabled(schedule: Schedule, now: datetime) -> Schedule:
    """From now on; what was missed is not made up for. One whose only time has passed stays as it is."""
    due = next_due(schedule.timing, now)
    if due is None:
        return schedule
    return schedule.with_changes(now, enabled=True, disabled_because=None, next_due=due, attempt=0, failures=0)


def gave_up(schedule: Schedule) -> bool:
    """Whether it was disabled since it failed so often."""
    return not schedule.enabled and schedule.failures >= MOST_FAILURES


def run_of(schedule: str, due: datetime) -> str:
    """The run of the turn for this due time: the same on every daemon, and sorted by its time as all runs are."""
    seed = hashlib.sha256(f"{schedule} {to_iso(due)}".encode()).digest()
    bits = (to_ms(due) & (1 << 48) - 1) << 80 | int.from_bytes(seed[:10])
    bits = bits & ~(0xF << 76) | 0x7 << 76
    return str(uuid.UUID(int=bits & ~(0x3 << 62) | 0x2 << 62))


def prompt_of(schedule: Schedule, fire: Fire) -> str:
    """What the agent is told: whose task it is, what it is, and if it comes late."""
    head = f'[Scheduled task "{_plain(schedule.label)}" set by {_plain(schedule.creator.actor)}]'
    if fire.by is not None:
        head += f"\n(Run by hand by {_plain(fire.by)}.)"
    elif fire.missed or fire.since - fire.due >= _LATE:
        skipped = f" {fire.missed} earlier ones were missed and are not made up for." if fire.missed else ""
        head += f"\n(It comes late: it was due at {to_iso(fire.due, timespec='auto')}.{skipped})"
    return f"{head}\n{schedule.prompt}"


def _failed(schedule: Schedule, due: datetime, now: datetime) -> Schedule:
    """Again in a while, if that is within the period; else the period has failed."""
    regular = next_due(schedule.timing, due) if schedule.timing.is_recurring else None
    if schedule.attempt < len(BACK_OFF):
        again = now + BACK_OFF[schedule.attempt]
        if regular is None or again < regular:
            return schedule.with_changes(now, next_due=again, attempt=schedule.attempt + 1)
    schedule = schedule.with_changes(now, failures=schedule.failures + 1)
    if schedule.timing.is_recurring and schedule.failures < MOST_FAILURES:
        return _next_period(schedule, due, now)
    why = schedule.last.error if schedule.last else None
    often = f"It failed {MOST_FAILURES} times in a row. " if schedule.timing.is_recurring else ""
    return disabled(schedule, f"{often}{why or ''}".strip() or None, now)


def _put_off(schedule: Schedule, due: datetime, until: datetime, now: datetime) -> Schedule:
    if not schedule.timing.is_recurring:
        return schedule.with_changes(now, next_due=until)
    return _next_period(schedule, max(due, until - timedelta(milliseconds=1)), now)


def _next_period(schedule: Schedule, due: datetime, now: datetime) -> Schedule:
    """What came due meanwhile is due now, as one."""
    following = next_due(schedule.timing, due) if schedule.timing.is_recurring else None
    if following is None:
        return disabled(schedule, None, now)
    return schedule.with_changes(now, next_due=following, attempt=0)


def _on_again(schedule: Schedule, since: datetime) -> datetime | None:
    """When it is due after somebody ran it by hand: nothing of it has changed."""
    return next_due(schedule.timing, since) if schedule.enabled else None


def _plain(text: str) -> str:
    """In a line of ours: it cannot be taken for another mark."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(line.translate({ord('"'): "'", ord("["): "(", ord("]"): ")"}).split())


def _cut(text: str | None, most: int) -> str | None:
    return text if text is None or len(text) <= most else f"{text[: most - 1]}…"
