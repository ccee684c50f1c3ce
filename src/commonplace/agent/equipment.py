"""
What the agent of a turn has: its memory in the reach of who speaks, the tools that its row allows, its MCP servers, its skills.

What it writes by a tool is the model's word, whoever speaks; what is learned of the talk is the person's.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from commonplace.agent.live_session import LiveSession, Prompt
from commonplace.agent.mcp_servers import McpServers
from commonplace.agent.memory.backend import MemoryBackend, TurnContext
from commonplace.agent.memory.curated_pair import CuratedMemoryTool
from commonplace.agent.resources import ResourceReader
from commonplace.agent.rooms import RoomPlace, RoomRegistry, profile_reader
from commonplace.agent.server_rows import server_of
from commonplace.agent.skills import SkillShelf
from commonplace.agent.tools.attachments import attachment_tool
from commonplace.agent.tools.calls import ServerTools
from commonplace.agent.tools.fetch import PageFetch, fetch_tool
from commonplace.agent.tools.files import file_tools
from commonplace.agent.tools.memory.places import Asker, ModelPlace
from commonplace.agent.tools.memory.tools import memory_tools
from commonplace.agent.tools.plan import plan_tool
from commonplace.agent.tools.process import run_process
from commonplace.agent.tools.schedules import ScheduleTools
from commonplace.agent.tools.search import search_tools
from commonplace.agent.tools.sessions import session_search_tool
from commonplace.agent.tools.shell import Sandbox, ShellOptions, shell_tool
from commonplace.agent.tools.tool import AgentTool
from commonplace.agent.tools.workspace import Workspace
from commonplace.agent.turn_course import Equipment
from commonplace.governance.work_folders import WorkFolders
from commonplace.history.session_search import SessionSearch
from commonplace.markdown.curated_pair import CuratedFiles
from commonplace.ports.chat import LIBRARIAN
from commonplace.ports.clock import Clock
from commonplace.ports.memory_client import MemoryClient
from commonplace.ports.schedule_client import ScheduleClient
from commonplace.text.scheduled_prompt import unmarked
from commonplace.values.agent_profile import AgentProfile, McpServerRow, approval_mode
from commonplace.values.artifact import Artifact
from commonplace.values.principal import CHANNEL_SUBJECT, Principal
from commonplace.values.schedule import room_target
from commonplace.values.scope import Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolOptions:
    """
    What the operator allows. `closed` are folders that no tool looks into, such as our own home; `folders` says who works where. Only the
    operator's agent has a shell: a command has the rights of the daemon, and reads everybody's memory.
    """

    closed: tuple[Path, ...] = ()
    folders: WorkFolders = field(default_factory=WorkFolders)
    fetch: bool = False
    sandbox: Sandbox = "none"
    seconds: float = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EquipmentParts:
    """
    `memory_of` is the memory as a principal reaches it, `scopes_of` what its tools read if a model names no scope, `profile_of` the row of
    an agent, `model_of` the first of the models wished for (`ChatModels.name_of`). `curated`: the files of the tool `memory`;
    None in gateway mode, which has no such tool. `recalls`: whether the workspace's memory is used, so that its tools are offered. `schedules_of` are the schedules as a
    principal reaches them, None: there are none; `zone` is the time zone of those that name none.
    """

    memory_of: Callable[[Principal], MemoryClient]
    scopes_of: Callable[[Principal], Awaitable[tuple[Scope, ...]]]
    profile_of: Callable[[Principal, str], Awaitable[AgentProfile]]
    model_of: Callable[..., str]
    backends: tuple[MemoryBackend, ...]
    curated: CuratedFiles | None
    recalls: bool
    clock: Clock
    schedules_of: Callable[[Principal], ScheduleClient] | None = None
    zone: str = "UTC"
    tools: ToolOptions = field(default_factory=ToolOptions)
    rooms: RoomRegistry = field(default_factory=RoomRegistry)
    room_memory: MemoryBackend | None = None
    file_of_room: Callable[[Principal, Scope, str], Awaitable[tuple[Artifact, bytes]]] | None = None
    """A file that was sent into a room, by its id. Raises ArtifactNotFound: it is none of that room, or out of reach."""


class Outfit:
    """Makes the equipment of each turn."""

    def __init__(self, parts: EquipmentParts) -> None:
        self._parts = parts
        self._resources = ResourceReader(parts.clock, PageFetch().fetch if parts.tools.fetch else None)

    @asynccontextmanager
    async def equip(self, live: LiveSession, prompt: Prompt) -> AsyncGenerator[Equipment]:
        """Servers stay open between the turns of a session, and end with it."""
        profile = await self._parts.profile_of(profile_reader(prompt.who, live.session), live.session.agent)
        live.permissions_of(prompt.who).follow(approval_mode(live.mode or "") or profile.approval)
        context = self._context(live, prompt)
        place = self._parts.rooms.place(prompt.who.tenant, live.session.id, prompt.who)
        model = self._parts.model_of(
            prompt.model, None if place is None else place.model, live.session.model, profile.model
        )
        shelf = await asyncio.to_thread(SkillShelf, profile.skills)
        # After a restart the history says which skills are in use.
        live.skills = live.skills or shelf.active(live.messages)
        of_memory = await self._memory_tools(live, prompt, quotes=model == LIBRARIAN)
        folder = await self.folder_of(live, prompt.who)
        of_folder = self._workspace_tools(live, folder, shell=prompt.who.operator)
        of_room = self._room_tools(prompt.who, context.room)
        tools = [*of_memory, *self._tools(context), *of_room, *self._schedule_tools(live, prompt), *of_folder]
        for names in (profile.tools, None if place is None else place.tools):
            tools = tools if names is None else [tool for tool in tools if tool.name in names]
        # Whoever gave it skills means it to use them.
        tools += shelf.tools(live.skills)
        servers = await self._servers(live, profile.mcp_servers, place, folder)
        yield Equipment(
            context=context,
            backends=self._backends(context),
            tools=tuple(tools),
            servers=servers,
            persona=profile.persona,
            model=model,
            skills=shelf.lines,
            active_skills=tuple(live.skills.values()),
            resources=await self._resources.texts(profile.resources),
        )

    @asynccontextmanager
    async def equip_host(self, live: LiveSession, prompt: Prompt) -> AsyncGenerator[Equipment]:
        """For an agent that we host: it has tools and a model of its own. In a room it is told what the room's admin wrote and what the room remembers."""
        profile = await self._parts.profile_of(profile_reader(prompt.who, live.session), live.session.agent)
        live.permissions_of(prompt.who).follow(profile.approval)
        context = self._context(live, prompt)
        yield Equipment(
            context=context,
            backends=self._backends(context),
            persona=profile.persona or None,
            resources=await self._resources.texts(profile.resources),
        )

    def _backends(self, context: TurnContext) -> tuple[MemoryBackend, ...]:
        of_room = self._parts.room_memory if context.room is not None else None
        return self._parts.backends if of_room is None else (*self._parts.backends, of_room)

    def _context(self, live: LiveSession, prompt: Prompt) -> TurnContext:
        session, reach = live.session, self._reach(live, prompt.who)
        return TurnContext(
            session=session.id,
            run=prompt.run,
            agent=session.agent,
            workspace=session.workspace,
            speaker=prompt.who.subject,
            text=unmarked(prompt.text) if prompt.scheduled else prompt.text,
            at=prompt.at,
            memory=self._parts.memory_of(reach),
            room=self._parts.rooms.scope(prompt.who.tenant, session.id, prompt.who),
            overheard=reach.overheard,
        )

    def _reach(self, live: LiveSession, who: Principal) -> Principal:
        """Whoever listens to a shared session, or is in the room, is told what is recalled in it."""
        session = live.session
        if session.owner.startswith(CHANNEL_SUBJECT):
            return who.in_company(session.id, self._parts.rooms.scope(who.tenant, session.id, who))
        return who.in_company(session.id) if session.shared else who

    async def _memory_tools(self, live: LiveSession, prompt: Prompt, *, quotes: bool) -> list[AgentTool]:
        who = self._reach(live, prompt.who)
        memory = self._parts.memory_of(who if quotes else replace(who, agent=True))
        # What somebody said elsewhere is no business of a room.
        is_room = self._parts.rooms.scope(who.tenant, live.session.id, who) is not None
        search = [] if is_room else [session_search_tool(SessionSearch(memory, current=live.session.id))]
        if not self._parts.recalls:
            return search
        return [*memory_tools(await self.asker_of(live, prompt.who, quotes=quotes), allow_delete=True), *search]

    async def asker_of(self, live: LiveSession, who: Principal, *, quotes: bool = False) -> Asker:
        """The memory as the model of a session may use it, in the reach of who speaks."""
        who, session = self._reach(live, who), live.session
        # What a tool writes is the model's word, unless it only passes on what it was told.
        memory = self._parts.memory_of(who if quotes else replace(who, agent=True))
        scopes, room = await self._parts.scopes_of(who), self._parts.rooms.scope(who.tenant, session.id, who)
        place = ModelPlace(project=session.workspace, session=session.id, home=room or who.home, only=scopes)
        if room is not None:
            place = replace(place, only=tuple(dict.fromkeys((room, *scopes))), writes=(room,))
        return Asker(memory, place, quotes)

    async def folder_of(self, live: LiveSession, who: Principal) -> Path | None:
        """Where the tools of a turn work: who speaks may, whoever began the session."""
        folder, folders = live.session.folder, self._parts.tools.folders
        if folder is None or not await asyncio.to_thread(folders.allows, who, folder):
            return None
        return Path(folder)

    def _tools(self, context: TurnContext) -> list[AgentTool]:
        parts = self._parts
        tools: list[AgentTool] = [plan_tool()]
        # What is noted in a room would be read in every other.
        if parts.curated is not None and context.room is None:
            tools.append(_curated(CuratedMemoryTool(files=parts.curated, clock=parts.clock, turn=context)))
        return [*tools, fetch_tool()] if parts.tools.fetch else tools

    def _room_tools(self, who: Principal, room: Scope | None) -> Sequence[AgentTool]:
        file_of_room = self._parts.file_of_room
        return (
            ()
            if room is None or file_of_room is None
            else (attachment_tool(functools.partial(file_of_room, who, room)),)
        )

    def _schedule_tools(self, live: LiveSession, prompt: Prompt) -> Sequence[AgentTool]:
        """A turn that plays a schedule sets no further ones."""
        parts = self._parts
        if parts.schedules_of is None or prompt.scheduled is not None:
            return ()
        schedules, place = parts.schedules_of(prompt.who), parts.rooms.place(prompt.who.tenant, live.session.id)
        target = f"session:{live.session.id}" if place is None else room_target(place.channel, place.chat)
        zone = None if place is None else place.zone
        return ScheduleTools(schedules, parts.clock, target=target, zone=zone or parts.zone).tools()

    def _workspace_tools(self, live: LiveSession, folder: Path | None, *, shell: bool) -> Sequence[AgentTool]:
        if folder is None:
            return ()
        options, supplies = self._parts.tools, live.supplies
        workspace = Workspace(folder, closed=options.closed)
        files = supplies.files(workspace) if supplies.files else workspace
        tools = [*file_tools(workspace, files), *search_tools(workspace)]
        shell_options = ShellOptions(seconds=options.seconds, sandbox=options.sandbox, closed=options.closed)
        return [*tools, shell_tool(workspace, shell_options, supplies.run or run_process)] if shell else tools

    async def _servers(
        self, live: LiveSession, rows: Sequence[McpServerRow], place: RoomPlace | None, folder: Path | None
    ) -> tuple[ServerTools, ...]:
        """Their tools. A room that names those which the agent has there has, of servers too, only those; its own servers are beside them."""
        names, of_room = (None, ()) if place is None else (place.tools, place.mcp_servers)
        own = {row.name for row in rows}
        beside = tuple(row for row in of_room if row.name not in own)
        servers = await self._open_servers(live, (*(row for row in rows if _has_tools(row, names)), *beside), folder)
        return tuple(servers.tools(names, whole={row.name for row in beside})) if servers else ()

    async def _open_servers(
        self, live: LiveSession, rows: Sequence[McpServerRow], folder: Path | None
    ) -> McpServers | None:
        # The agent's own come first: a room gives none of them another meaning.
        own = list({row.name: server_of(row, self._parts.tools.seconds) for row in reversed(rows)}.values())[::-1]
        names = {server.name for server in own}
        # A name that the agent's row uses is the row's.
        servers = (*own, *(server for server in live.supplies.servers if server.name not in names))
        if live.servers is not None and live.servers.servers != servers:
            await live.servers.stop()
            live.servers = None
        if live.servers is None and servers:
            live.servers = await live.stack.enter_async_context(McpServers(servers, folder or Path.home()))
        return live.servers


def _has_tools(row: McpServerRow, names: Sequence[str] | None) -> bool:
    """Whether any of a server's tools is named, or the server."""
    return names is None or any(name == row.name or name.startswith(f"{row.name}_") for name in names)


def _curated(tool: CuratedMemoryTool) -> AgentTool:
    @functools.wraps(tool.memory)
    async def memory(*args: Any, **arguments: Any) -> str:
        return json.dumps(await tool.memory(*args, **arguments), ensure_ascii=False)

    return AgentTool(name="memory", kind="edit", function=memory, changes=True)
