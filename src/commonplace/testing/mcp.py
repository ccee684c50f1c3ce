"""A model for tests: the official MCP client, over the pipes of a real process or over HTTP to a daemon."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

PATIENCE: Final = 20.0


@dataclass(frozen=True, slots=True)
class Model:
    """`await model("memory_search", query="…")` calls a tool and answers its structured result."""

    client: Client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error
        return result.structured_content

    async def text(self, tool: str, **arguments: Any) -> str:
        """What a program without structured results shows its model."""
        [content] = (await self.client.call_tool(tool, arguments)).content
        assert isinstance(content, TextContent)
        return content.text

    async def found(self, query: str, **arguments: Any) -> list[str]:
        """What a search finds."""
        return [row["content"] for row in (await self("memory_search", query=query, **arguments))["results"]]

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}


@asynccontextmanager
async def piped(
    folder: Path, *args: str, env: Mapping[str, str] | None = None, mode: str = "auto"
) -> AsyncGenerator[Model]:
    """`commonplace mcp` in a process of its own, started in `folder`, where its home and its log are."""
    given = StdioServerParameters(
        command=sys.executable,
        args=["-m", "commonplace", "mcp", *args],
        env={"COMMONPLACE_HOME": str(folder / "home"), "COMMONPLACE_EMBEDDER": "none", **(env or {})},
        cwd=folder,
    )
    with (folder / "mcp.log").open("w", encoding="utf-8") as log:
        transport = stdio_client(given, errlog=log)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield Model(client)


@asynccontextmanager
async def remote(
    url: str, secret: str, *, mode: str = "auto", headers: Mapping[str, str] | None = None
) -> AsyncGenerator[Model]:
    """The daemon whose door is at `url` (`…/mcp`), asked with a key."""
    shown = {"Authorization": f"Bearer {secret}", **(headers or {})}
    async with httpx2.AsyncClient(headers=shown, timeout=PATIENCE) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield Model(client)
