"""The rooms of a daemon: the sessions of its agent, and the channels that lead people to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from commonplace.agent.rooms import RoomRegistry
from commonplace.channels.admin import ChannelAdmin
from commonplace.channels.attachments import RoomFiles
from commonplace.channels.host import ChannelHost
from commonplace.channels.parts import RoomParts
from commonplace.channels.rooms import Rooms
from commonplace.compose.agents import claims_of, live_sessions
from commonplace.compose.doors import live_use_cases
from commonplace.compose.services import asked_model
from commonplace.jobs.leases import worker_name
from commonplace.llms.choose import is_priced
from commonplace.service.local import LocalMemory
from commonplace.values.session_lease import LeaseHolder
from commonplace.values.usage import to_micro

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.service.services import Services
    from commonplace.settings import Settings
    from commonplace.values.turn_event import TurnUsage


@asynccontextmanager
async def talk(
    settings: Settings, services: Services, *, url: str | None = None, socket: Path | None = None
) -> AsyncGenerator[tuple[object, ...]]:
    """
    The use cases of whoever talks: sessions, and rooms, which end before the sessions that they use. `url` is where the daemon is reached, `socket`
    where this worker of it takes what its siblings pass on.
    """
    registry, store = RoomRegistry(), services.desk.store
    holder = LeaseHolder(process=worker_name(), url=url, socket=None if socket is None else str(socket))
    async with (
        # Who takes a channel over finds its sessions free.
        aclosing(claims_of(settings, services, holder)) as claims,
        live_sessions(settings, services, holder=holder, rooms=registry) as sessions,
    ):
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
            chat_micro_usd=to_micro(settings.llm_chat_budget_usd),
            is_priced=partial(_is_priced, settings),
        )
        host = ChannelHost(settings.tenant, parts, claims, alone=settings.workers == 1)
        async with host.open():
            yield (
                *live_use_cases(settings, services, sessions),
                Rooms(services.desk, host),
                ChannelAdmin(services.desk, host, services.work_folders),
            )


def _is_priced(settings: Settings, usage: TurnUsage) -> bool:
    """Whether what a turn cost is known: an agent that we host may say it itself."""
    if settings.agent_command:
        return settings.agent_price is not None or usage.cost_micro_usd > 0
    return is_priced(usage.model, asked_model(settings))
