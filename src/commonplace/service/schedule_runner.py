"""
Plays schedules: queues a job for each due time, and says what is to be said when that job runs.

Every daemon looks for what is due; the first that moves a schedule on queues its job, in the same transaction. The job waits in the queue of all
daemons and is held by a lease as others are, so that a daemon that dies leaves it to the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    StoreError,
    TooManyRequests,
    Unauthenticated,
)
from commonplace.jobs.payloads import FirePayload
from commonplace.ports.journal import Entries
from commonplace.ports.maintenance import Progress
from commonplace.ports.schedule_target import Delivered, Delivery, ScheduleTarget
from commonplace.schedule import plan
from commonplace.schedule.plan import FireOutcome
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.schedules import Schedules, fire_job, queued_news
from commonplace.values.event import Event
from commonplace.values.job import Job
from commonplace.values.moment import to_iso, utc
from commonplace.values.platform import Bilingual
from commonplace.values.principal import LOCAL, Principal
from commonplace.values.record import Json
from commonplace.values.schedule import (
    DOOR,
    Fire,
    InvalidSchedule,
    PostingRefused,
    Schedule,
    ScheduleChanged,
    ScheduleNotFound,
    is_paused,
    scope_of,
)
from commonplace.values.session_lease import SessionElsewhere

AT_ONCE: Final = 5
"""Turns that a daemon plays by itself at once."""
LONGEST_WAIT: Final = 30.0
"""Seconds after which a daemon looks again, whatever it believes to be due: a clock may have been set, or a machine have slept."""
_PORTION: Final = 200
_RUNS: Final = 4
_TRIES: Final = 8
_LOST: Final = "No daemon came to its end: each one stopped in the middle."
_WAKES: Final = frozenset({"schedule.added", "schedule.changed", "schedule.cancelled", "schedule.resumed"})

log = logging.getLogger(__name__)


class ScheduleRunner:
    """`targets` are where turns are played, by what the names of targets begin with."""

    def __init__(self, desk: Desk, schedules: Schedules, targets: Mapping[str, ScheduleTarget]) -> None:
        self._desk = desk
        self._schedules = schedules
        self._targets = targets
        self._awake = asyncio.Event()

    # ---- what is due

    async def follow(self) -> None:
        """Queue what is due, again and again."""
        while True:
            self._awake.clear()
            wait = LONGEST_WAIT
            try:
                soonest = await self.plan()
            except StoreError as error:
                log.warning("schedules have to wait for the store: %s", error.code)
            else:
                if soonest is not None:
                    wait = min(max((soonest - self._desk.clock.now()).total_seconds(), 0.05), wait)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._awake.wait()

    def hear(self, event: Event) -> None:
        """An event of the log: when the next one is due may be another time now."""
        if event.news.type in _WAKES:
            self._awake.set()

    async def plan(self) -> datetime | None:
        """Queue all that is due by now; answers when the next one is."""
        store = self._desk.store.schedules
        while due := await store.due_schedules(utc(self._desk.clock.now()), _PORTION):
            for schedule in due:
                # Another daemon was first, or somebody has changed it meanwhile.
                with suppress(ScheduleChanged, ScheduleNotFound):
                    await self._move_on(schedule)
            if len(due) < _PORTION:
                break
        return await store.next_due()

    async def _move_on(self, schedule: Schedule) -> None:
        now, store = utc(self._desk.clock.now()), self._desk.store
        if schedule.fire is not None:
            await self._look_after(schedule, now)
            return
        try:
            if is_paused(schedule.target, tuple(await store.schedules.schedule_pauses(schedule.tenant))):
                await store.schedules.change_schedule(plan.passed_over(schedule, now), Entries())
                return
            due, missed = plan.come_due(schedule, now)
        except InvalidSchedule as error:
            await store.schedules.change_schedule(plan.disabled(schedule, error.message, now), Entries())
            return
        job = fire_job(schedule, due, now)
        fire = Fire(job=job.id, due=due, since=now, missed=missed)
        account = self._account(schedule)
        entries = Entries(jobs=(job,), events=(queued_news(account, job),))
        await store.schedules.change_schedule(plan.fired(schedule, fire, now), entries)

    async def _look_after(self, schedule: Schedule, now: datetime) -> None:
        """A turn was queued a while ago: if its job is gone, so is the turn."""
        if await self._schedules.is_open(schedule):
            await self._desk.store.schedules.change_schedule(
                schedule.with_changes(schedule.updated_at, next_due=now + plan.LOOK_AGAIN), Entries()
            )
            return
        await self._finish(schedule, FireOutcome(status="error", error=_LOST))

    # ---- a turn

    async def run(self, job: Job, payload: FirePayload, progress: Progress) -> Mapping[str, Json]:
        """What a worker does with the job of a turn."""
        del progress
        try:
            schedule = await self._desk.store.schedules.schedule(job.tenant, payload.schedule)
        except ScheduleNotFound:
            return {"status": "cancelled"}
        if schedule.fire is None or schedule.fire.job != job.id:
            # What became of it is written down already.
            return {"status": "over"}
        outcome = await self._play(schedule, schedule.fire, again=job.attempts > 1 or job.error_code is not None)
        await self._finish(schedule, outcome)
        return {"status": outcome.status, "run": outcome.run, "error": outcome.error}

    async def _play(self, schedule: Schedule, fire: Fire, *, again: bool) -> FireOutcome:
        """
        Raises:
            SessionElsewhere: the room or the session is another daemon's, which is left to take the job.
            TooManyRequests, StoreError: not now; the job is tried again.
        """
        who = schedule.creator.principal(schedule.tenant, schedule.id)
        try:
            await self._desk.require_good(who, "schedule.fire")
            target = self._target(schedule)
            if (refusal := await target.refusal(who, schedule.target)) is not None:
                log.error("schedule %s cannot post to %s: %s", schedule.id, schedule.target, refusal)
                return FireOutcome(status="error", error=refusal)
            delivery = Delivery(
                who=who,
                schedule=schedule.id,
                target=schedule.target,
                text=plan.prompt_of(schedule, fire),
                runs=tuple(plan.run_of(f"{schedule.id} {n}", fire.due) for n in range(_RUNS)),
                since=fire.since - timedelta(seconds=1),
                is_again=again,
            )
            return self._outcome(await target.deliver(delivery))
        except (TooManyRequests, StoreError):
            raise
        except SessionElsewhere:
            raise
        except PostingRefused as error:
            log.warning(
                "schedule %s is skipped, nothing is posted to %s: %s", schedule.id, schedule.target, error.message
            )
            return FireOutcome(status="skipped", error=error.message, lasting=not schedule.timing.is_recurring)
        except Conflict as error:
            # The session is led by another process, or was closed meanwhile: whoever takes the job next looks again.
            raise TooManyRequests(error.message) from error
        except (NotFound, Forbidden, Unauthenticated, InvalidInput) as error:
            return FireOutcome(status="error", error=error.message, lasting=True)
        except CommonplaceError as error:
            return FireOutcome(status="error", error=error.message)

    def _outcome(self, delivered: Delivered) -> FireOutcome:
        if delivered.ending == "answered":
            return FireOutcome(status="ok", run=delivered.run, preview=delivered.reply, error=delivered.failed)
        if delivered.ending == "cancelled":
            return FireOutcome(status="cancelled", run=delivered.run, preview=delivered.reply)
        if delivered.code == "spending_cap_reached" and delivered.retry_after:
            until = utc(self._desk.clock.now()) + timedelta(seconds=delivered.retry_after)
            return FireOutcome(status="skipped", run=delivered.run, error=delivered.failed, until=until)
        return FireOutcome(status="error", run=delivered.run, error=delivered.failed)

    async def _finish(self, schedule: Schedule, outcome: FireOutcome) -> None:
        """Write down what became of it, in whatever the schedule is by now."""
        fire, store = schedule.fire, self._desk.store.schedules
        for _ in range(_TRIES):
            if fire is None or schedule.fire is None or schedule.fire.job != fire.job:
                return
            finished = plan.finished(schedule, outcome, utc(self._desk.clock.now()))
            try:
                await store.change_schedule(finished, self._entries(schedule, finished, outcome))
            except ScheduleNotFound:
                return
            except ScheduleChanged:
                schedule = await store.schedule(schedule.tenant, schedule.id)
                continue
            await self._announce(schedule, finished, outcome)
            return
        raise ScheduleChanged(id=schedule.id)

    async def _announce(self, before: Schedule, after: Schedule, outcome: FireOutcome) -> None:
        """Say where it posts that it was disabled or put off. That it cannot be said there is logged."""
        if before.enabled and not after.enabled and after.disabled_because is not None:
            text = Bilingual(
                en=f'The schedule "{after.label}" was disabled: {after.disabled_because}',
                zh=f"定时任务“{after.label}”已停用：{after.disabled_because}",
            )
        elif outcome.status == "skipped":
            text = Bilingual(
                en=f'The schedule "{after.label}" is paused: {outcome.error}',
                zh=f"定时任务“{after.label}”已推迟：{outcome.error}",
            )
        else:
            return
        log.warning("schedule %s: %s", after.id, text.en)
        who = after.creator.principal(after.tenant, after.id)
        try:
            await self._target(after).announce(who, after.target, text)
        except CommonplaceError as error:
            log.warning("schedule %s: it could not be said in %s: %s", after.id, after.target, error.code)

    def _target(self, schedule: Schedule) -> ScheduleTarget:
        """Raises NotFound: this daemon has no targets of this kind."""
        target = self._targets.get(schedule.target.partition(":")[0].partition("/")[0])
        if target is None:
            raise NotFound(f"There is no {schedule.target!r:.80} at this daemon.")
        return target

    def _entries(self, schedule: Schedule, finished: Schedule, outcome: FireOutcome) -> Entries:
        fire = schedule.fire
        account = self._account(schedule)
        account.run = outcome.run
        scope = scope_of(schedule)
        details: dict[str, Json] = {
            "schedule": schedule.id,
            "target": schedule.target,
            "sender": schedule.creator.subject,
            "label": schedule.label,
            "status": outcome.status,
            "enabled": finished.enabled,
        }
        if fire is not None:
            details |= {"due": to_iso(fire.due), "by": fire.by}
        data: dict[str, Json] = {"id": schedule.id, "target": schedule.target, "status": outcome.status}
        is_ok = outcome.status in ("ok", "cancelled")
        return Entries(
            audit=(account.row("ok" if is_ok else "failed", scope=scope, details=details),),
            events=(account.news("schedule.fired", scope=scope, data=data),),
        )

    def _account(self, schedule: Schedule) -> Account:
        creator = schedule.creator
        who = Principal(
            subject=creator.subject or LOCAL,
            tenant=schedule.tenant,
            role=creator.role,
            name=creator.name,
            key=creator.key,
            client=f"schedule:{schedule.id}",
            door=DOOR,
        )
        return self._desk.account(who, "schedule.fire")
