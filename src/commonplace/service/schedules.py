"""
Schedules: who sets, sees and changes them.

A schedule is its creator's. The owner of its target and admins see it, too, and change it. Whoever may not see it does not find it. A creator who
does not reach the target any more can only stop it, and is not shown what was said there.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound
from commonplace.governance.access import reaches_all, require_role
from commonplace.jobs.due import recurring_job
from commonplace.jobs.payloads import FIRE_PAYLOAD, FirePayload
from commonplace.memory.validate import check_label
from commonplace.ports.journal import Entries
from commonplace.ports.schedule_target import TargetRules
from commonplace.schedule import plan
from commonplace.schedule.proposal import propose
from commonplace.schedule.times import check_timing, check_zone, next_due, next_times
from commonplace.schedule.words import words
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.history import History
from commonplace.text.scrub import scrub
from commonplace.values.event import News
from commonplace.values.job import NewJob
from commonplace.values.line import check_line
from commonplace.values.moment import new_id, utc
from commonplace.values.principal import Principal
from commonplace.values.schedule import (
    DOOR,
    MAX_LABEL,
    MAX_PROMPT,
    MAX_TARGET,
    MOST_ENABLED,
    Creator,
    Fire,
    InvalidSchedule,
    Schedule,
    ScheduleChanged,
    ScheduleFields,
    ScheduleNotFound,
    SchedulePage,
    SchedulePause,
    SchedulePauseView,
    ScheduleProposal,
    ScheduleView,
    Timing,
    is_paused,
    room_of,
    scope_of,
)

FIRE: Final = "schedule"
"""The kind of the jobs that play scheduled turns."""
MOST_LISTED: Final = 200
SESSION: Final = "session"
_TRIES: Final = 5
_LATEST: Final = timedelta(days=5 * 366)


class SessionRules(TargetRules):
    """Sessions as targets."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def require(self, who: Principal, target: str) -> None:
        require_role(who, "writer")
        session = await self._history.session(who, _name(target))
        if session.archived_at is not None:
            raise Conflict("The session is archived. Bring it back first, or name another.")

    async def reaches(self, who: Principal, target: str) -> bool:
        try:
            await self._history.session(who, _name(target))
        except NotFound:
            return False
        return True

    async def owns(self, who: Principal, target: str) -> bool:
        try:
            await self._history.own(who, _name(target))
        except (NotFound, Forbidden):
            return False
        return True

    async def zone(self, who: Principal, target: str) -> str | None:
        del who, target
        return None

    async def quiet(self, who: Principal, target: str) -> str | None:
        del who, target
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleOptions:
    """`zone` and `quiet` hold for schedules that have none of their own; `rules` are those of targets by what their names begin with."""

    zone: str = "UTC"
    quiet: str | None = None
    rules: Mapping[str, TargetRules] = field(default_factory=dict[str, TargetRules])


