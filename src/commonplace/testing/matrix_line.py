"""A channel of Matrix over any server, without a residence: what it brings is kept, and its waits take no time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from commonplace.channels.connection import Connection
from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import MatrixClient
from commonplace.channels.matrix.platform import MatrixChannel
from commonplace.channels.matrix.values import KeptValues
from commonplace.ports.channel import ButtonPress, Inbox
from commonplace.ports.clock import Clock
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.channels import OPEN
from commonplace.testing.events import until
from commonplace.values.channel import ChannelSettings, PlatformError, RoomMessage
from commonplace.values.envelope import Envelope
from commonplace.values.scope import DEFAULT_TENANT

_PATIENCE: Final = 20.0
_REAL: Final = 0.2
"""Seconds. Longer waits are noted, and take no time."""


@dataclass
class MatrixDesk:
    """Takes what the platform brings, as a residence would: each message once. `failures`: so often it does not."""

    envelopes: list[Envelope] = field(default_factory=list[Envelope])
    brought: list[str] = field(default_factory=list[str])
    presses: list[ButtonPress] = field(default_factory=list[ButtonPress])
    rooms: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    reply: str | None = None
    failures: int = 0

    async def receive(self, envelope: Envelope) -> RoomMessage | None:
        self.brought.append(envelope.id)
        if self.failures:
            self.failures -= 1
            raise PlatformError("The store is busy.")
        if envelope.id not in [entry.id for entry in self.envelopes]:
            self.envelopes.append(envelope)
        return None

    async def press(self, press: ButtonPress) -> str | None:
        self.presses.append(press)
        return self.reply

    async def open_room(self, chat: str, *, title: str = "", is_group: bool = True) -> None:
        self.rooms.append((chat, title, is_group))

    @property
    def texts(self) -> list[str]:
        return [envelope.text for envelope in self.envelopes]


@dataclass
class MatrixLine:
    """A channel, and what it is connected by. `pauses` are those that requests took."""

    url: str
    token: str
    store: SqliteStore
    clock: Clock
    desk: MatrixDesk = field(default_factory=MatrixDesk)
    settings: ChannelSettings = OPEN
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    pauses: list[float] = field(default_factory=list[float])
    naps: list[float] = field(default_factory=list[float])
    """Those between two connections."""

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(seconds if seconds <= _REAL else 0)

    async def nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0.01)

    def channel(self) -> MatrixChannel:
        client = MatrixClient(self.url, lambda: self.token, sleep=self.pause, **self.more)
        account = MatrixAccount(
            client=client,
            values=self.values,
            connection=Connection("team", self.clock, chance=lambda: 1.0, sleep=self.nap),
            clock=self.clock,
            settings=self.settings,
        )
        return MatrixChannel(account)

    @property
    def values(self) -> KeptValues:
        return KeptValues(DEFAULT_TENANT, "team", self.store.channels)

    @asynccontextmanager
    async def open(self, inbox: Inbox | None = None) -> AsyncGenerator[MatrixChannel]:
        channel = self.channel()
        async with channel.connect(inbox or self.desk):
            await until(lambda: channel.connection.status == "connected", _PATIENCE)
            yield channel

    async def keeps(self, prefix: str, count: int) -> dict[str, str]:
        """What is kept under names that begin so, once there is so much of it."""
        async with asyncio.timeout(5.0):
            # What is waited for is in the store.
            while len(values := await self.values.all(prefix)) != count:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return values

    async def heard(self, *texts: str, seconds: float = 5.0) -> None:
        """Wait until these have come, in this order, and nothing else."""
        await until(lambda: len(self.desk.texts) >= len(texts), seconds)
        assert self.desk.texts == list(texts)
