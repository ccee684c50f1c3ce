"""A channel of DingTalk at work, over a real store, a scripted model and the server beside this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from commonplace.channels.connection import Connection
from commonplace.channels.dingtalk.options import DingTalkTimes
from commonplace.channels.dingtalk.platform import DingTalkChannel
from commonplace.channels.parts import RoomParts
from commonplace.channels.residence import Residence
from commonplace.testing.agents import TurnBench
from commonplace.testing.channels import OPEN, RoomBench
from commonplace.testing.dingtalk.pushes import GROUP
from commonplace.testing.dingtalk.server import DingTalkServer
from commonplace.testing.events import until
from commonplace.values.channel import ChannelProfile, ChannelSettings
from commonplace.values.scope import DEFAULT_TENANT

SECRET: Final = "DINGTALK_CLIENT_SECRET"
QUICK: Final = DingTalkTimes(
    timeout=2.0, ping=0.1, silence=0.3, settled=0.0, retries=(0.01, 0.01), mark_retries=(0.01, 0.01), card_edit=0.0
)
"""As tests wait."""


@dataclass(kw_only=True)
class DingTalkRoom:
    """`residence` leads the rooms of the channel, once `open_dingtalk` is entered."""

    server: DingTalkServer
    parts: RoomParts
    profile: ChannelProfile
    platform: DingTalkChannel
    residence: Residence
    naps: list[float] = field(default_factory=list[float])
    """How long it waited before it tried something again."""

    async def texts(self, count: int, chat: str = GROUP, seconds: float = 5.0) -> list[str]:
        """What the robot wrote in a chat, once there is so much of it."""
        await until(lambda: len(self.server.rooms[chat]) >= count, seconds)
        return [words.text for words in self.server.rooms[chat]]

    async def connected(self) -> None:
        await until(lambda: self.platform.connection.status == "connected" and bool(self.server.links))

    async def handled(self, seconds: float = 5.0) -> None:
        """Wait until nothing is left to do about any message."""
        async with asyncio.timeout(seconds):
            # What is waited for is in the store.
            while await self.parts.store.unhandled(DEFAULT_TENANT, self.profile.name):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def forgotten(self, seconds: float = 5.0) -> None:
        """Wait until the next process has nothing to know of cards and questions."""
        async with asyncio.timeout(seconds):
            while await self._kept():  # noqa: ASYNC110 - it is in the store
                await asyncio.sleep(0.005)

    async def _kept(self) -> list[str]:
        values = await self.parts.store.platform_values(DEFAULT_TENANT, self.profile.name)
        return [name for name in values if name.startswith(("answer/", "question/", "permission/"))]

    @property
    def events(self) -> list[str]:
        """What happened to the connection."""
        return [entry.event for entry in self.platform.log]


def dingtalk_settings(server: DingTalkServer, settings: ChannelSettings = OPEN, /, **options: str) -> ChannelSettings:
    """Those of a channel that talks to the server. `options` beside the necessary ones."""
    own = {"client_id": server.client_id, "endpoint": server.url}
    return replace(settings, options={**own, **options}, secrets={"client_secret": SECRET})


@asynccontextmanager
async def open_dingtalk(
    bench: TurnBench,
    server: DingTalkServer,
    settings: ChannelSettings = OPEN,
    *,
    times: DingTalkTimes = QUICK,
    name: str = "ding",
    **options: str,
) -> AsyncGenerator[DingTalkRoom]:
    """At work; its secret has to be in the environment, as `SECRET`."""
    naps: list[float] = []

    async def nap(seconds: float) -> None:
        naps.append(seconds)

    parts = RoomBench(bench, pauses=(0.01, 0.01)).parts
    profile = ChannelProfile(
        name=name,
        kind="dingtalk",
        created_at=parts.clock.now(),
        settings=dingtalk_settings(server, settings, **options),
    )
    connection = Connection(name, parts.clock, first_pause=0.01, longest_pause=0.05)
    more: dict[str, Any] = {"times": times, "connection": connection, "sleep": nap}
    platform = DingTalkChannel(DEFAULT_TENANT, profile, parts, **more)
    residence = Residence(DEFAULT_TENANT, profile, platform, parts)
    room = DingTalkRoom(server=server, parts=parts, profile=profile, platform=platform, residence=residence, naps=naps)
    async with residence.open():
        yield room
