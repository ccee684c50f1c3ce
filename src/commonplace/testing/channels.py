"""A chat platform for tests: what people write is handed to it, what is messages into its rooms is kept in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from commonplace.channels.attachments import RoomFiles
from commonplace.channels.parts import RoomParts
from commonplace.channels.residence import Residence
from commonplace.ports.channel import CardOutcome, ChannelLimits, Inbox, Outgoing
from commonplace.service.local import LocalMemory
from commonplace.testing.agents import TurnBench
from commonplace.testing.events import until
from commonplace.values.channel import ChannelKind, ChannelProfile, ChannelSettings, PlatformError
from commonplace.values.envelope import ChatAttachment, Envelope
from commonplace.values.platform import ConnectionEntry, ConnectionState
from commonplace.values.scope import DEFAULT_TENANT

OPEN = ChannelSettings(group_policy="open", senders="open")
"""Whoever means the agent is heard."""


@dataclass
class FakeChannel:
    """`messages` are the messages of the agent and the room, as they are now, in their order. `broken`: it does nothing for anybody."""

    limits: ChannelLimits = field(default_factory=ChannelLimits)
    can_cold_send: bool = True
    messages: dict[str, Outgoing] = field(default_factory=dict[str, Outgoing])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    marks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    outcomes: dict[str, CardOutcome] = field(default_factory=dict[str, CardOutcome])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """By their references."""
    downloads: list[str] = field(default_factory=list[str])
    broken: bool = False
    refused: int = 0
    """How often it did not do what was asked."""
    inbox: Inbox | None = None
    ids: Any = field(default_factory=lambda: count(1))

    @property
    def connection(self) -> ConnectionState:
        return ConnectionState(status="connected" if self.inbox else "stopped", since=datetime.fromtimestamp(0, UTC))

    @property
    def log(self) -> tuple[ConnectionEntry, ...]:
        return ()

    def people(self, chat: str) -> tuple[str, ...]:
        del chat
        return ("Ana", "Bob")

    @asynccontextmanager
    async def connect(self, inbox: Inbox) -> AsyncGenerator[None]:
        self.inbox = inbox
        yield

    async def send(self, message: Outgoing) -> str:
        if self.broken:
            self.refused += 1
            raise PlatformError
        self.messages.setdefault(message.key, message)
        self.texts[message.key] = message.text
        return message.key

    def is_begun(self, chat: str, key: str) -> bool:
        del chat, key
        return False

    async def edit(self, chat: str, message: str, text: str, *, final: bool = False) -> None:
        del chat, final
        self.texts[message] = text

    async def settle_card(self, chat: str, message: str, outcome: CardOutcome) -> None:
        del chat
        self.outcomes[message] = outcome

    async def react(self, chat: str, message: str, mark: str) -> None:
        del chat
        self.marks.append((message, mark))

    async def show_typing(self, chat: str, active: bool) -> None:
        del chat, active

    async def download(self, attachment: ChatAttachment) -> bytes:
        self.downloads.append(attachment.reference)
        if attachment.reference not in self.files:
            raise PlatformError("The platform has no such file.")
        return self.files[attachment.reference]

    def answers(self) -> list[tuple[str, str]]:
        """To which message what was said, notices too."""
        return [(message.reply_to or "", self.texts[key]) for key, message in self.messages.items()]


class RoomBench:
    """A channel at work over a real store and a scripted model."""

    def __init__(
        self,
        bench: TurnBench,
        settings: ChannelSettings = OPEN,
        platform: FakeChannel | None = None,
        *,
        kind: ChannelKind = "terminal",
        **more: Any,
    ) -> None:
        """`more` are parts of the channel that differ."""
        self.bench = bench
        self.platform = platform or FakeChannel()
        services = bench.services
        store, clock = services.desk.store, services.desk.clock
        self.profile = ChannelProfile(name="team", kind=kind, created_at=clock.now(), settings=settings)
        # Made when it is first asked for.
        assert bench.agent is not None
        assert bench.sessions is not None
        fields: dict[str, Any] = {"rooms": bench.rooms, **more}
        self.parts = RoomParts(
            agent=bench.sessions,
            history=services.history,
            store=store.channels,
            journal=store.journal,
            quotas=store.quotas,
            clock=clock,
            memory=services.room_memory,
            schedules=services.schedules,
            memory_of=lambda who: LocalMemory(services, who),
            files=RoomFiles(artifacts=services.artifacts),
            **fields,
        )
        self.residence = Residence(DEFAULT_TENANT, self.profile, self.platform, self.parts)

    @property
    def now(self) -> datetime:
        return self.parts.clock.now()

    async def say(self, sender: str, text: str, **more: Any) -> str:
        """The id of the message."""
        fields: dict[str, Any] = {"chat": "room-7", "mentions_bot": True, "id": f"m{next(self.platform.ids)}", **more}
        id = "".join(filter(str.isprintable, sender.lower())) or "nobody"
        envelope = Envelope(channel="team", sender=id, sender_name=sender, text=text, at=self.now, **fields)
        await self.residence.receive(envelope)
        return envelope.id

    async def answered(self, *messages: str, seconds: float = 5.0) -> list[str]:
        """What was answered to each, once all are."""
        await until(lambda: all(self.reply(message) is not None for message in messages), seconds)
        return [self.reply(message) or "" for message in messages]

    def reply(self, message: str) -> str | None:
        """The last that was answered to a message, if it is the agent's reply or the room's word."""
        answers = [text for to, text in self.platform.answers() if to == message]
        return answers[-1] if answers else None

    async def handled(self, seconds: float = 5.0) -> None:
        """Wait until nothing is left to do about any message."""
        async with asyncio.timeout(seconds):
            # What is waited for is in the store.
            while await self.parts.store.unhandled(DEFAULT_TENANT, "team"):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
