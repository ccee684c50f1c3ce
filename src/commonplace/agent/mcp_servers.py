"""
The MCP servers of a session. Each is started when the session is, and ended with it. One that does not start, hangs, floods or dies has
no tools, or its tools give errors; it is tried again with the next turn, and the session goes on.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from fastmcp.client import Client
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import to_json

from commonplace.agent.mcp_transport import StdioServer, http_server
from commonplace.agent.tools.calls import ServerTools
from commonplace.agent.tools.tool import one_line
from commonplace.errors import InvalidInput
from commonplace.text.fence import shown
from commonplace.values.mcp_server import McpServer

LOGGER: Final = logging.getLogger("commonplace")
MOST_TOOLS: Final = 100
LONGEST_DESCRIPTION: Final = 2_000
LARGEST_SCHEMA: Final = 50_000
STOP_SECONDS: Final = 5.0
_TOOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


async def _unheard(*words: object) -> None:
    """What a server says unasked: the library would write it into our log, line by line, as much as there is."""
    del words


class McpServers:
    """The servers of one session, open from `async with` to its end. A program works in `folder`."""

    def __init__(self, servers: Sequence[McpServer], folder: Path) -> None:
        """
        Raises:
            InvalidInput: one could not be started or asked as it is, or two have one name.
        """
        self.servers = tuple(servers)
        self._toolsets = [ServerToolset(server.check(), folder) for server in servers]
        if len({server.name for server in servers}) < len(servers):
            raise InvalidInput("Two MCP servers have the same name.")

    def tools(self, names: Collection[str] | None = None, *, whole: Collection[str] = ()) -> list[ServerTools]:
        """For `make_toolset`. `names`: only these tools, and all of servers that are named; those of the servers `whole` are there anyway."""
        return [
            ServerTools(
                toolset=toolset.toolset_of(None if toolset.server.name in whole else names),
                trusted=toolset.server.trusted,
                seconds=toolset.server.call_seconds,
            )
            for toolset in self._toolsets
        ]

    @property
    def failures(self) -> Mapping[str, str]:
        """Which servers cannot be used, and why."""
        return {toolset.server.name: toolset.failure for toolset in self._toolsets if toolset.failure}

    async def __aenter__(self) -> Self:
        try:
            await asyncio.gather(*(toolset.connect() for toolset in self._toolsets))
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End them all. They are started again when they are next asked for their tools."""
        await asyncio.gather(*(toolset.stop() for toolset in self._toolsets))


class ServerToolset(AbstractToolset[object]):
    """The tools of one server. `failure` is why there are none."""

    def __init__(self, server: McpServer, folder: Path) -> None:
        self.server = server
        self.failure: str | None = None
        self._folder = folder
        self._toolset: AbstractToolset[object] | None = None
        self._program: StdioServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    def toolset_of(self, names: Collection[str] | None) -> AbstractToolset[object]:
        """All of its tools, or those of these names."""
        if names is None or self.server.name in names:
            return self
        return self.filtered(lambda _, definition: definition.name in names)

    @property
    def id(self) -> str:
        return f"mcp:{self.server.name}"

    async def for_run(self, ctx: RunContext[object]) -> AbstractToolset[object]:
        del ctx
        if self.failure or self._toolset is None or (self._program is not None and not self._program.alive):
            await self.connect()
        return self

    async def connect(self) -> None:
        """Start it, or start it again. `failure` says whether that worked."""
        await self.stop()
        ready: asyncio.Future[AbstractToolset[object]] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._task = asyncio.create_task(self._hold(ready, self._end))
        try:
            async with asyncio.timeout(self.server.start_seconds):
                self._toolset = await ready
            self.failure = None
        except TimeoutError:
            self._failed(f"it did not start within {self.server.start_seconds:g} seconds")
            await self.stop()
        except Exception as error:
            # The boundary of the tools: a server may do anything wrong.
            self._failed(one_line(str(error)) or type(error).__name__)
            await self.stop()

    async def _hold(self, ready: asyncio.Future[AbstractToolset[object]], end: asyncio.Event) -> None:
        """The connection belongs to this task, from its beginning to its end."""
        try:
            self._program = None if self.server.url else StdioServer(self.server, self._folder)
            transport = self._program or http_server(self.server)
            toolset = MCPToolset[object](
                Client(
                    transport,
                    init_timeout=self.server.start_seconds,
                    timeout=self.server.call_seconds,
                    log_handler=_unheard,
                    progress_handler=_unheard,
                ),
                id=self.id,
                tool_error_behavior="failed",
            )
            async with toolset:
                if not ready.done():
                    ready.set_result(toolset.prefixed(self.server.name))
                await end.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
            else:
                LOGGER.warning("mcp", extra={"told": {"server": self.server.name, "error": type(error).__name__}})

    async def stop(self) -> None:
        """End it, and whatever it started."""
        task, self._task, self._toolset = self._task, None, None
        if task is None:
            return
        self._end.set()
        await asyncio.wait({task}, timeout=STOP_SECONDS)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=STOP_SECONDS)

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        if self._toolset is None:
            return {}
        try:
            async with asyncio.timeout(self.server.start_seconds):
                tools = await self._toolset.get_tools(ctx)
        except TimeoutError:
            self._failed("it does not say which tools it has")
            return {}
        except Exception as error:
            self._failed(one_line(str(error)) or type(error).__name__)
            return {}
        return {name: self._plain(tool) for name, tool in [*tools.items()][:MOST_TOOLS] if self._fits(name, tool)}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> object:
        if self._toolset is None:
            raise ToolFailed(f"The MCP server {self.server.name} is not to be had: {self.failure or 'it was stopped'}.")
        try:
            return await self._toolset.call_tool(name, tool_args, ctx, tool)
        except (ToolFailed, ModelRetry):
            raise
        except Exception as error:
            self._failed(f"it does not answer ({type(error).__name__})")
            raise ToolFailed(f"The MCP server {self.server.name} does not answer.") from error
        finally:
            if self._program is not None and not self._program.alive:
                self._failed("it ended")

    def _failed(self, reason: str) -> None:
        self.failure = reason
        LOGGER.warning("mcp", extra={"told": {"server": self.server.name, "error": reason}})

    def _fits(self, name: str, tool: ToolsetTool[object]) -> bool:
        own = name.removeprefix(f"{self.server.name}_")
        schema = tool.tool_def.parameters_json_schema
        if not _TOOL.fullmatch(own) or len(name) > 64:
            return False
        with suppress(ValueError):
            return len(to_json(schema)) <= LARGEST_SCHEMA
        return False

    def _plain(self, tool: ToolsetTool[object]) -> ToolsetTool[object]:
        """A description is a server's word about itself: short, without what nobody sees, and told to be that."""
        text = shown((tool.tool_def.description or "")[:LONGEST_DESCRIPTION])
        description = f"A tool of the MCP server {self.server.name}, which says of it: {text}"
        return replace(tool, toolset=self, tool_def=replace(tool.tool_def, description=description))
