"""
`/schedule`: what a room is to do by itself. A sentence or the fields of cron are shown in words with the next three times, and are set when whoever
wrote them confirms; where there are buttons and where there are none that is one message.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from commonplace.channels.phrases import CHINESE as CHINESE_ROOM
from commonplace.channels.schedule_phrases import (
    CHINESE,
    ENGLISH,
    VERBS,
    SchedulePhrases,
    ScheduleVerb,
    state_text,
    times_text,
)
from commonplace.values.schedule import ScheduleFields, ScheduleProposal, ScheduleView, room_target

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.commands import GivenCommand
    from commonplace.channels.residence import Residence

MOST_PROPOSED: Final = 512
PATIENCE: Final = timedelta(minutes=15)
_LISTED: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class _Proposal:
    """What somebody may confirm until it is too old."""

    proposal: ScheduleProposal
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    call: GivenCommand
    phrases: SchedulePhrases
    target: str
    rest: str

    @property
    def chinese(self) -> bool:
        return self.phrases is CHINESE

    def words(self, view: ScheduleView | ScheduleProposal) -> str:
        return view.words_zh if self.chinese else view.words


_Do: TypeAlias = Callable[[_Request], Awaitable[str]]
_Change: TypeAlias = Callable[[_Request, int, ScheduleView], Awaitable[str]]


class ScheduleCommands:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence
        self._proposals: OrderedDict[tuple[str, str], _Proposal] = OrderedDict()
        self._do: dict[ScheduleVerb, _Do] = {"add": self._propose, "confirm": self._confirm, "list": self._list}
        self._change: dict[ScheduleVerb, _Change] = {
            "inspect": self._inspect,
            "run": self._run,
            "disable": self._disable,
            "enable": self._enable,
            "cancel": self._cancel,
        }

    async def do(self, call: GivenCommand) -> str:
        """What the room is told. Raises what `Schedules` raises."""
        phrases = CHINESE if call.words is CHINESE_ROOM else ENGLISH
        target = room_target(call.room.channel, call.room.chat)
        word, _, rest = call.argument.partition(" ")
        verb = VERBS.get(word.lower()) if call.argument else "list"
        if verb is None:
            # What is no verb of ours says when.
            verb, rest = "add", call.argument
        request = _Request(call=call, phrases=phrases, target=target, rest=rest.strip())
        if verb in self._do:
            return await self._do[verb](request)
        return await self._changed(request, self._change[verb], looks_only=verb == "inspect")

    # ---- set one

    async def _propose(self, request: _Request) -> str:
        if not request.rest:
            return request.phrases.usage
        schedules, who = self._residence.parts.schedules, request.call.who
        proposal = await schedules.propose(who, _sentence(request.rest), target=request.target)
        if not proposal.prompt.strip():
            return request.phrases.nothing_to_do
        now = self._residence.parts.clock.now()
        key = request.call.envelope.chat, request.call.envelope.sender
        self._proposals[key] = _Proposal(proposal=proposal, until=now + PATIENCE)
        self._proposals.move_to_end(key)
        while len(self._proposals) > MOST_PROPOSED:
            self._proposals.popitem(last=False)
        return request.phrases.proposal.format(
            words=request.words(proposal),
            zone=proposal.zone,
            prompt=proposal.prompt,
            times=times_text(proposal.next_times, proposal.zone, chinese=request.chinese),
            name=request.call.name,
        )

    async def _confirm(self, request: _Request) -> str:
        key = request.call.envelope.chat, request.call.envelope.sender
        entry = self._proposals.get(key)
        if entry is None or entry.until < self._residence.parts.clock.now():
            return request.phrases.nothing_proposed.format(name=request.call.name)
        proposal = entry.proposal
        fields: ScheduleFields = {
            "cron": proposal.cron,
            "at": proposal.at,
            "prompt": proposal.prompt,
            "zone": proposal.zone,
        }
        view = await self._residence.parts.schedules.add(request.call.who, request.target, fields)
        # Only what is kept is no proposal any more: if the store failed, it can be confirmed again.
        self._proposals.pop(key, None)
        return request.phrases.added.format(
            words=request.words(view), times=times_text(view.next_times, view.zone, chinese=request.chinese)
        )

    # ---- what there is

    async def _views(self, request: _Request) -> list[ScheduleView]:
        """Of the room, the oldest first, so that a number stays the same while others are added."""
        # What a room does by itself is everybody's to see who is in it.
        page = await self._residence.parts.schedules.list(self._residence.owner, target=request.target, limit=_LISTED)
        return [*reversed(page.schedules)]

    async def _list(self, request: _Request) -> str:
        views = await self._views(request)
        if not views:
            return request.phrases.none
        return request.phrases.entries.format(lines=self._lines(request, views))

    def _lines(self, request: _Request, views: list[ScheduleView]) -> str:
        return "\n".join(
            request.phrases.entry.format(
                number=number,
                label=view.label,
                words=request.words(view),
                by=view.created_by_name,
                state=state_text(request.phrases, view, chinese=request.chinese),
            )
            for number, view in enumerate(views, 1)
        )

    # ---- change one

    async def _changed(self, request: _Request, change: _Change, *, looks_only: bool) -> str:
        views = await self._views(request)
        if not views:
            return request.phrases.none
        numbers = [number for number, view in enumerate(views, 1) if _is_meant(number, view, request.rest, len(views))]
        if len(numbers) != 1:
            return request.phrases.which_one.format(lines=self._lines(request, views))
        view = views[numbers[0] - 1]
        if not looks_only and not await self._may(request, view):
            return request.call.words.not_allowed
        return await change(request, numbers[0], view)

    async def _may(self, request: _Request, view: ScheduleView) -> bool:
        """Who set it, those who are allowed to change the room for everybody, and admins."""
        who = request.call.who
        return view.created_by == who.subject or await self._residence.parts.schedules.owns(who, request.target)

    async def _inspect(self, request: _Request, number: int, view: ScheduleView) -> str:
        del number
        last = ""
        if view.last is not None:
            last = request.phrases.last.format(
                status=view.last.status,
                at=times_text([view.last.fired_at], view.zone, chinese=request.chinese),
                told=view.last.error or view.last.preview or "",
            )
        return request.phrases.detail.format(
            label=view.label,
            by=view.created_by_name,
            words=request.words(view),
            zone=view.zone,
            state=state_text(request.phrases, view, chinese=request.chinese),
            last=last,
            prompt=view.prompt,
        ).replace("\n\n", "\n")

    async def _run(self, request: _Request, number: int, view: ScheduleView) -> str:
        del number
        await self._residence.parts.schedules.run(request.call.who, view.id)
        return request.phrases.begun

    async def _disable(self, request: _Request, number: int, view: ScheduleView) -> str:
        await self._residence.parts.schedules.disable(request.call.who, view.id)
        return request.phrases.disabled.format(label=view.label, number=number)

    async def _enable(self, request: _Request, number: int, view: ScheduleView) -> str:
        del number
        view = await self._residence.parts.schedules.enable(request.call.who, view.id)
        return request.phrases.enabled.format(
            label=view.label, times=times_text(view.next_times, view.zone, chinese=request.chinese)
        )

    async def _cancel(self, request: _Request, number: int, view: ScheduleView) -> str:
        del number
        await self._residence.parts.schedules.cancel(request.call.who, view.id)
        return request.phrases.cancelled.format(label=view.label)


def _is_meant(number: int, view: ScheduleView, text: str, count: int) -> bool:
    """By its number, its label, or the end of its id. The only one needs no name."""
    if not text:
        return count == 1
    return text.lstrip("#") == str(number) or text == view.label or (len(text) >= 4 and view.id.endswith(text.lower()))


def _sentence(text: str) -> str:
    """As people write cron elsewhere, too: `"0 9 * * 1-5" post it`."""
    first, rest = text[:1], text[1:]
    if first in "\"'“" and (end := next((at for at, sign in enumerate(rest) if sign in "\"'”"), -1)) >= 0:
        return f"{rest[:end]} {rest[end + 1 :].strip()}".strip()
    return text
