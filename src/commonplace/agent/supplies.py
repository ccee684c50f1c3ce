"""
What the program that a session is used in lends its agent: an editor has files open, terminals to show, and servers of its own.

Only a program that runs the agent in its own process can: what somebody says through a daemon reaches the daemon's files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from commonplace.agent.tools.shell import RunCommand
from commonplace.agent.tools.workspace import TextFiles, Workspace
from commonplace.values.mcp_server import McpServer


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSupplies:
    """`files` makes the files of a turn out of its workspace, which says what may be reached. `run` runs its commands; None: as without."""

    files: Callable[[Workspace], TextFiles] | None = None
    run: RunCommand | None = None
    servers: tuple[McpServer, ...] = ()
