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

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADERS: Final = 128
MAX_HEAD: Final = 64 << 10
PATIENCE: Final = 20.0

_TOO_LARGE: Final = b"The request's headers are too many or too large."
_TOO_SLOW: Final = b"The request's headers did not arrive in time."


class HeadTooLarge(Exception):
    """Ends the parser's work; the answer is a 431."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with at most so many headers, so many bytes of them, and so much time to send them."""

    _received = 0
    _kept = 0
    _in_head = True
    _refused = False
    _timer: asyncio.TimerHandle | None = None

    @property
    def open_connections(self) -> int:
        """How many this worker has."""
        return len(self.connections)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
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
        super().on_headers_complete()

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
