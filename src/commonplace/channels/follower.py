"""
Tells a room what happens in the turns of its session: who is answered, in what pieces, and how it ended.

What is told of a turn goes to the message that began it. The reply has a key of its own, so that one that is sent twice is one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from commonplace.channels.blocks import IDLE_SECONDS, first_block, pieces
from commonplace.channels.parts import Target
from commonplace.channels.phrases import CHINESE, ENGLISH, RoomPhrases
from commonplace.channels.prefix import display_name
from commonplace.errors import CommonplaceError, SpendingCapReached
from commonplace.events.ring import Ring, RingEvent
from commonplace.ports.channel import Channel, Outgoing
from commonplace.values.channel import PlatformError
from commonplace.values.envelope import Envelope
from commonplace.values.turn_event import (
    MemoryRecalled,
    PermissionAnswered,
    PermissionAsked,
    PromptWithdrawn,
    RecalledMemory,
    TextAdded,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    TurnStarted,
)

LOGGER: Final = logging.getLogger("commonplace")
SEEN: Final = "👀"
_CUT: Final = " …"
_CLOSE_SECONDS: Final = 5.0
_PAGE: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomDelivery:
    """
    A message that is to be in the room. `is_edit`: its beginning is there already. `untaken`: the platform certainly did not take it, and takes nothing for `wait`
    seconds.
    """

    message: Outgoing
    is_edit: bool = False
    untaken: bool = False
    wait: float = 0.0


async def deliver(platform: Channel, deliveries: Sequence[RoomDelivery]) -> Sequence[RoomDelivery]:
    """Tell the room; those that the platform did not take."""
    for place, delivery in enumerate(deliveries):
        message = delivery.message
        try:
            if delivery.is_edit:
                await platform.edit(message.chat, message.key, message.text, final=True)
            else:
                await platform.send(message)
        except CommonplaceError as error:
            LOGGER.warning("room", extra={"told": {"code": error.code, "message": error.message}})
            return (_undelivered(delivery, error), *deliveries[place + 1 :])
    return ()


def _undelivered(delivery: RoomDelivery, error: CommonplaceError) -> RoomDelivery:
    if not isinstance(error, PlatformError):
        return replace(delivery, untaken=False, wait=0.0)
    return replace(delivery, untaken=error.untaken, wait=error.retry_after or 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class FollowerParts:
    """
    `telling` is called before the end of a turn is told, `undelivered` with what the platform did not take of it, `ended` when nothing is left to
    do about the turn; `ask` and `answered` are about permissions.
    """

    platform: Channel
    blocks: bool
    telling: Callable[[Target], Awaitable[None]]
    ended: Callable[[Target], Awaitable[None]]
    undelivered: Callable[[Target, Sequence[RoomDelivery]], None]
    ask: Callable[[Target, PermissionAsked], Awaitable[None]]
    answered: Callable[[PermissionAnswered], Awaitable[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryProgress:
    """How much of a turn that is played is in the room: characters of its text, pieces, and the questions of its tools."""

    characters: int = 0
    blocks: int = 0
    questions: tuple[str, ...] = ()


class RoomFollower:
    """Follows one ring from behind the event `after` (None: the last one), until that is closed. Turns that nobody `expects` are not told."""

    def __init__(self, parts: FollowerParts, ring: Ring[TurnEvent], *, after: int | None = None) -> None:
        self._parts = parts
        self.ring = ring
        self._targets: dict[str, Target] = {}
        self._current: Target | None = None
        self._text = ""
        self._sent = 0
        self._blocks = 0
        self._edited_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._flush: asyncio.Task[None] | None = None
        self.memories: tuple[RecalledMemory, ...] = ()
        """What the turn that is played, or was played last, was told."""
        self._hearing = asyncio.Lock()
        """Held while the room is told of an event."""
        self.task = asyncio.create_task(self._follow(ring.position if after is None else after))

    def expect(self, target: Target) -> None:
        self._targets[target.run] = target

    def forget(self, run: str) -> None:
        self._targets.pop(run, None)

    def is_answering(self, key: str) -> Target | None:
        """The message whose answer has this key, if it is answered now."""
        target = self._current
        return target if target is not None and key == _reply_key(target) else None

    def waiting_of(self, sender: str) -> int:
        """How many turns of a sender are played or wait."""
        return sum(target.sender == sender and target.schedule is None for target in self._targets.values())

    @property
    def is_alive(self) -> bool:
        return not self.task.done() and not self.ring.closed

    @property
    def is_busy(self) -> bool:
        """Whether a turn that it is to tell of is played, or waits."""
        return bool(self._targets)

    @property
    def current(self) -> Target | None:
        """The message that is answered now."""
        return self._current

    @property
    def progress(self) -> DeliveryProgress:
        """Of the turn that is played."""
        return DeliveryProgress(characters=self._sent, blocks=self._blocks)

    def resume(self, turn: PlayedTurn, target: Target, progress: DeliveryProgress) -> None:
        """Go on with a turn that is played already, and of which somebody else told the room so much."""
        self._current, self._text, self.memories = target, turn.text, turn.memories
        if turn.is_whole:
            self._sent, self._blocks = progress.characters, progress.blocks

    async def show_current(self) -> None:
        """That somebody works on the turn that was resumed."""
        if self._current is not None:
            await self._show_begun(self._current)

    async def aclose(self) -> None:
        # What is told now is told to its end: nobody could say of half of it whether it is in the room.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._hearing.acquire()
        self.task.cancel()
        await asyncio.wait({self.task})
        self._stop_timer()
        if self._flush is not None:
            await asyncio.wait({self._flush}, timeout=_CLOSE_SECONDS)

    async def _follow(self, after: int) -> None:
        async for entry in self.ring.follow(after):
            if not isinstance(entry, RingEvent):
                continue
            try:
                async with self._hearing:
                    await self._hear(entry.event)
            except CommonplaceError as error:
                # The platform did not take it; the turn goes on, and its reply is tried again by itself.
                LOGGER.warning("room", extra={"told": {"code": error.code, "message": error.message}})

    async def _hear(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted(run=run):
                await self._begin(self._targets.get(run))
            case TextAdded(text=text):
                await self._add(text)
            case MemoryRecalled(memories=memories):
                self.memories = memories
            case PermissionAsked() if self._current is not None:
                await self._parts.ask(self._current, event)
            case PermissionAnswered():
                await self._parts.answered(event)
            case PromptWithdrawn(run=run) | TurnEnded(run=run) | TurnFailed(run=run):
                await self._end(run, event)
            case _:
                pass

    async def _begin(self, target: Target | None) -> None:
        self._current, self._text, self._sent, self._blocks = target, "", 0, 0
        if target is not None:
            await self._show_begun(target)

    async def _show_begun(self, target: Target) -> None:
        await self._parts.platform.show_typing(target.chat, True)
        await self._mark(target, SEEN)

    async def _mark(self, target: Target, mark: str) -> None:
        if target.message:
            await self._parts.platform.react(target.chat, target.message, mark)

    # ---- while it is made

    async def _add(self, text: str) -> None:
        target, platform = self._current, self._parts.platform
        if target is None:
            return
        self._text += text
        if target.schedule is not None:
            # Nobody waits for it, and what was begun to be posted could not be taken back if it is played again.
            return
        if platform.limits.edits:
            await self._edit(target)
        elif self._parts.blocks:
            while block := first_block(self._text[self._sent :]):
                await self._send_block(target, block)
            self._start_timer(target)

    async def _edit(self, target: Target) -> None:
        """The reply so far: sent once, then edited, not too often."""
        platform, now = self._parts.platform, asyncio.get_running_loop().time()
        preview = self._text[: platform.limits.characters - len(_CUT)] + _CUT
        if not self._sent:
            self._sent, self._edited_at = len(preview), now
            await platform.send(replace(_reply(target, preview), partial=True))
        elif now - self._edited_at >= platform.limits.edit_seconds:
            self._edited_at = now
            await platform.edit(target.chat, _reply_key(target), preview)

    async def _send_block(self, target: Target, block: str) -> None:
        self._sent += len(block)
        self._blocks += 1
        for piece in pieces(block.strip(), self._parts.platform.limits.characters):
            await self._parts.platform.send(_reply(target, piece, f"block-{self._blocks}"))

    def _start_timer(self, target: Target) -> None:
        """Nothing more for a while: what there is is told."""
        self._stop_timer()
        if self._text[self._sent :].strip():
            self._timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._idle, target)

    def _idle(self, target: Target) -> None:
        self._flush = asyncio.create_task(self._send_block(target, self._text[self._sent :]))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- its end

    async def _end(self, run: str, event: TurnEvent) -> None:
        self._stop_timer()
        if self._flush is not None:
            await asyncio.wait({self._flush})
            self._flush = None
        target = self._targets.pop(run, None)
        if target is None:
            return
        is_current = self._current is target
        if isinstance(event, TurnEnded | TurnFailed):
            target = replace(target, usage=event.usage)
        await self._parts.telling(target)
        rest = await deliver(self._parts.platform, self._last_words(target, event))
        try:
            if is_current:
                self._current = None
                await self._parts.platform.show_typing(target.chat, False)
                await self._mark(target, "")
        finally:
            if rest:
                self._parts.undelivered(target, rest)
            else:
                await self._parts.ended(target)

    def _last_words(self, target: Target, event: TurnEvent) -> list[RoomDelivery]:
        words = CHINESE if target.chinese else ENGLISH
        match event:
            case TurnEnded(stop_reason="cancelled"):
                return self._reply(target, f"{self._text}\n\n{words.cancelled}".strip())
            case TurnEnded(reply=reply):
                return self._reply(target, reply)
            case TurnFailed() if target.schedule is None:
                return self._reply(target, failure_text(words, target, event))
            case PromptWithdrawn(reason="session_closed") if target.schedule is None:
                text = words.not_begun.format(name=display_name(target.name))
                return [RoomDelivery(message=replace(_reply(target, text), notice=True))]
            case _:
                return []

    def _reply(self, target: Target, reply: str) -> list[RoomDelivery]:
        platform = self._parts.platform
        if target.schedule is not None:
            return whole_reply(platform, target, f"{target.heading}\n{reply}")
        if self._blocks:
            # Most of it is told; the rest is what the blocks have not had.
            reply = self._text[self._sent :]
        is_begun = platform.limits.edits and self._sent > 0
        return whole_reply(platform, target, reply, is_begun=is_begun)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedTurn:
    """
    What a ring has of a turn that is played: its text and what it was told to begin with, up to the event `last`. Not `is_whole`: its beginning has
    left the ring.
    """

    last: int
    text: str = ""
    memories: tuple[RecalledMemory, ...] = ()
    is_whole: bool = True


def played_turn(ring: Ring[TurnEvent], run: str) -> PlayedTurn | None:
    """The turn as far as it is played, without its end. None: it has not begun."""
    text, memories, is_begun = list[str](), tuple[RecalledMemory, ...](), False
    last = ring.earliest - 1
    while page := ring.after(last, _PAGE):
        for entry in page:
            match entry.event:
                case TurnStarted(run=started):
                    is_begun, text = started == run, []
                case TurnEnded(run=ended) | TurnFailed(run=ended) if is_begun and ended == run:
                    return PlayedTurn(last=entry.id - 1, text="".join(text), memories=memories)
                case TextAdded(text=added):
                    text.append(added)
                case MemoryRecalled(memories=recalled):
                    memories = recalled
                case _:
                    pass
            last = entry.id
    if is_begun:
        return PlayedTurn(last=last, text="".join(text), memories=memories)
    return None if ring.earliest == 1 else PlayedTurn(last=last, is_whole=False)


def whole_reply(platform: Channel, target: Target, reply: str, *, is_begun: bool = False) -> list[RoomDelivery]:
    """A reply in pieces of a size that the platform takes. `is_begun`: the beginning of the first is there."""
    return [
        RoomDelivery(message=_reply(target, piece, str(number + 1) if number else ""), is_edit=is_begun and number == 0)
        for number, piece in enumerate(pieces(reply, platform.limits.characters))
        if piece.strip()
    ]


def notice(envelope: Envelope, text: str, *, key: str) -> Outgoing:
    """What the room says to a message, which is not the agent's word."""
    return Outgoing(chat=envelope.chat, thread=envelope.thread, text=text, key=key, reply_to=envelope.id, notice=True)


def failure_text(words: RoomPhrases, target: Target, failure: TurnFailed) -> str:
    if failure.code == SpendingCapReached.code:
        # Only the day's budget says how long it lasts.
        return words.spent if failure.retry_after is None else words.day_spent
    return words.failed.format(name=display_name(target.name), reason=failure.message)


def _reply_key(target: Target, part: str = "") -> str:
    key = target.key or target.run
    return f"{key}-reply-{part}" if part else f"{key}-reply"


def _reply(target: Target, text: str, part: str = "") -> Outgoing:
    return Outgoing(
        chat=target.chat,
        thread=target.thread,
        text=text,
        key=_reply_key(target, part),
        reply_to=target.message or None,
        run=target.run,
    )
