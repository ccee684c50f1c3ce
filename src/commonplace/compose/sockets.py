"""
Connections, shared among the workers that listen on one socket.

An event loop accepts all new connections at once. If thirty come together, one worker gets all of them, and the others have
nothing to do. The loop made here accepts one at a time, and waits the longer the more connections it has already, so that a
worker with less to do is quicker.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any, Final

_PAUSE: Final = 1.0
"""Seconds until we try again if the system had no room for another connection."""

_HESITATION: Final = 0.00025
_LONGEST: Final = 0.004
"""Seconds to wait for each open connection, and at most."""


class SharedListener:
    """Accepts connections of a shared socket for one worker. Has the methods that uvicorn needs of a server."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, listener: socket.socket, protocol: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        self.sockets = [listener]
        self._loop = loop
        self._socket = listener
        self._protocol = protocol
        self._beginning: set[asyncio.Task[None]] = set()
        self._latest: object = None
        self._closed = False
        listener.setblocking(False)
        self._listen()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._socket)

    async def wait_closed(self) -> None:
        if self._beginning:
            await asyncio.wait(self._beginning)

    def _listen(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._socket, self._hesitate)

    def _hesitate(self) -> None:
        self._loop.remove_reader(self._socket)
        # Each connection of a worker knows how many it has (see `server.protocol`).
        count = getattr(self._latest, "open_connections", 0) + len(self._beginning)
        wait = min(_HESITATION * count, _LONGEST)
        self._loop.call_later(wait, self._accept)

    def _accept(self) -> None:
        if self._closed:
            return
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            # Another worker was quicker, or the caller has gone.
            self._listen()
            return
        except OSError:
            self._loop.call_later(_PAUSE, self._listen)
            return
        self._listen()
        connection.setblocking(False)
        task = self._loop.create_task(self._begin(connection))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _begin(self, connection: socket.socket) -> None:
        # A caller that hung up in the meantime needs no answer.
        with contextlib.suppress(OSError):
            _, self._latest = await self._loop.connect_accepted_socket(self._protocol, connection)


def sharing_loop() -> asyncio.AbstractEventLoop:
    """The loop that uvicorn would choose, except for how it accepts connections."""
    kind: Any = _loop_class()

    class SharingLoop(kind):
        async def create_server(self, protocol: Callable[[], asyncio.BaseProtocol], **options: Any) -> SharedListener:
            return SharedListener(self, options["sock"], protocol)

    return SharingLoop()


def _loop_class() -> type[asyncio.AbstractEventLoop]:
    try:
        # Not on every system.
        from uvloop import Loop  # noqa: PLC0415
    except ImportError:
        return asyncio.SelectorEventLoop
    return Loop
