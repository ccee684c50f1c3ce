"""
A platform of our own: rooms whose messages are in our store, told to whoever listens in this process.

The rooms of the console and those of the terminal are both of this kind; they differ in who may say that they are somebody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Final

from commonplace.channels.inbox import PROGRESS, SESSION, TELLING
from commonplace.errors import NotFound
from commonplace.events.ring import Ring
from commonplace.ports.channel import CardOutcome, Channel, ChannelLimits, Inbox, Outgoing, PermissionCard
from commonplace.ports.channel_store import ChannelStore
from commonplace.ports.clock import Clock
from commonplace.values.channel import ChannelStopped, PlatformError, RoomMessage, RoomMessageDraft
from commonplace.values.envelope import ChatAttachment, Envelope
from commonplace.values.json import Json
from commonplace.values.moment import utc
from commonplace.values.platform import ConnectionEntry, ConnectionState
from commonplace.values.room_event import (
    MessageAdded,
    MessageChanged,
    MessageMarked,
    PresenceChanged,
    RoomEvent,
    TypingChanged,
)

_LIMITS: Final = ChannelLimits(characters=100_000, edits=True, edit_seconds=0.1, buttons=True, send_keys=True)
_RING: Final = 2_000


class LocalChannel(Channel):
    def __init__(self, tenant: str, name: str, store: ChannelStore, clock: Clock) -> None:
        self._tenant = tenant
        self._name = name
        self._store = store
        self._clock = clock
        self._inbox: Inbox | None = None
        self._since = utc(clock.now())
        self._rings: dict[str, Ring[RoomEvent]] = {}
        self._present: dict[str, Counter[str]] = {}

    @property
    def limits(self) -> ChannelLimits:
        return _LIMITS

    @property
    def can_cold_send(self) -> bool:
        return True

    @property
    def connection(self) -> ConnectionState:
        return ConnectionState(status="stopped" if self._inbox is None else "connected", since=self._since)

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        """Nothing happens to it: its rooms are in our own store."""
        return ()

    @asynccontextmanager
    async def connect(self, inbox: Inbox) -> AsyncGenerator[None]:
        self._inbox = inbox
        try:
            yield
        finally:
            self._inbox = None
            for ring in self._rings.values():
                ring.close()
            self._rings.clear()

    # ---- people

    async def post(self, envelope: Envelope) -> RoomMessage:
        """
        What somebody says in a room; it is row when this returns.

        Raises:
            ChannelStopped: nobody is there to take it.
        """
        if self._inbox is None:
            raise ChannelStopped
        message = await self._inbox.receive(envelope)
        if message is not None:
            message = shown(message)
            self.ring(envelope.chat).publish(MessageAdded(message=message))
            return message
        row = await self._store.message(self._tenant, self._name, envelope.chat, envelope.id)
        if row is None:
            raise NotFound("The room is gone.")
        return shown(row)

    def ring(self, chat: str) -> Ring[RoomEvent]:
        """Where what happens in a room is told."""
        if chat not in self._rings or self._rings[chat].closed:
            self._rings[chat] = Ring(self._clock, size=_RING)
        return self._rings[chat]

    def close_room(self, chat: str) -> None:
        ring = self._rings.pop(chat, None)
        if ring is not None:
            ring.close()

    def doubt(self, chat: str) -> None:
        """Look again who may listen."""
        if (ring := self._rings.get(chat)) is not None:
            ring.doubt()

    def people(self, chat: str) -> tuple[str, ...]:
        return tuple(sorted(self._present.get(chat, ())))

    def arrive(self, chat: str, name: str) -> None:
        present = self._present.setdefault(chat, Counter())
        present[name] += 1
        self.ring(chat).publish(PresenceChanged(people=self.people(chat)))

    def leave(self, chat: str, name: str) -> None:
        present = self._present.setdefault(chat, Counter())
        present[name] -= 1
        if present[name] <= 0:
            del present[name]
            if chat in self._rings:
                self._rings[chat].publish(PresenceChanged(people=self.people(chat)))
        if not present:
            del self._present[chat]

    def person_types(self, chat: str, sender: str, name: str, active: bool) -> None:
        self.ring(chat).publish(TypingChanged(active=active, sender=sender, sender_name=name))

    # ---- the agent

    async def send(self, message: Outgoing) -> str:
        data: dict[str, Json] = {}
        if message.reply_to is not None:
            data["reply_to"] = message.reply_to
        if message.run is not None:
            data["run"] = message.run
        if message.card is not None:
            data["card"] = card_document(message.card)
        draft = RoomMessageDraft(
            channel=self._name,
            chat=message.chat,
            id=message.key,
            at=utc(self._clock.now()),
            author="notice" if message.notice else "agent",
            text=message.text,
            data=data,
        )
        row = await self._store.keep_message(self._tenant, draft)
        if row is not None:
            self.ring(message.chat).publish(MessageAdded(message=row))
        else:
            # Sent a second time, after a restart: the first may have been cut off in the middle.
            await self.edit(message.chat, message.key, message.text, final=True)
        return message.key

    def is_begun(self, chat: str, key: str) -> bool:
        """A message of ours is known by its key, however often it is sent."""
        del chat, key
        return False

    async def edit(self, chat: str, message: str, text: str, *, final: bool = False) -> None:
        if final:
            await self._store.change_message(self._tenant, self._name, chat, message, text=text)
        self.ring(chat).publish(MessageChanged(id=message, text=text, final=final))

    async def settle_card(self, chat: str, message: str, outcome: CardOutcome) -> None:
        row = await self._store.message(self._tenant, self._name, chat, message)
        data: dict[str, Json] = {**(row.data if row else {}), "outcome": asdict(outcome)}
        await self._store.change_message(self._tenant, self._name, chat, message, data=data)
        self.ring(chat).publish(MessageChanged(id=message, data=data))

    async def react(self, chat: str, message: str, mark: str) -> None:
        self.ring(chat).publish(MessageMarked(id=message, mark=mark))

    async def show_typing(self, chat: str, active: bool) -> None:
        self.ring(chat).publish(TypingChanged(active=active))

    async def download(self, attachment: ChatAttachment) -> bytes:
        """Nothing is to be fetched: its files were uploaded before the message."""
        raise PlatformError(f"{attachment.name!r:.80} has no content here.")


def shown(message: RoomMessage) -> RoomMessage:
    """A message as its room sees it: how it came is for us."""
    hidden = ("reach", "group", "for_us", "replies", SESSION, PROGRESS, TELLING)
    return replace(message, data={name: value for name, value in message.data.items() if name not in hidden})


def card_document(card: PermissionCard) -> dict[str, Json]:
    request = card.request
    return {
        "request": request.id,
        "tool": request.tool,
        "kind": request.kind,
        "title": request.title,
        "diff": request.diff,
        "asker": card.asker,
        "options": [asdict(option) for option in card.options],
    }
