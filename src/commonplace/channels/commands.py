"""What a room does by itself when somebody writes a `/command`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from commonplace.channels.command_line import CONFIRM, USAGE, CommandName, RoomCommand
from commonplace.channels.gates import is_shared
from commonplace.channels.phrases import CHINESE, RoomPhrases
from commonplace.channels.prefix import display_name
from commonplace.channels.room_notes import RoomNotes
from commonplace.channels.schedule_commands import ScheduleCommands
from commonplace.errors import CommonplaceError
from commonplace.ports.journal import Entries
from commonplace.values.audit import ROOM_ACTIONS, AuditQuery, AuditRow
from commonplace.values.channel import ChatRoom
from commonplace.values.envelope import Envelope
from commonplace.values.principal import Principal
from commonplace.values.schedule import room_target

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.residence import Residence

_CLEAR_SECONDS: Final = 3.0
_AUDIT_ROWS: Final = 20
_LOOKED_THROUGH: Final = 512
_PAGES: Final = 4
_OF_ROOMS: Final = AuditQuery(actions=(*ROOM_ACTIONS, "room.pause", "room.resume", "channel.pause"))


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenCommand:
    """A command with all that is known of it."""

    command: RoomCommand
    envelope: Envelope
    room: ChatRoom
    who: Principal
    words: RoomPhrases

    @property
    def argument(self) -> str:
        return self.command.argument

    @property
    def name(self) -> str:
        return display_name(self.envelope.sender_name or self.envelope.sender)


Do: TypeAlias = Callable[[GivenCommand], Awaitable[str | None]]


class RoomCommands:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence
        self._notes = RoomNotes(residence)
        self._do: dict[CommandName, Do] = {
            "help": self._help,
            "status": self._status,
            "who": self._who,
            "clear": self._clear,
            "cancel": self._cancel,
            "remember": self._remember,
            "correct": self._correct,
            "recall": self._recall,
            "forget": self._forget,
            "why": self._why,
            "budget": self._budget,
            "schedule": ScheduleCommands(residence).do,
            "audit": self._audit,
            "approve": self._vote,
            "approve-always": self._vote,
            "deny": self._vote,
            "pause": self._pause,
            "resume": self._pause,
        }

    async def understands(self, command: RoomCommand, room: ChatRoom, who: Principal) -> bool:
        """Whether a sentence is for the room: one that is about nothing it remembers is for the agent."""
        return command.name not in ("forget", "correct") or await self._notes.has(who, room, command.argument)

    async def do(self, command: RoomCommand, envelope: Envelope, room: ChatRoom, who: Principal) -> None:
        words = CHINESE if command.chinese else self._residence.words(envelope)
        call = GivenCommand(command=command, envelope=envelope, room=room, who=who, words=words)
        try:
            text = await self._do[command.name](call)
        except CommonplaceError as error:
            text = words.failed.format(name=call.name, reason=error.message)
        if text is not None:
            await self._residence.tell(envelope, text)

    # ---- what there is

    async def _help(self, call: GivenCommand) -> str:
        place = 1 if call.words is CHINESE else 0
        lines = [USAGE[name][place] for name in self._do]
        return call.words.help.format(commands="\n".join(lines))

    async def _status(self, call: GivenCommand) -> str:
        residence = self._residence
        if call.room.paused:
            return call.words.paused
        route = await residence.router.known(call.envelope)
        if route is None:
            return call.words.status_idle.format(session="—")
        state = await residence.parts.agent.state(residence.owner, route.session)
        if not state.prompts:
            return call.words.status_idle.format(session=route.session)
        first, *others = state.prompts
        return call.words.status_busy.format(speaker=first.speaker, text=first.text[:200], waiting=len(others))

    async def _who(self, call: GivenCommand) -> str:
        residence, settings = self._residence, self._residence.profile.settings
        here = residence.platform.people(call.room.chat)
        folder = (settings.folder or "—").rstrip("/").rpartition("/")[2]
        return call.words.who.format(
            channel=residence.profile.name,
            kind=residence.profile.kind,
            folder=folder or "/",
            scope=str(call.room.scope),
            people=", ".join(here) or call.words.nobody,
        )

    async def _why(self, call: GivenCommand) -> str:
        route = await self._residence.router.known(call.envelope)
        return await self._notes.why(None if route is None else route.session, call.words)

    async def _budget(self, call: GivenCommand) -> str:
        return await self._residence.budgets.shown(call.room.chat, call.words)

    async def _audit(self, call: GivenCommand) -> str:
        residence = self._residence
        rows, cursor = list[AuditRow](), None
        for _ in range(_PAGES):
            page = await residence.parts.journal.audit(residence.tenant, _OF_ROOMS, _LOOKED_THROUGH, cursor)
            rows += [row for row in page.rows if _is_of(row, call.room)]
            cursor = page.cursor
            if cursor is None or len(rows) >= _AUDIT_ROWS:
                break
        lines = [
            f"{row.at:%m-%d %H:%M} {display_name(str(row.details.get('sender_name') or row.actor))}: {row.action}"
            + ("" if row.outcome == "ok" else f" ({row.outcome})")
            for row in rows[:_AUDIT_ROWS]
        ]
        return call.words.audit.format(lines="\n".join(lines)) if lines else call.words.audit_nothing

    # ---- what is remembered

    async def _remember(self, call: GivenCommand) -> str:
        """With nothing to remember, it is what was said until now."""
        route = await self._residence.router.known(call.envelope)
        learned = await self._notes.learn(None if route is None else route.session, call.words)
        if not call.argument:
            return learned or call.words.nothing_given.format(usage=self._usage(call))
        return await self._notes.remember(call.who, call.room, call.argument, call.name, call.words)

    async def _correct(self, call: GivenCommand) -> str:
        if not self._residence.profile.settings.is_allowed(call.envelope.sender):
            return call.words.not_allowed
        if not call.argument:
            return call.words.nothing_given.format(usage=self._usage(call))
        return await self._notes.correct(call.who, call.room, call.argument, call.name, call.words)

    async def _recall(self, call: GivenCommand) -> str:
        return await self._notes.recall(call.who, call.room, call.words)

    async def _forget(self, call: GivenCommand) -> str:
        if not self._residence.profile.settings.is_allowed(call.envelope.sender):
            return call.words.not_allowed
        if not call.argument:
            return call.words.nothing_given.format(usage=self._usage(call))
        return await self._notes.forget(call.who, call.room, call.argument, call.words)

    def _usage(self, call: GivenCommand) -> str:
        return USAGE[call.command.name][1 if call.words is CHINESE else 0]

    # ---- what changes something

    def _may(self, call: GivenCommand) -> bool:
        settings = self._residence.profile.settings
        return settings.is_allowed(call.envelope.sender) or not is_shared(settings.route, call.envelope)

    async def _vote(self, call: GivenCommand) -> str | None:
        return await self._residence.votes.by_command(
            call.who, call.room.chat, call.command.name, call.argument, call.words
        )

    async def _clear(self, call: GivenCommand) -> str:
        residence = self._residence
        if is_shared(residence.profile.settings.route, call.envelope):
            if not self._may(call):
                return call.words.not_allowed
            if call.argument.lower() not in CONFIRM:
                return call.words.confirm_clear
        before = await residence.router.known(call.envelope)
        await residence.router.begin(call.envelope, call.room)
        if before is not None:
            # Stopped at once. What it leaves in the room's memory may take longer than anybody wants to wait.
            await residence.parts.agent.leave(residence.tenant, before.session, seconds=_CLEAR_SECONDS)
        return call.words.cleared

    async def _cancel(self, call: GivenCommand) -> str | None:
        residence = self._residence
        if not self._may(call):
            return call.words.not_allowed
        route = await residence.router.known(call.envelope)
        is_cancelled = route is not None and await residence.parts.agent.cancel(residence.owner, route.session)
        # What was cut off says so itself.
        return None if is_cancelled else call.words.nothing_runs

    async def _pause(self, call: GivenCommand) -> str:
        residence, pauses = self._residence, call.command.name == "pause"
        if not self._may(call):
            return call.words.not_allowed
        row = residence.audit_row(f"room.{call.command.name}", call.room.chat, who=call.who)
        schedules, target = residence.parts.schedules, room_target(call.room.channel, call.room.chat)
        await (schedules.pause if pauses else schedules.resume)(residence.owner, target)
        await residence.parts.store.put_room(residence.tenant, replace(call.room, paused=pauses), Entries(audit=(row,)))
        text = call.words.paused_now if pauses else call.words.resumed_now
        return text.format(name=call.name)


def _is_of(row: AuditRow, room: ChatRoom) -> bool:
    """Rows of permissions are of the session, and name the room."""
    return row.scope == room.scope or row.details.get("room") == str(room.scope)
