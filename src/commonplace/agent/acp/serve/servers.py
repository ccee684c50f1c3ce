"""The MCP servers that an editor names with a session, as servers of the agent. They are asked about like any that is not trusted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from commonplace.agent.acp.serve.requests import EditorServer
from commonplace.errors import InvalidInput
from commonplace.values.mcp_server import McpServer

_OTHER: Final = re.compile(r"[^A-Za-z0-9]+")
_LONGEST: Final = 24


def servers_of(rows: Sequence[EditorServer]) -> tuple[McpServer, ...]:
    """
    Raises:
        InvalidInput: one cannot be started or asked as it is.
    """
    servers: dict[str, McpServer] = {}
    for row in rows:
        server = _server(row, _name(row.name, servers)).check()
        servers[server.name] = server
    return tuple(servers.values())


def _server(row: EditorServer, name: str) -> McpServer:
    match row.type:
        case "stdio":
            return McpServer(
                name=name, command=row.command, args=row.args, env={pair.name: pair.value for pair in row.env}
            )
        case "http":
            return McpServer(name=name, url=row.url, headers={pair.name: pair.value for pair in row.headers})
        case _:
            raise InvalidInput(
                f"The MCP server {name} is of the type {row.type[:20]!a}. Servers of the types stdio and http can be used."
            )


def _name(name: str, others: dict[str, McpServer]) -> str:
    """In the letters that a tool's name may have; two of one name are numbered."""
    plain = _OTHER.sub("-", name).strip("-")[:_LONGEST].strip("-") or "server"
    number, unique = 1, plain
    while unique in others:
        number += 1
        unique = f"{plain[: _LONGEST - 4]}-{number}"
    return unique
