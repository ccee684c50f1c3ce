"""Where one worker of a daemon takes what the others pass on: a socket in a folder that only its own user can open."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from commonplace.server.protocol import BoundedProtocol
from commonplace.server.siblings import SUFFIX, FromSibling, Siblings

WORKERS: Final = "_COMMONPLACE_WORKERS"
"""The variable that tells a worker of the folder of the sockets."""
ADDRESS: Final = "_COMMONPLACE_ADDRESS"
"""The variable that tells a worker where its daemon listens."""
LONGEST: Final = 90
"""Characters of a folder's path: a socket's name has at most 107 on any system."""
_GRACE: Final = 5.0


@asynccontextmanager
async def own_siblings() -> AsyncGenerator[Siblings | None]:
    """The other workers, if this process is one of several."""
    folder = os.environ.get(WORKERS)
    if not folder:
        yield None
        return
    siblings = Siblings(Path(folder) / f"{os.getpid()}{SUFFIX}")
    try:
        yield siblings
    finally:
        await siblings.aclose()


@asynccontextmanager
async def open_to_siblings(app: ASGIApp, path: Path) -> AsyncGenerator[None]:
    """Serve `app` there."""
    config = uvicorn.Config(
        FromSibling(app),
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: BoundedProtocol(config, state, {}), sock=_bound(path))
    try:
        yield
    finally:
        server.close()
        _remove(path)
        for connection in list(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=_GRACE)
        for connection in list(state.connections):
            connection.transport.abort()


def _bound(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    # Nobody else can open the folder, either.
    path.chmod(0o600)
    return listener


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
