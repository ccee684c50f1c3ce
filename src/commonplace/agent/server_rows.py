"""From the row of an MCP server, which holds no secret, to a server that can be started: its variables are those of the daemon."""

from __future__ import annotations

import os
from typing import Final

from commonplace.values.agent_profile import McpServerRow
from commonplace.values.mcp_server import McpServer

_CALL_SECONDS: Final = 60.0


def server_of(row: McpServerRow, seconds: float = _CALL_SECONDS) -> McpServer:
    """
    `seconds`: what any tool call may take. A variable that the daemon has not got is left out: the server says itself what it
    lacks.
    """
    token = os.environ.get(row.token_env) if row.token_env else None
    return McpServer(
        name=row.name,
        command=row.command,
        args=row.args,
        url=row.url,
        env={name: os.environ[name] for name in row.env if name in os.environ},
        headers={"Authorization": f"Bearer {token}"} if token else {},
        trusted=not row.asks,
        call_seconds=min(seconds, _CALL_SECONDS),
    )
