"""A channel of Feishu over a local server, alone or with a residence in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from commonplace.agent.session_target import SessionTarget
from commonplace.channels.connection import Connection
from commonplace.channels.feishu.api import FeishuApi
from commonplace.channels.feishu.channel import FeishuChannel
from commonplace.channels.feishu.messages import MessagePlace
from commonplace.channels.feishu.options import FeishuOptions, WebhookOptions
from commonplace.channels.residence import Residence
from commonplace.channels.room_target import RoomTarget
from commonplace.channels.speakers import speaker
from commonplace.ports.channel import ButtonPress, Inbox
from commonplace.ports.journal import Entries
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.feishu import FeishuServer
from commonplace.testing.feishu.server import ENCRYPT_KEY, SECRET, VERIFICATION_TOKEN, PostedMessage
from commonplace.testing.feishu.stories import APP, BOT, chat_message
from commonplace.testing.schedules import ScheduleBench
from commonplace.values.channel import ChannelProfile, ChannelSettings, PlatformError, RoomMessage
from commonplace.values.envelope import Envelope
from commonplace.values.principal import Principal
from commonplace.values.schedule import ROOM
from commonplace.values.scope import DEFAULT_TENANT

WEBHOOK = WebhookOptions(port=0, verification_token=VERIFICATION_TOKEN, encrypt_key=ENCRYPT_KEY)


@dataclass
class Desk:
    """Takes what the platform brings, as a residence would. `failures`: so often it does not."""

    envelopes: list[Envelope] = field(default_factory=list[Envelope])
    presses: list[ButtonPress] = field(default_factory=list[ButtonPress])
    rooms: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    toast: str | None = "Thank you."
    failures: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, envelope: Envelope) -> RoomMessage | None:
        if self.failures:
            self.failures -= 1
            raise PlatformError("The store is busy.")
        self.envelopes.append(envelope)
        return None

    async def press(self, press: ButtonPress) -> str | None:
        self.presses.append(press)
        return self.toast

    async def open_room(self, chat: str, *, title: str = "", is_group: bool = True) -> None:
        del is_group
        self.rooms.append((chat, title))


@dataclass
class Line:
    """A channel, and what it is connected by. `pauses` are those that calls took."""

    server: FeishuServer
    store: SqliteStore
    clock: FakeClock
    desk: Desk = field(default_factory=Desk)
    pauses: list[float] = field(default_factory=list[float])

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    def channel(self, **changes: Any) -> FeishuChannel:
        options = replace(FeishuOptions(app_id=APP, app_secret=SECRET, server=self.server.url), **changes)
        api = FeishuApi(options, self.clock, sleep=self.pause, chance=lambda: 1.0)
        connection = Connection("team", self.clock, first_pause=0.02, longest_pause=0.1)
        place = MessagePlace(tenant=DEFAULT_TENANT, channel="team", store=self.store.channels)
        return FeishuChannel(options, place, api, connection, self.clock)

    @asynccontextmanager
    async def open(self, inbox: Inbox | None = None, **changes: Any) -> AsyncGenerator[FeishuChannel]:
        channel = self.channel(**changes)
        async with channel.connect(inbox or self.desk):
            await until(lambda: channel.connection.status == "connected")
            yield channel


@pytest.fixture
async def server() -> AsyncGenerator[FeishuServer]:
    async with FeishuServer().open() as server:
        yield server


@pytest.fixture
def line(server: FeishuServer, store: SqliteStore, clock: FakeClock) -> Line:
    return Line(server, store, clock)


@dataclass
class Room:
    """A residence in a channel of Feishu: people write, the agent answers."""

    bench: TurnBench
    line: Line
    settings: ChannelSettings = OPEN
    parts: dict[str, Any] = field(default_factory=dict[str, Any])
    residence: Residence | None = None
    """While it is open."""

    def __post_init__(self) -> None:
        self.rooms = RoomBench(self.bench, self.settings, **self.parts)
        self.profile = ChannelProfile(
            name="team", kind="feishu", created_at=self.line.clock.now(), settings=self.settings
        )

    @asynccontextmanager
    async def open(self, **changes: Any) -> AsyncGenerator[Residence]:
        channel = self.line.channel(**changes)
        residence = Residence(DEFAULT_TENANT, self.profile, channel, self.rooms.parts)
        async with residence.open():
            await until(lambda: channel.connection.status == "connected")
            self.residence = residence
            yield residence
            self.residence = None

    async def daemon(self) -> ScheduleBench:
        """What plays the schedules of the rooms, while the channel is open."""
        services = self.bench.services
        assert self.bench.sessions is not None
        await self.rooms.parts.store.put_channel(DEFAULT_TENANT, self.profile, Entries())
        target = RoomTarget(services.desk, self._opened, SessionTarget(self.bench.sessions, services.history))
        return ScheduleBench(self.bench, self.line.clock, {ROOM: target})

    async def _opened(self, tenant: str, name: str) -> Residence:
        assert (tenant, name, self.residence is None) == (DEFAULT_TENANT, "team", False)
        return cast("Residence", self.residence)

    async def person(self, sender: str, chat: str) -> Principal:
        """Somebody as they speak in a room."""
        room = await self.rooms.parts.store.room(DEFAULT_TENANT, "team", chat)
        assert room is not None
        return speaker(DEFAULT_TENANT, self.profile, room, sender, None)

    async def say(self, sender: str, text: str, *, mention: bool = True, **more: Any) -> str:
        """The id of the message."""
        if mention:
            more["mentions"] = [(BOT, "Assistant")]
            text = f"@_user_1 {text}"
        event = chat_message(text, sender=sender, **more)
        await self.line.server.say(event)
        return event["event"]["message"]["message_id"]

    def answers(self, message: str) -> list[PostedMessage]:
        """What was answered to a message, as it is now."""
        return [
            posted for posted in self.line.server.messages.values() if posted.parent == message and not posted.deleted
        ]

    async def answered(self, message: str, text: str = "") -> PostedMessage:
        """The answer that says this, once it is whole."""

        def is_there() -> bool:
            return any(text in posted.text and not posted.buttons for posted in self.answers(message))

        await until(is_there)
        return next(posted for posted in self.answers(message) if text in posted.text and not posted.buttons)


@pytest.fixture
async def make_room(bench: TurnBench, line: Line) -> Callable[..., Room]:
    def make(settings: ChannelSettings = OPEN, **parts: Any) -> Room:
        return Room(bench, line, settings, parts)

    return make
