"""
Connections that end with their answer.

The published client of the governed door has a twin without an event loop, which opens a loop for each call and keeps the
connection for the next one, where it is dead: every second call would fail. Where we say that a connection is at its end, it
opens a new one. The clients of that library cannot be told apart, so this holds for all of them, at that door only.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.server.exchange import exchange_of, header

_LIBRARY: Final = "python-httpx/"


class CloseAfterResponse:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _closes(scope):
            await self._app(scope, receive, send)
            return

        async def send_closing(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        await self._app(scope, receive, send_closing)


def _closes(scope: Scope) -> bool:
    return exchange_of(scope).door == "governed" and (header(scope, b"user-agent") or "").startswith(_LIBRARY)
