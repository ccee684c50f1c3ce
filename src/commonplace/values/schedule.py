"""
A schedule: what an agent is told by itself, when, and where.

`target` names where: `session:<id>` is a session, `channel/<name>/<chat>` a room. A schedule is its creator's; a turn of it is played in their
name, with less than they may do themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, TypedDict

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound, QueueFull
from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.principal import CHANNEL_SUBJECT, Principal, Role, ScopePattern
from commonplace.values.scope import Scope

MAX_PROMPT: Final = 4_000
MAX_LABEL: Final = 80
MAX_TARGET: Final = 600
MOST_ENABLED: Final = 10
"""Of one target."""
MOST_PREVIEW: Final = 500
MOST_ERROR: Final = 1_000
ROOM: Final = "channel"
"""What the names of targets that are rooms begin with."""
DOOR: Final = "schedule"
"""The way in of scheduled turns, as the audit calls it."""


class ScheduleNotFound(NotFound):
    """There is no such schedule. List those that are there."""

    code = "schedule_not_found"


class InvalidSchedule(InvalidInput):
    """This says no time. Write five fields of cron, a time, or a sentence such as "every weekday at nine"."""

    code = "invalid_schedule"


class TooManySchedules(QueueFull):
    """This target has as many enabled schedules as it may. Disable or cancel one of them first."""

    code = "too_many_schedules"
    status = 409


class PostingRefused(Forbidden):
    """Nothing is posted to this room by itself: its channel does not let it in. An admin may list it again."""

    code = "posting_refused"


class ScheduleChanged(Conflict):
    """Somebody has changed this schedule meanwhile. Look at it, and try again."""

    code = "schedule_changed"


FireStatus = Literal["ok", "error", "skipped", "cancelled"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """
    When: the five fields of `cron`, or once `at` a time. `zone` is the time zone that the fields are read in. `quiet` are hours in which nothing is
    said, such as `22:00-07:00`, in the schedule's zone unless another stands behind them; what comes due then is said at their end.
    """

    zone: str
    cron: str | None = None
    at: datetime | None = None
    quiet: str | None = None

    @property
    def is_recurring(self) -> bool:
        return self.cron is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Creator:
    """Who set a schedule, as its turns need it: no more than the key they had."""

    subject: str
    role: Role
    name: str | None = None
    agent: bool = False
    scopes: tuple[str, ...] | None = None
    key: str | None = None

    @classmethod
    def of(cls, who: Principal) -> Creator:
        # A scheduled turn writes, and does no more: nobody is there to be asked.
        role: Role = "reader" if who.role == "reader" else "writer"
        scopes = None if who.scopes is None else tuple(map(str, who.scopes))
        return cls(subject=who.subject, role=role, name=who.name, agent=who.agent, scopes=scopes, key=who.key)

    @property
    def actor(self) -> str:
        """Who the target is told that set it. Somebody in a room whom nobody linked to a person is called as their platform does."""
        if self.subject.startswith(CHANNEL_SUBJECT):
            return self.subject.split("/", 2)[-1]
        return self.name or self.subject

    def principal(self, tenant: str, schedule: str) -> Principal:
        """Who speaks in its turns: never an admin, never the operator."""
        return Principal(
            subject=self.subject,
            tenant=tenant,
            role=self.role,
            name=self.name,
            agent=self.agent,
            scopes=None if self.scopes is None else tuple(map(ScopePattern, self.scopes)),
            key=self.key,
            client=f"schedule:{schedule}",
            door=DOOR,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LastFire(JsonObject):
    """What became of the last turn. `preview` is the beginning of what was answered."""

    status: FireStatus
    due: Moment
    fired_at: Moment
    finished_at: Moment
    run: str | None = None
    preview: str | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fire:
    """
    A turn that is being played: its `job`, and the time it was `due`. `missed` earlier due times are not made up for. `by` is who ran it by hand;
    such a turn moves no due time.
    """

    job: str
    due: datetime
    since: datetime
    missed: int = 0
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """
    `next_due` is when it is played next; None: it is over, or disabled. `attempt` counts the retries of this period, `failures` the periods in a
    row that failed, `fires` the turns so far. `version` grows with each change.
    """

    id: str
    tenant: str
    target: str
    label: str
    prompt: str
    timing: Timing
    creator: Creator
    created_at: datetime
    updated_at: datetime
    enabled: bool = True
    disabled_because: str | None = None
    next_due: datetime | None = None
    fire: Fire | None = None
    attempt: int = 0
    failures: int = 0
    fires: int = 0
    last: LastFire | None = None
    version: int = 1

    def with_changes(self, now: datetime, **changes: object) -> Schedule:
        return replace(self, updated_at=now, **changes)  # pyright: ignore[reportArgumentType] - fields of ours


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulePause:
    """Nothing is said by itself in the targets that begin so; an empty `target` is the whole tenant."""

    tenant: str
    target: str
    at: datetime
    by: str


def room_target(channel: str, chat: str) -> str:
    return f"{ROOM}/{channel}/{chat}"


def room_of(target: str) -> tuple[str, str] | None:
    """The channel and the chat of a target that is a room; None: it is none."""
    kind, _, place = target.partition("/")
    channel, slash, chat = place.partition("/")
    return (channel, chat) if kind == ROOM and channel and slash and chat else None


def scope_of(schedule: Schedule) -> Scope:
    """Who hears of it, and reads of it in the audit: the room, or who set it."""
    place = room_of(schedule.target)
    return Scope("user", schedule.creator.subject) if place is None else Scope("channel", "/".join(place))


def is_paused(target: str, pauses: tuple[SchedulePause, ...]) -> bool:
    """Whether one of these holds for it: `channel/team` does for `channel/team/room`, and not for `channel/teams/room`."""
    return any(not pause.target or f"{target}/".startswith(f"{pause.target}/") for pause in pauses)


# ---- as clients see it


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleView(JsonObject):
    """
    A schedule for who may see it. `words` and `words_zh` say its times in English and Chinese; `next_times` are the next three. `running`: a
    turn of it is being played. `paused`: somebody has paused its target, or all.
    """

    id: str
    target: str
    label: str
    prompt: str
    zone: str
    words: str
    words_zh: str
    created_by: str
    created_by_name: str
    created_at: Moment
    updated_at: Moment
    enabled: bool
    cron: str | None = None
    at: Moment | None = None
    quiet: str | None = None
    recurring: bool = False
    next_times: tuple[Moment, ...] = ()
    running: bool = False
    paused: bool = False
    disabled_because: str | None = None
    failures: Natural = 0
    fires: Natural = 0
    last: LastFire | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleProposal(JsonObject):
    """What a sentence means, to be confirmed: send `cron` or `at`, `zone` and `prompt` back to set it."""

    prompt: str
    zone: str
    words: str
    words_zh: str
    next_times: tuple[Moment, ...]
    cron: str | None = None
    at: Moment | None = None


@dataclass(frozen=True, slots=True)
class SchedulePage(JsonObject):
    """`cursor` leads to the older ones; None: these are the oldest."""

    schedules: tuple[ScheduleView, ...]
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulePauseView(JsonObject):
    target: str
    at: Moment
    by: str


class ScheduleFields(TypedDict, total=False):
    """Of a new schedule. One of `cron`, `at` and `when` (a sentence, which may have the prompt in it, too) says its times."""

    cron: str | None
    at: datetime | None
    when: str | None
    prompt: str | None
    label: str | None
    zone: str | None
    quiet: str | None
