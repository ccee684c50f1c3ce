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
from collections.abc import Callable, Collection
from typing import Any, Final

from uvicorn.loops.auto import auto_loop_factory

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
        self._open: Collection[object] = ()
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
        wait = min(_HESITATION * (len(self._open) + len(self._beginning)), _LONGEST)
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
            _, protocol = await self._loop.connect_accepted_socket(self._protocol, connection)
            # uvicorn's own set of those that are open, which all of them know.
            self._open = getattr(protocol, "connections", ())


def sharing_loop() -> asyncio.AbstractEventLoop:
    """The loop that uvicorn would choose, except for how it accepts connections."""
    default = auto_loop_factory()()
    kind: Any = type(default)
    default.close()

    class SharingLoop(kind):
        async def create_server(self, protocol: Callable[[], asyncio.BaseProtocol], **options: Any) -> SharedListener:
            return SharedListener(self, options["sock"], protocol)

    return SharingLoop()
