"""
The hosted agent of one live session: its program with its conversation, kept from turn to turn, and what it is set to.

Where it works and what it is given depend on who speaks; if that changes, it is started anew. The id that it has for the conversation is
kept in our history, so that another process can have the agent take it up.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias

from commonplace.agent.acp.host.child import HostedCommand, Message
from commonplace.agent.acp.host.session import AcpSession, SessionPlace
from commonplace.agent.equipment import ToolOptions
from commonplace.agent.live_session import LiveSession
from commonplace.agent.rooms import profile_reader
from commonplace.agent.server_rows import server_of
from commonplace.agent.turn_course import TurnParts
from commonplace.errors import InvalidInput
from commonplace.ports.chat import ChatTask, HostedPurse
from commonplace.values.agent_errors import HostedAgentClosed
from commonplace.values.agent_profile import AgentProfile, ApprovalMode
from commonplace.values.json import Json
from commonplace.values.mcp_server import McpServer
from commonplace.values.principal import Principal

HostedUsers: TypeAlias = Literal["operator", "writers"]
Speaker: TypeAlias = Callable[[], Principal]
ServeMemory: TypeAlias = Callable[[LiveSession, Speaker, Principal], AbstractAsyncContextManager[Message | None]]
"""
The memory of a session as an MCP server, in the entry that an agent is given; None: it has none. `Speaker` raises HostedAgentClosed if nobody
speaks. Which tools there are can be asked then, too, as the principal sees it for whom the program is started: some agents ask between
turns, once, and never have a tool that they were not told of.
"""

_MODES: Final[Mapping[ApprovalMode, tuple[str, ...]]] = {
    "plan": ("plan", "readonly", "architect"),
    "default": ("default", "ask", "manual", "normal"),
    "auto-edit": ("autoedit", "acceptedits"),
    "yolo": (),
}
"""How agents call the modes that ours has, without dashes and in small letters."""


@asynccontextmanager
async def no_memory(live: LiveSession, speaker: Speaker, starter: Principal) -> AsyncGenerator[Message | None]:
    del live, speaker, starter
    yield None


@dataclass(frozen=True, kw_only=True, slots=True)
class HostParts(TurnParts):
    """
    `command` starts the agent, `users` are whose words it is told. `folder_of` is where it works for whoever speaks (None: in a folder of
    its own below `scratch`), `purse` pays, `task` says for what, `serve_memory` gives it our memory. `allow_all`: the operator may have it ask nobody.
    """

    command: HostedCommand
    version: str
    scratch: Path
    purse: HostedPurse
    task: Callable[[LiveSession, Principal], ChatTask]
    profile_of: Callable[[Principal, str], Awaitable[AgentProfile]]
    folder_of: Callable[[LiveSession, Principal], Awaitable[Path | None]]
    serve_memory: ServeMemory = no_memory
    users: HostedUsers = "operator"
    allow_all: bool = False
    tools: ToolOptions = field(default_factory=ToolOptions)


class HostedAgent:
    """`preamble` is what it was told last of what it works under."""

    def __init__(self, parts: HostParts, live: LiveSession) -> None:
        self.session = AcpSession(parts.command, parts.version)
        self.speaker: Principal | None = None
        """Who speaks in the turn that is played."""
        self.preamble = ""
        self.knows_history = True
        self._parts = parts
        self._live = live
        self._place: Path | None = None
        self._door = asyncio.Lock()
        self._stack = AsyncExitStack()

    def require(self, who: Principal) -> None:
        """Raises HostedAgentClosed: the operator has not opened it to this person."""
        if not who.operator and self._parts.users != "writers":
            raise HostedAgentClosed

    async def open(self, who: Principal) -> dict[str, Json] | None:
        """
        Have it ready for the words of this person. Answers what is to be kept of it, None if nothing has changed.

        Raises:
            HostedAgentClosed, HostedAgentFailed, HostedAgentSilent: as `AcpSession.open`.
        """
        self.require(who)
        async with self._door:
            await self.session.settle()
            folder = await self._parts.folder_of(self._live, who) or await asyncio.to_thread(self._scratch)
            if self.session.is_open and folder == self._place:
                return None
            await self._end()
            return await self._started(who, folder)

    async def _started(self, who: Principal, folder: Path) -> dict[str, Json]:
        parts, live = self._parts, self._live
        profile = await parts.profile_of(profile_reader(who, live.session), live.session.agent)
        address: dict[str, Json] = {"command": _digest(parts.command), "folder": str(folder)}
        knows = live.hosted.get("id") if {**live.hosted, **address} == live.hosted else None
        entry = await self._stack.enter_async_context(parts.serve_memory(live, self._speaks, who))
        servers = [entry] if entry is not None else []
        # A name that the agent's row uses is the row's.
        rows = {row.name: server_of(row, parts.tools.seconds) for row in profile.mcp_servers}
        servers += map(_entry, {**{server.name: server for server in live.supplies.servers}, **rows}.values())
        before, self.speaker = self.speaker, who
        try:
            self.knows_history = await self.session.open(
                SessionPlace(
                    folder=folder,
                    servers=servers,
                    knows=knows if isinstance(knows, str) else None,
                    files=live.session.folder is not None,
                    terminal=who.operator and live.session.folder is not None,
                )
            )
        except BaseException:
            await self._end()
            raise
        finally:
            self.speaker = before
        self._place, self.preamble = folder, ""
        await self._set(profile.approval)
        live.hosted = {**address, "id": self.session.id}
        return dict(live.hosted)

    async def _set(self, approval: ApprovalMode) -> None:
        """The mode and the model that somebody chose for the session; else the mode that comes nearest to the agent's row, so that it asks."""
        options, live = self.session.options, self._live
        ids = [known_mode.id for known_mode in options.modes]
        mode = live.mode if live.mode in ids else None
        if mode is None:
            mode = next((id_ for id_ in ids if plain_mode(id_) in _MODES[approval]), None)
        with suppress(InvalidInput):
            if mode is not None and mode != options.mode:
                await self.session.set_mode(mode)
        with suppress(InvalidInput):
            if (model := live.session.model) in options.models and model != options.model:
                await self.session.set_model(model)

    async def aclose(self) -> None:
        """End its program."""
        async with self._door:
            await self._end()
            if self._place is not None and self._place.parent == self._parts.scratch:
                with suppress(OSError):
                    # One that has something in it stays.
                    self._place.rmdir()

    async def _end(self) -> None:
        await self.session.aclose()
        await self._stack.aclose()

    def _speaks(self) -> Principal:
        if self.speaker is None:
            raise HostedAgentClosed("Nobody speaks in this session now, so that there is no memory to be had.")
        return self.speaker

    def _scratch(self) -> Path:
        session = self._live.session
        name = sha256(f"{session.owner}\0{session.id}\0{session.created_at}".encode()).hexdigest()[:32]
        folder = self._parts.scratch / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def plain_mode(mode: str) -> str:
    """`accept-edits`, `acceptEdits` and `ACCEPT_EDITS` mean one thing."""
    return re.sub(r"[^a-z]", "", mode.casefold())


def is_careful(mode: str) -> bool:
    """Whether an agent in a mode of this name asks before it does anything but edit files. Of one that we do not know: no."""
    return any(plain_mode(mode) in names for names in _MODES.values())


def _digest(command: HostedCommand) -> str:
    return sha256("\0".join(command.command).encode()).hexdigest()[:16]


def _entry(server: McpServer) -> Message:
    if server.url is not None:
        headers = [{"name": name, "value": value} for name, value in server.headers.items()]
        return {"type": "http", "name": server.name, "url": server.url, "headers": headers}
    env = [{"name": name, "value": value} for name, value in server.env.items()]
    return {"name": server.name, "command": server.command or "", "args": list(server.args), "env": env}
