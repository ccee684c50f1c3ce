"""The command that puts our agent into an editor: `commonplace acp`."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from commonplace.cli.door import Door, command
from commonplace.cli.talk import Url

if TYPE_CHECKING:
    from commonplace.cli.agent_line import Partner


def acp(door: Door, url: Url = None) -> None:
    """
    Be the agent of an editor, over stdin and stdout (Agent Client Protocol). The editor starts it; it needs no daemon, and its
    sessions are kept.
    """
    # Not for `--help`.
    from commonplace import __version__
    from commonplace.agent.acp.lines import LineTransport
    from commonplace.agent.acp.serve.server import AcpServer
    from commonplace.server.logs import configure_logs

    @asynccontextmanager
    async def opened() -> "AsyncGenerator[Partner]":
        # The loop and the client load slowly: after the greeting.
        module = await asyncio.to_thread(import_module, "commonplace.cli.partner")
        async with module.open_partner(door, url) as partner:
            yield partner

    async def serve() -> None:
        # What anything prints, and what a tool's command reads, is not the editor's.
        source, target = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        transport = LineTransport(source, target)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # As if the editor had gone: what it left running is stopped.
            asyncio.get_running_loop().add_signal_handler(number, transport.end)
        await AcpServer(opened, __version__, remote=(url or door.url) is not None).serve(transport)

    configure_logs()
    asyncio.run(serve())


def add_to(app: typer.Typer) -> None:
    command(app, "commonplace acp", "commonplace acp --url http://127.0.0.1:4170", panel="Serve")(acp)
