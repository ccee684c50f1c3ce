"""The rooms of a daemon: the sessions of its agent, and the channels that lead people to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from commonplace.agent.rooms import RoomRegistry
from commonplace.channels.admin import ChannelAdmin
from commonplace.channels.attachments import RoomFiles
from commonplace.channels.host import ChannelHost
from commonplace.channels.parts import RoomParts
from commonplace.channels.rooms import Rooms
from commonplace.compose.agents import live_sessions
from commonplace.compose.doors import live_use_cases
from commonplace.service.local import LocalMemory

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.service.services import Services
    from commonplace.settings import Settings


@asynccontextmanager
async def talk(
    settings: Settings, services: Services, *, url: str | None = None, socket: Path | None = None
) -> AsyncGenerator[tuple[object, ...]]:
    """The use cases of whoever talks: sessions, and rooms, which end before the sessions that they use. `url` and `socket` as for `live_sessions`."""
    registry, store = RoomRegistry(), services.desk.store
    async with live_sessions(settings, services, url=url, socket=socket, rooms=registry) as sessions:
        parts = RoomParts(
            agent=sessions,
            history=services.history,
            store=store.channels,
            journal=store.journal,
            quotas=store.quotas,
            clock=services.desk.clock,
            memory=services.room_memory,
            schedules=services.schedules,
            memory_of=partial(LocalMemory, services),
            files=RoomFiles(artifacts=services.artifacts),
            rooms=registry,
        )
        host = ChannelHost(settings.tenant, parts, alone=settings.workers == 1)
        async with host.open():
            yield (
                *live_use_cases(settings, services, sessions),
                Rooms(services.desk, host),
                ChannelAdmin(services.desk, host),
            )
