"""The command that puts our agent into an editor: `commonplace acp`."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.talk import Url
from commonplace.errors import InvalidInput

if TYPE_CHECKING:
    from commonplace.cli.agent_line import Partner


def acp(door: Door, url: Url = None) -> None:
    """
    Be the agent of an editor, over stdin and stdout (Agent Client Protocol). The editor starts it; it needs no daemon, and its
    sessions are kept.
    """
    try:
        # The library of the protocol is an extra, and slow to load.
        from commonplace.agent.acp.serve.lines import LineTransport
        from commonplace.agent.acp.serve.server import AcpServer
    except ImportError as missing:
        raise InvalidInput(
            "The agent's libraries are not installed. Run `pip install 'commonplace[agent]'`."
        ) from missing
    # Logs go to stderr; the package's version is read from its metadata.
    from commonplace import __version__
    from commonplace.server.logs import configure_logs

    @asynccontextmanager
    async def opened() -> "AsyncGenerator[Partner]":
        # The loop and the client load slowly: after the greeting.
        from commonplace.cli.partner import open_partner

        async with open_partner(door, url) as partner:
            yield partner

    async def serve() -> None:
        # What anything prints, and what a tool's command reads, is not the editor's.
        source, target = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        await AcpServer(opened, __version__).serve(LineTransport(source, target))

    configure_logs()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve())


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace acp", "commonplace acp --url http://127.0.0.1:4170", panel="Serve")(acp)
