"""
What a channel says by itself, in its rooms.

A scheduled turn is played in the room's session, after those that wait there. Its reply is posted when it is whole, under a key that is the same for
every try, so that a daemon that takes over from one that was killed posts it once where the platform has keys. Where it has none, that a reply is
about to be posted is kept before, and it is posted at most once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from commonplace.channels.follower import RoomDelivery, deliver, whole_reply
from commonplace.channels.parts import Target
from commonplace.channels.phrases import CHINESE, ENGLISH, is_chinese
from commonplace.channels.speakers import in_session, member_speaker
from commonplace.errors import Conflict, SpendingCapReached
from commonplace.ports.channel import Outgoing
from commonplace.ports.schedule_target import Delivered, Delivery, ScheduleTarget
from commonplace.text.scheduled_prompt import unmarked
from commonplace.values.channel import ChatRoom, PlatformError
from commonplace.values.envelope import Envelope
from commonplace.values.moment import new_id
from commonplace.values.platform import Bilingual
from commonplace.values.principal import CHANNEL_SUBJECT, Principal

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.residence import Residence

LOGGER: Final = logging.getLogger("commonplace")
_TRIES: Final = 2
"""How often a reply is sent again that the platform did not take, before the turn counts as failed."""
_LONGEST_WAIT: Final = 60.0
"""Seconds. What the platform takes later than that is left to the next try of the schedule."""
_UNTOLD: Final = "The turn was played, but the platform did not take its reply."
_DOUBT: Final = (
    "The platform did not say whether it took the reply, which is not posted a second time. Look into the room."
)

_Ending: TypeAlias = Literal["posted", "untold", "in_doubt"]


class ScheduledTurns:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence
        self._replies: dict[str, asyncio.Future[_Ending]] = {}
        """Whether the reply of a run is in the room, as soon as that is known."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """The runs whose reply is not in the room yet."""
        return tuple(self._replies)

    async def deliver(self, room: ChatRoom, delivery: Delivery, turns: ScheduleTarget) -> Delivered:
        """As `ScheduleTarget.deliver`."""
        residence = self._residence
        if (wait := await self._seconds_until_paid(room, delivery.who, delivery.runs[0])) is not None:
            return _declined(wait)
        envelope = self._envelope(room, delivery)
        route = await residence.router.resolve(envelope, room)
        await residence.place(room, route.session)
        who = self._speaker(room, delivery.who)
        targets = [self._target(envelope, delivery, run, who) for run in delivery.runs]
        follower = await residence.follower(route.session)
        for target in targets:
            follower.expect(target)
            # There is one already if a lease ended early: then two wait for the same turn.
            self._replies.setdefault(target.run, asyncio.get_running_loop().create_future())
        replies = dict(self._replies)
        try:
            await residence.note_scheduled(room, route, who, delivery)
            outcome = await turns.deliver(
                replace(delivery, who=in_session(who, route.session), target=f"session:{route.session}")
            )
            posted = await self._posted(outcome, targets, replies, follower.task)
        finally:
            for target in targets:
                follower.forget(target.run)
                self._replies.pop(target.run, None)
        if outcome.code == SpendingCapReached.code and outcome.retry_after is None:
            return _declined(await self._window_left(room))
        if posted == "untold":
            return replace(outcome, ending="failed", failed=_UNTOLD, code=PlatformError.code)
        return outcome if posted == "posted" else replace(outcome, failed=_DOUBT)

    async def announce(self, room: ChatRoom, text: Bilingual) -> None:
        """Raises PlatformError."""
        residence = self._residence
        language = residence.profile.settings.language
        chinese = is_chinese(text.en) if language is None else language == "zh"
        key = new_id(residence.parts.clock.now())
        await residence.platform.send(
            Outgoing(chat=room.chat, text=text.zh if chinese else text.en, key=key, notice=True)
        )

    # ---- what becomes of a reply

    async def telling(self, target: Target) -> None:
        """Without keys, what was begun to be told is not told again: that is kept before."""
        residence = self._residence
        if not residence.platform.limits.send_keys:
            await residence.parts.store.put_platform_value(
                residence.tenant, residence.profile.name, _mark_name(target), target.key
            )

    def ended(self, target: Target) -> None:
        self._tell(target, "posted")

    async def undelivered(self, target: Target, deliveries: Sequence[RoomDelivery]) -> None:
        """The platform did not take it. With keys, and if that is certain, it may be sent again; else it may be in the room already."""
        residence = self._residence
        has_keys = residence.platform.limits.send_keys
        ending: _Ending = "untold"
        for pause in residence.parts.pauses[:_TRIES]:
            wait = max(pause, deliveries[0].wait)
            if wait > _LONGEST_WAIT or not (has_keys or deliveries[0].untaken):
                break
            await asyncio.sleep(wait)
            if not (deliveries := await deliver(residence.platform, deliveries)):
                ending = "posted"
                break
        if deliveries and not (has_keys or deliveries[0].untaken):
            ending = self._in_doubt(target)
        self._tell(target, ending)

    @staticmethod
    def _in_doubt(target: Target) -> _Ending:
        """Nobody knows whether it is in the room, and without a key it is not posted a second time."""
        LOGGER.warning("room", extra={"told": {"outcome": "in_doubt", "chat": target.chat, "run": target.run}})
        return "in_doubt"

    def _tell(self, target: Target, ending: _Ending) -> None:
        future = self._replies.get(target.run)
        if future is not None and not future.done():
            future.set_result(ending)

    async def _posted(
        self,
        outcome: Delivered,
        targets: Sequence[Target],
        replies: Mapping[str, asyncio.Future[_Ending]],
        follower: asyncio.Task[None],
    ) -> _Ending:
        """Raises Conflict: nobody tells the room any more."""
        if outcome.was_over:
            return await self._post_late(outcome, next(target for target in targets if target.run == outcome.run))
        reply = replies[outcome.run or ""]
        await asyncio.wait({reply, follower}, return_when=asyncio.FIRST_COMPLETED)
        if not reply.done():
            raise Conflict("The channel was stopped before the reply of a scheduled turn was posted.")
        return reply.result()

    async def _post_late(self, outcome: Delivered, target: Target) -> _Ending:
        """A daemon played the turn, and stopped before its job was over: whether it had told the room is known by the key, or by what it kept."""
        residence = self._residence
        if outcome.ending != "answered":
            return "posted"
        if not residence.platform.limits.send_keys:
            name = _mark_name(target)
            values = await residence.parts.store.platform_values(residence.tenant, residence.profile.name, name)
            if values.get(name) == target.key:
                return self._in_doubt(target)
            await self.telling(target)
        reply = f"{target.heading}\n{outcome.reply}"
        rest = await deliver(residence.platform, whole_reply(residence.platform, target, reply))
        if not rest:
            return "posted"
        return "untold" if residence.platform.limits.send_keys or rest[0].untaken else self._in_doubt(target)

    # ---- who, where, and for how much

    def _speaker(self, room: ChatRoom, who: Principal) -> Principal:
        """Whoever set it, with what they may see in this room as it is set now."""
        return replace(member_speaker(self._residence.profile, room, who), door=who.door, client=who.client)

    def _envelope(self, room: ChatRoom, delivery: Delivery) -> Envelope:
        """What the session is found by: as if whoever set it spoke in the room."""
        own = f"{CHANNEL_SUBJECT}{room.channel}/"
        return Envelope(
            id=delivery.runs[0],
            channel=room.channel,
            chat=room.chat,
            sender=delivery.who.subject.removeprefix(own),
            sender_name=delivery.who.actor,
            text=unmarked(delivery.text),
            at=self._residence.parts.clock.now(),
            is_group=room.is_group,
        )

    def _target(self, envelope: Envelope, delivery: Delivery, run: str, who: Principal) -> Target:
        language = self._residence.profile.settings.language
        chinese = is_chinese(envelope.text) if language is None else language == "zh"
        heading = delivery.text.partition("\n")[0]
        if run != delivery.runs[0] and not self._residence.platform.limits.send_keys:
            heading += f"\n{(CHINESE if chinese else ENGLISH).played_again}"
        return Target(
            run=run,
            chat=envelope.chat,
            message="",
            speaker=who.subject,
            sender=envelope.sender,
            name=envelope.sender_name,
            chinese=chinese,
            schedule=delivery.schedule,
            heading=heading,
            key=delivery.runs[0],
        )

    async def _seconds_until_paid(self, room: ChatRoom, who: Principal, run: str) -> int | None:
        """How long the room has nothing left; None: it has. A turn that was not begun is put off."""
        budgets = self._residence.budgets
        if await budgets.window_end(room) is None:
            return None
        await budgets.note_declined(room, who, who.subject, run)
        return await self._window_left(room)

    async def _window_left(self, room: ChatRoom) -> int:
        spending = await self._residence.budgets.of_room(room.chat)
        if spending is None:
            return _AN_HOUR
        now = self._residence.parts.clock.now()
        return max(int((spending.until - now).total_seconds()) + 1, 1)


_AN_HOUR: Final = 3_600


def _declined(wait: int) -> Delivered:
    return Delivered(
        run=None,
        ending="failed",
        failed="What this room may spend is used up for now.",
        code=SpendingCapReached.code,
        retry_after=wait,
    )


def _mark_name(target: Target) -> str:
    return f"scheduled:{target.schedule}"
