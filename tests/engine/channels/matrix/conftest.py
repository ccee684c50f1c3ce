"""A channel of Matrix over a server of this process, alone or with a residence in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from commonplace.channels.residence import Residence
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.homeserver import Homeserver, homeserver
from commonplace.testing.matrix_line import MatrixLine
from commonplace.values.channel import ChannelProfile, ChannelSettings
from commonplace.values.scope import DEFAULT_TENANT


@pytest.fixture
async def server() -> AsyncGenerator[Homeserver]:
    async with homeserver() as begun:
        begun.room()
        yield begun


@pytest.fixture
def line(server: Homeserver, store: SqliteStore, clock: FakeClock) -> MatrixLine:
    return MatrixLine(server.url, server.token, store, clock)


@dataclass
class House:
    """A residence in a channel of Matrix: people write, the agent answers."""

    server: Homeserver
    line: MatrixLine
    rooms: RoomBench
    settings: ChannelSettings = OPEN

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Residence]:
        self.line.settings = self.settings
        channel = self.line.channel()
        created_at = self.line.clock.now()
        profile = ChannelProfile(name="team", kind="matrix", created_at=created_at, settings=self.settings)
        residence = Residence(DEFAULT_TENANT, profile, channel, self.rooms.parts)
        async with residence.open():
            await until(lambda: channel.connection.status == "connected", 20)
            yield residence

    def answers(self, message: str) -> list[str]:
        """What was answered to a message, as it is now."""
        return [
            content["body"]
            for content in self.server.said()
            if content.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id") == message
        ]


@pytest.fixture
async def house(bench: TurnBench, server: Homeserver, line: MatrixLine) -> House:
    return House(server, line, RoomBench(bench, pauses=(0.02, 0.02, 0.02, 0.02)))
