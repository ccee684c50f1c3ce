"""The agent that the operator hosts, from the settings."""

from __future__ import annotations

import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version

from commonplace.agent.acp.host.child import HostedCommand, Message
from commonplace.agent.acp.host.hosted_agent import HostParts, ServeMemory, Speaker, no_memory
from commonplace.agent.acp.host.memory_socket import memory_socket
from commonplace.agent.equipment import Outfit
from commonplace.agent.live_session import LiveSession
from commonplace.agent.record import MessageLog
from commonplace.agent.rooms import RoomRegistry
from commonplace.agent.tools.memory.places import Asker
from commonplace.compose.agent_parts import chat_task, open_run, tool_options, turn_limits
from commonplace.doors.mcp.server import make_server_for, serve_lines
from commonplace.llms.hosted_purse import ChatHostedPurse
from commonplace.service.services import Services
from commonplace.settings import Settings
from commonplace.values.agent_errors import HostedAgentClosed
from commonplace.values.principal import Principal
from commonplace.values.usage import to_micro


def host_parts(
    settings: Settings, services: Services, outfit: Outfit, log: MessageLog, rooms: RoomRegistry, *, recalls: bool
) -> HostParts:
    """`recalls`: the workspace's memory is used, so that the agent has it, too."""
    desk = services.desk
    budget = to_micro(settings.llm_chat_budget_usd)
    return HostParts(
        log=log,
        clock=desk.clock,
        equip=outfit.equip_host,
        open_run=partial(open_run, services.runs),
        limits=turn_limits(settings),
        command=hosted_command(settings),
        version=version("commonplace"),
        scratch=settings.home / "agents" / "hosted",
        purse=ChatHostedPurse(desk.store, desk.clock, budget, settings.agent_price),
        task=partial(chat_task, settings, rooms),
        profile_of=services.owners.profile,
        folder_of=outfit.folder_of,
        serve_memory=_memory(settings, outfit) if recalls else no_memory,
        users=settings.agent_command_users,
        allow_all=settings.agent_allow_all,
        tools=tool_options(settings, services),
    )


def hosted_command(settings: Settings) -> HostedCommand:
    return HostedCommand(
        command=settings.agent_command,
        environment=settings.agent_environment,
        start_seconds=settings.agent_start_seconds,
    )


def _memory(settings: Settings, outfit: Outfit) -> ServeMemory:
    """Where the system has sockets in its folders."""
    if not hasattr(socket, "AF_UNIX"):
        return no_memory

    @asynccontextmanager
    async def serve(live: LiveSession, speaker: Speaker, starter: Principal) -> AsyncGenerator[Message | None]:
        async def source() -> Asker:
            return await outfit.asker_of(live, speaker())

        async def offered() -> Asker:
            try:
                return await source()
            except HostedAgentClosed:
                return await outfit.asker_of(live, starter)

        async def answer(reader: StreamReader, writer: StreamWriter) -> None:
            server = make_server_for(source, offered=offered, allow_delete=settings.mcp_allow_delete)
            await serve_lines(server, reader, writer)

        async with memory_socket(answer) as entry:
            yield entry

    return serve
