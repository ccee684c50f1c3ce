"""
Work that nobody waits for any more is cancelled: a request that only reads ends when its caller hangs up, and soon after the
daemon is told to stop.

Only a request that takes a while is watched, so that a quick one costs nothing more. What writes is never cancelled here: whoever
hangs up in the middle of a write cannot know what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, Final

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.errors import ShuttingDown
from commonplace.server.auth import tier_of
from commonplace.server.errors import error_response

WATCH_AFTER: Final = 0.25
"""Seconds that a request may take before somebody looks whether its caller is still there."""
GRACE: Final = 2.0
"""Seconds that a request which reads has to end, once the daemon stops."""

_GONE: Final[MutableMapping[str, Any]] = {"type": "http.disconnect"}


class Cancellation:
    def __init__(self, app: ASGIApp, *, watch_after: float = WATCH_AFTER, grace: float = GRACE) -> None:
        self._app = app
        self._watch_after = watch_after
        self._grace = grace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or tier_of(scope["method"], scope["path"]) != "read":
            await self._app(scope, receive, send)
            return
        await watched(self._app, scope, receive, send, watch_after=self._watch_after, grace=self._grace)


async def watched(
    app: ASGIApp,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    watch_after: float = WATCH_AFTER,
    grace: float = GRACE,
) -> None:
    """Let `app` answer a request that only reads, for as long as somebody waits for the answer."""
    watch = _Watch(receive, send, scope["app"].state.stopping, grace)
    timer = asyncio.get_running_loop().call_later(watch_after, watch.begin)
    try:
        with watch.work:
            await app(scope, watch.receive, watch.send)
    finally:
        timer.cancel()
        watch.end()
    if watch.work.cancelled_caught and not watch.is_gone:
        await error_response(scope, ShuttingDown())(scope, receive, send)


class _Watch:
    """
    One request. While it is watched, the watch alone receives what the caller sends, and passes it on. An answer that has begun
    is left to whoever writes it.
    """

    def __init__(self, receive: Receive, send: Send, stopping: asyncio.Event, grace: float) -> None:
        self._receive = receive
        self._send = send
        self._stopping = stopping
        self._grace = grace
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._has_begun = False
        self.work = anyio.CancelScope()
        self.is_gone = False

    def begin(self) -> None:
        self._tasks = [asyncio.create_task(self._until_gone()), asyncio.create_task(self._until_stop())]

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def receive(self) -> Message:
        if not self._tasks:
            return await self._receive()
        return _GONE if self.is_gone else await self._messages.get()

    async def send(self, message: Message) -> None:
        self._has_begun = True
        await self._send(message)

    async def _until_gone(self) -> None:
        while not self.is_gone:
            message = await self._receive()
            self.is_gone = message["type"] == "http.disconnect"
            self._messages.put_nowait(message)
        if not self._has_begun:
            self.work.cancel()

    async def _until_stop(self) -> None:
        await self._stopping.wait()
        await asyncio.sleep(self._grace)
        if not self._has_begun:
            self.work.cancel()