class Schedules:
    def __init__(self, desk: Desk, options: ScheduleOptions) -> None:
        self._desk = desk
        self._options = options

    # ---- set one

    async def propose(
        self, who: Principal, text: str, *, zone: str | None = None, target: str | None = None
    ) -> ScheduleProposal:
        """
        What a sentence means. Nothing is set.

        Raises:
            InvalidSchedule: it says no time, or one that has passed.
        """
        async with self._desk.account(who, "schedule.propose"):
            zone = await self._zone(who, zone, target)
            if len(text) > MAX_PROMPT + 200:
                raise InvalidInput(f"A sentence has at most {MAX_PROMPT:,} characters.")
            timing, prompt = propose(text, self._desk.clock.now(), zone)
            return self._proposal(replace(timing, quiet=await self._quiet(who, None, target)), prompt)

    async def add(self, who: Principal, target: str, fields: ScheduleFields) -> ScheduleView:
        """
        Set a schedule.

        Raises:
            InvalidSchedule: its time is none, or has passed.
            NotFound, Forbidden: the target is out of reach, or the caller may not speak there.
            TooManySchedules: the target has ten that are enabled.
        """
        desk = self._desk
        async with desk.account(who, "schedule.add") as account:
            require_role(who, "writer")
            if who.door == DOOR:
                raise Forbidden("A scheduled turn sets no further schedules. A person does.")
            rules = self._rules(target)
            await rules.require(who, target)
            now = utc(desk.clock.now())
            timing, prompt = await self._timing(who, target, fields, now)
            schedule = Schedule(
                id=new_id(now),
                tenant=who.tenant,
                target=target,
                label=_label(fields.get("label"), prompt),
                prompt=prompt,
                timing=timing,
                creator=Creator.of(who),
                created_at=now,
                updated_at=now,
                next_due=next_due(timing, now),
            )
            entries = self._told(account, "schedule.added", schedule)
            await desk.store.schedules.add_schedule(schedule, entries, most=MOST_ENABLED)
            return await self._view(who, schedule)

    # ---- look

    async def get(self, who: Principal, id: str) -> ScheduleView:
        """Raises ScheduleNotFound."""
        async with self._desk.account(who, "schedule.get") as account:
            return await self._view(who, await self._found(who, account, id))

    async def list(
        self,
        who: Principal,
        *,
        target: str | None = None,
        everyone: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SchedulePage:
        """The caller's own, newest first; with `target`, all of one that is theirs; `everyone`: all, for an admin."""
        async with self._desk.account(who, "schedule.list") as account:
            if not 1 <= limit <= MOST_LISTED:
                raise InvalidInput(f"A page has 1 to {MOST_LISTED} schedules.")
            check_line("the cursor", cursor)
            sees_all = target is not None and await self._rules(target).owns(who, target)
            if everyone:
                require_role(who, "admin")
                if not reaches_all(who):
                    raise Forbidden("Everybody's schedules are for an admin's key that reaches every scope.")
                await account.note_read(everyone=True)
                sees_all = True
            subject = None if sees_all else who.subject
            rows = await self._desk.store.schedules.schedules(
                who.tenant, target=target, subject=subject, limit=limit, cursor=cursor
            )
            pauses = tuple(await self._desk.store.schedules.schedule_pauses(who.tenant))
            rows_in_reach = [row for row in rows if sees_all or _is_creator(who, row)]
            reached = {target: await self._reaches(who, target) for target in {row.target for row in rows_in_reach}}
            views = [self._shown(row, pauses, whole=reached[row.target]) for row in rows_in_reach]
            return SchedulePage(tuple(views), rows[-1].id if len(rows) == limit else None)

    # ---- change

    async def enable(self, who: Principal, id: str) -> ScheduleView:
        """Raises InvalidSchedule: its only time has passed."""
        async with self._desk.account(who, "schedule.enable") as account:
            schedule = await self._changeable(who, account, id)
            await self._require_reach(who, schedule)
            if schedule.enabled:
                return await self._view(who, schedule)
            later = plan.enabled(schedule, utc(self._desk.clock.now()))
            if not later.enabled:
                raise InvalidSchedule("Its only time has passed. Set another one.")
            entries = self._told(account, "schedule.changed", later)
            later = await self._desk.store.schedules.change_schedule(later, entries, most=MOST_ENABLED)
            return await self._view(who, later)

    async def disable(self, who: Principal, id: str) -> ScheduleView:
        """A turn that is played goes on; there is no next one."""
        async with self._desk.account(who, "schedule.disable") as account:
            for tries in reversed(range(_TRIES)):
                schedule = await self._changeable(who, account, id)
                later = plan.disabled(schedule, f"{who.actor} disabled it.", utc(self._desk.clock.now()))
                try:
                    later = await self._desk.store.schedules.change_schedule(
                        later, self._told(account, "schedule.changed", later)
                    )
                    return await self._view(who, later)
                except ScheduleChanged:
                    if not tries:
                        raise
            raise ScheduleChanged(id=id)

    async def run(self, who: Principal, id: str) -> ScheduleView:
        """Play a turn of it now, beside its times. Raises Conflict: one is being played."""
        desk = self._desk
        async with desk.account(who, "schedule.run") as account:
            schedule = await self._changeable(who, account, id)
            await self._require_reach(who, schedule)
            now = utc(desk.clock.now())
            if schedule.fire is not None and await self.is_open(schedule):
                raise Conflict("A turn of this schedule is being played. Wait for its end.")
            job = fire_job(schedule, now, now, by_hand=True)
            fire = Fire(job=job.id, due=now, since=now, by=who.actor)
            entries = self._told(account, "schedule.changed", schedule, job)
            return await self._view(
                who, await desk.store.schedules.change_schedule(plan.fired(schedule, fire, now), entries)
            )

    async def cancel(self, who: Principal, id: str) -> None:
        """Remove it. A turn that is played goes on."""
        async with self._desk.account(who, "schedule.cancel") as account:
            schedule = await self._changeable(who, account, id)
            entries = self._told(account, "schedule.cancelled", schedule)
            await self._desk.store.schedules.remove_schedule(who.tenant, schedule.id, entries)

    # ---- the switch for all

    async def pause(self, who: Principal, target: str | None = None) -> SchedulePauseView:
        """Nothing is said by itself in this target, or (None) in the whole tenant."""
        desk = self._desk
        async with desk.account(who, "schedule.pause") as account:
            place = await self._pausable(who, target)
            account.details["target"] = place
            pause = SchedulePause(tenant=who.tenant, target=place, at=utc(desk.clock.now()), by=who.actor)
            entries = self._pause_entries(account, "schedule.paused", place)
            pause = await desk.store.schedules.pause_schedules(pause, entries)
            return SchedulePauseView(target=pause.target, at=pause.at, by=pause.by)

    async def resume(self, who: Principal, target: str | None = None) -> bool:
        """False: it was not paused."""
        async with self._desk.account(who, "schedule.resume") as account:
            place = await self._pausable(who, target)
            account.details["target"] = place
            entries = self._pause_entries(account, "schedule.resumed", place)
            return await self._desk.store.schedules.resume_schedules(who.tenant, place, entries)

    async def pauses(self, who: Principal) -> builtins.list[SchedulePauseView]:
        """The caller's tenant, if it is paused, and the targets that are theirs."""
        async with self._desk.account(who, "schedule.list"):
            pauses = await self._desk.store.schedules.schedule_pauses(who.tenant)
            is_admin = who.role == "admin" and reaches_all(who)
            return [
                SchedulePauseView(target=pause.target, at=pause.at, by=pause.by)
                for pause in pauses
                if not pause.target or is_admin or await self._owns(who, pause.target)
            ]

    async def owns(self, who: Principal, target: str) -> bool:
        """Whether the caller decides what is said there by itself, whoever set it."""
        return await self._owns(who, target)

    # ---- for who plays them

    async def is_open(self, schedule: Schedule) -> bool:
        """Whether the job of its turn waits or runs still."""
        if schedule.fire is None:
            return False
        try:
            job = await self._desk.store.jobs.job(schedule.tenant, schedule.fire.job)
        except NotFound:
            return False
        return not job.is_over

    # ---- whose

    def _rules(self, target: str) -> TargetRules:
        """Raises InvalidInput: there are no targets of this kind."""
        kind = target.partition(":")[0].partition("/")[0]
        rules = self._options.rules.get(kind)
        if rules is None or len(target) > MAX_TARGET or not target.isprintable() or not _name(target):
            raise InvalidInput(
                f"{target!r:.80} is no target of a schedule. Name a session, session:<id>, or a room, channel/<channel>/<chat>."
            )
        return rules

    async def _owns(self, who: Principal, target: str) -> bool:
        try:
            return await self._rules(target).owns(who, target)
        except InvalidInput:
            # Of a kind that this daemon does not have any more.
            return who.role == "admin" and reaches_all(who)

    async def _reaches(self, who: Principal, target: str) -> bool:
        if who.role == "admin" and reaches_all(who):
            return True
        try:
            return await self._rules(target).reaches(who, target)
        except InvalidInput:
            # Of a kind that this daemon does not have any more.
            return False

    async def _require_reach(self, who: Principal, schedule: Schedule) -> None:
        """Raises Forbidden: whoever set it does not reach the target any more."""
        if not await self._reaches(who, schedule.target):
            raise Forbidden("You do not reach the place of this schedule any more. You can disable it, or cancel it.")

    async def _found(self, who: Principal, account: Account, id: str) -> Schedule:
        """Raises ScheduleNotFound: there is none, or it is not the caller's to see."""
        account.details["schedule"] = id[:64]
        if not id.isprintable():
            raise ScheduleNotFound
        schedule = await self._desk.store.schedules.schedule(who.tenant, id)
        account.scope = scope_of(schedule)
        if _is_creator(who, schedule) or _governs(who, schedule) or await self._owns(who, schedule.target):
            return schedule
        await account.note_denied(scope_of(schedule))
        raise ScheduleNotFound(id=id)

    async def _changeable(self, who: Principal, account: Account, id: str) -> Schedule:
        require_role(who, "writer")
        if who.door == DOOR:
            raise Forbidden("A scheduled turn changes no schedules. A person does.")
        return await self._found(who, account, id)

    async def _pausable(self, who: Principal, target: str | None) -> str:
        require_role(who, "writer")
        if who.door == DOOR:
            raise Forbidden("A scheduled turn changes no schedules. A person does.")
        if not target:
            require_role(who, "admin")
            if not reaches_all(who):
                raise Forbidden("To pause all takes an admin's key that reaches every scope. Name a target.")
            return ""
        if not await self._rules(target).owns(who, target):
            raise Forbidden("Only the owner of the target and admins pause what is said there by itself.")
        return target

    # ---- what is kept and shown

    async def _zone(self, who: Principal, zone: str | None, target: str | None) -> str:
        if zone:
            return check_zone(zone)
        own = await self._rules(target).zone(who, target) if target else None
        return own or self._options.zone

    async def _quiet(self, who: Principal, quiet: str | None, target: str | None) -> str | None:
        own = await self._rules(target).quiet(who, target) if target and not quiet else None
        quiet = quiet or own or self._options.quiet
        return None if quiet == "none" else quiet

    async def _timing(self, who: Principal, target: str, fields: ScheduleFields, now: datetime) -> tuple[Timing, str]:
        """When, and what is to be done. Raises InvalidSchedule."""
        zone = await self._zone(who, fields.get("zone"), target)
        cron, at, when, prompt = fields.get("cron"), fields.get("at"), fields.get("when"), fields.get("prompt")
        if [cron, at, when].count(None) != 2:
            raise InvalidSchedule("Say when by one of them: cron, at, or when.")
        if when is not None:
            timing, rest = propose(when, now, zone)
            prompt = prompt or rest
        else:
            timing = Timing(zone=zone, cron=cron, at=None if at is None else utc(at))
        timing = check_timing(replace(timing, quiet=await self._quiet(who, fields.get("quiet"), target)))
        if timing.cron is not None:
            timing = replace(timing, cron=" ".join(timing.cron.split()))
        if timing.at is not None and not now < timing.at <= now + _LATEST:
            raise InvalidSchedule("This time has passed, or is more than five years away. Name another.")
        text = scrub(prompt or "").text.strip()
        if not text or len(text) > MAX_PROMPT or "\0" in text:
            raise InvalidSchedule(f"Say what is to be done then, in at most {MAX_PROMPT:,} characters.")
        return timing, text

    def _proposal(self, timing: Timing, prompt: str) -> ScheduleProposal:
        return ScheduleProposal(
            prompt=prompt,
            zone=timing.zone,
            words=words(timing),
            words_zh=words(timing, chinese=True),
            next_times=next_times(timing, self._desk.clock.now()),
            cron=timing.cron,
            at=timing.at,
        )

    async def _view(self, who: Principal, schedule: Schedule) -> ScheduleView:
        pauses = tuple(await self._desk.store.schedules.schedule_pauses(schedule.tenant))
        return self._shown(schedule, pauses, whole=await self._reaches(who, schedule.target))

    def _shown(self, schedule: Schedule, pauses: tuple[SchedulePause, ...], *, whole: bool) -> ScheduleView:
        """Not `whole`: without what was answered, for who may not read it any more."""
        timing, last = schedule.timing, schedule.last
        return ScheduleView(
            id=schedule.id,
            target=schedule.target,
            label=schedule.label,
            prompt=schedule.prompt,
            zone=timing.zone,
            words=words(timing),
            words_zh=words(timing, chinese=True),
            created_by=schedule.creator.subject,
            created_by_name=schedule.creator.actor,
            created_at=schedule.created_at,
            updated_at=schedule.updated_at,
            enabled=schedule.enabled,
            cron=timing.cron,
            at=timing.at,
            quiet=timing.quiet,
            recurring=timing.is_recurring,
            next_times=self._next_times(schedule),
            running=schedule.fire is not None,
            paused=is_paused(schedule.target, pauses),
            disabled_because=schedule.disabled_because,
            failures=schedule.failures,
            fires=schedule.fires,
            last=last if whole or last is None else replace(last, preview=None),
        )

    def _next_times(self, schedule: Schedule) -> tuple[datetime, ...]:
        if not schedule.enabled:
            return ()
        now = self._desk.clock.now()
        regular = next_times(schedule.timing, now)
        if schedule.fire is None and schedule.next_due is not None and schedule.next_due > now:
            # A retry, or one that was put off.
            later = [due for due in regular if due > schedule.next_due]
            return (schedule.next_due, *later)[:3]
        return regular

    def _told(self, account: Account, type: str, schedule: Schedule, *jobs: NewJob) -> Entries:  # noqa: A002
        account.details["schedule"] = schedule.id
        account.details["target"] = schedule.target
        scope = scope_of(schedule)
        news = [account.news(type, scope=scope, data={"id": schedule.id, "target": schedule.target})]
        news += [queued_news(account, job) for job in jobs]
        return Entries(audit=(account.row("ok", scope=scope),), events=tuple(news), jobs=jobs)

    def _pause_entries(self, account: Account, type: str, place: str) -> Entries:  # noqa: A002
        news = account.news(type, data={"target": place}, admins=True)
        return Entries(audit=(account.row("ok"),), events=(news,))


def fire_job(schedule: Schedule, due: datetime, now: datetime, *, by_hand: bool = False) -> NewJob:
    """The job of the turn for that due time: the same, whichever daemon queues it."""
    return recurring_job(
        FIRE,
        f"{schedule.id} by hand" if by_hand else schedule.id,
        due,
        now=now,
        tenant=schedule.tenant,
        payload=FIRE_PAYLOAD.write(FirePayload(schedule=schedule.id)),
        created_by=schedule.creator.actor,
    )


def queued_news(account: Account, job: NewJob) -> News:
    """So that a worker looks for it at once."""
    return account.news("job.queued", data={"job": job.id, "kind": job.kind}, admins=True)


def _name(target: str) -> str:
    return target.partition(":")[2] if target.startswith(f"{SESSION}:") else target


def _is_creator(who: Principal, schedule: Schedule) -> bool:
    """A person, by any key that reaches what is theirs; a narrower key sees what it has set itself, and whoever speaks in a room what they set there."""
    creator = schedule.creator
    if who.subject != creator.subject:
        return False
    if room_of(schedule.target) is not None and who.reaches(scope_of(schedule)):
        return True
    return who.scopes is None or who.reaches(who.home) or (who.key is not None and who.key == creator.key)


def _governs(who: Principal, schedule: Schedule) -> bool:
    return who.role == "admin" and who.reaches(scope_of(schedule))


def _label(label: str | None, prompt: str) -> str:
    if label is not None and label.strip():
        return check_label("label", " ".join(label.split())[:MAX_LABEL])
    line = " ".join(prompt.split())
    return line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 1]}…"
