"""
The first lines of a request, bounded. The parser underneath takes headers of any number and size, and waits for them as
long as the caller likes; this one does not.

`HttpToolsProtocol` is no documented part of uvicorn, and we need it: uvicorn has no setting that limits the time of a request's
first lines, and only its other parser, h11, has one that limits their size. That one takes twice the processor time for a request;
what a request costs beside its work is the stage "HTTP, routing, body, log" of `python -m bench daemon`.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final
from uuid import uuid4

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from commonplace.errors import Overloaded
from commonplace.server.errors import error_response
from commonplace.server.exchange import begin

MAX_HEADERS: Final = 128
MAX_HEAD: Final = 64 << 10
PATIENCE: Final = 20.0
_HARD: Final = 2
_WATCHED: Final = frozenset({"/health", "/ready"})

_TOO_LARGE: Final = b"The request's headers are too many or too large."
_TOO_SLOW: Final = b"The request's headers did not arrive in time."


def refuse_unless_watched(app: ASGIApp) -> ASGIApp:
    """For a connection too many: 503, except for those who look whether we are there."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in _WATCHED:
            await app(scope, receive, send)
            return
        begin(scope, uuid4().hex)
        await error_response(scope, Overloaded(), close=True)(scope, receive, send)

    return refuse


class HeadTooLarge(Exception):
    """Ends the parser's work; the answer is a 431."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with at most so many headers, so many bytes of them, and so much time to send them."""

    app: Any
    _received = 0
    _kept = 0
    _in_head = True
    _refused = False
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any) -> None:
        super().__init__(config, server_state, app_state, **more)
        # Ours to refuse, in the shape of a door: uvicorn would say so in plain text.
        self._most, self.limit_concurrency = self.limit_concurrency, None

    @property
    def open_connections(self) -> int:
        """How many this worker has."""
        return len(self.connections)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self._most is not None and len(self.connections) > _HARD * self._most:
            # So many that a refusal would cost too much, too.
            self.transport.abort()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head = self._in_head
        super().data_received(data)
        # A header that never ends is told to nobody until it does.
        if was_in_head and self._in_head and not self.transport.is_closing():
            self._received += len(data)
            if self._received > MAX_HEAD:
                self._refuse(b"431 Request Header Fields Too Large", _TOO_LARGE)

    def on_message_begin(self) -> None:
        self._in_head, self._received, self._kept = True, 0, 0
        self._wait()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._keep(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._keep(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        app = self.app
        if self._most is not None and len(self.connections) > self._most:
            self.app = refuse_unless_watched(app)
        try:
            super().on_headers_complete()
        finally:
            self.app = app

    def send_400_response(self, msg: str) -> None:
        if not self._refused:
            super().send_400_response(msg)

    def _keep(self, size: int) -> None:
        self._kept += size
        if len(self.headers) > MAX_HEADERS or self._kept > MAX_HEAD:
            self._refuse(b"431 Request Header Fields Too Large", _TOO_LARGE)
            raise HeadTooLarge

    def _refuse(self, status: bytes, body: bytes) -> None:
        self._refused = True
        lines = [b"HTTP/1.1 " + status, b"content-type: text/plain", b"content-length: %d" % len(body)]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", body]))
        self.transport.close()

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(PATIENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self.transport.is_closing():
            return
        if self._received == self._kept == 0:
            # Nothing was asked yet, so there is nothing to answer.
            self.transport.close()
        else:
            self._refuse(b"408 Request Timeout", _TOO_SLOW)
