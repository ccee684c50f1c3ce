"""
How much, how slowly and how deep: bodies that are too large, that trickle, that are not UTF-8 or nest without end are
refused before a route sees them; and a request that takes too long is given up.
"""

from __future__ import annotations

import re
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.errors import BodyTooLarge, BodyTooSlow, CommonplaceError, InvalidJson, TimedOut
from commonplace.server.errors import error_response
from commonplace.server.exchange import header

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 250_000
_BRACKETS: Final = (b"[", b"{")
_NO_NUMBER: Final = re.compile(rb"NaN|Infinity")
_STREAMS: Final = ("text/event-stream", "application/x-ndjson", "application/jsonl")
_UNTIMED: Final = ("/v1/import", "/v1/load", "/v1/reindex", "/v1/extract", "/memory/import")
# The only route that reads its body piece by piece, once it knows whose it is. Every other would hold all of it.
_TAKES_STREAMS: Final = "/v1/load"


class Bodies:
    """A body is read whole, within a time, and JSON is looked at; only a file to be loaded passes through as it comes."""

    def __init__(self, app: ASGIApp, *, max_body: int, max_stream: int, patience: float) -> None:
        self._app = app
        self._max_body = max_body
        self._max_stream = max_stream
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        kind = (header(scope, b"content-type") or "").lower()
        streamed = kind.startswith(_STREAMS) and scope["path"] == _TAKES_STREAMS
        limit = self._max_stream if streamed else self._max_body
        try:
            _check_length(scope, limit)
            if streamed:
                receiver = self._counted(receive, limit)
            else:
                body = await self._whole(receive, limit)
                if body is None:
                    return
                if not kind or "json" in kind:
                    check_json(body)
                receiver = _replayed(body, receive)
        except CommonplaceError as error:
            await error_response(scope, error, close=True)(scope, receive, send)
            return
        await self._app(scope, receiver, send)

    async def _whole(self, receive: Receive, limit: int) -> bytes | None:
        """The body; None where the caller went away in the middle of it."""
        parts: list[bytes] = []
        size = 0
        with anyio.move_on_after(self._patience):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise BodyTooLarge(limit=limit)
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
        raise BodyTooSlow

    def _counted(self, receive: Receive, limit: int) -> Receive:
        size, complete = 0, False

        async def counted() -> Message:
            nonlocal size, complete
            if complete:
                return await receive()
            message: Message | None = None
            with anyio.move_on_after(self._patience):
                message = await receive()
            if message is None:
                raise BodyTooSlow
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if size > limit:
                raise BodyTooLarge(limit=limit)
            return message

        return counted


class Deadlines:
    """
    A request is given up after so many seconds. An answer that is a stream has all the time there is, once it has begun,
    and so has an import.
    """

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_UNTIMED):
            await self._app(scope, receive, send)
            return
        begun = False
        with anyio.move_on_after(self._seconds) as patience:

            async def told(message: Message) -> None:
                nonlocal begun
                if message["type"] == "http.response.start":
                    begun = True
                    if (Headers(raw=message["headers"]).get("content-type") or "").startswith(_STREAMS):
                        patience.deadline = float("inf")
                await send(message)

            await self._app(scope, receive, told)
        if patience.cancelled_caught and not begun:
            await error_response(scope, TimedOut())(scope, receive, send)


def check_json(body: bytes) -> None:
    """
    Raises:
        InvalidJson: it is not UTF-8, holds a number that is none or too many values, or nests deeper than we follow.
    """
    # All of this comes before anybody knows whose body it is, on the one thread that answers everybody: it counts, and
    # looks closer only where there is much to count.
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidJson("The body is not UTF-8.") from None
    brackets = _count(body, *_BRACKETS)
    many = brackets + _count(body, b",") > MAX_VALUES
    if brackets <= MAX_DEPTH and not many and b"NaN" not in body and b"Infinity" not in body:
        return
    bare = _outside_strings(body)
    if _count(bare, b",", *_BRACKETS) > MAX_VALUES:
        raise InvalidJson(f"The body holds more than {MAX_VALUES:,} values. Send it in portions.")
    if _NO_NUMBER.search(bare):
        raise InvalidJson("JSON has no NaN and no Infinity.")
    depth = 0
    for bracket in re.findall(rb"[\[\]{}]", bare):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidJson(f"The body is nested deeper than {MAX_DEPTH}.")


def _outside_strings(body: bytes) -> bytes:
    """JSON without what it quotes. What is no JSON comes out as something or other: the parser will refuse it."""
    return b" ".join(body.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])


def _count(body: bytes, *marks: bytes) -> int:
    return sum(body.count(mark) for mark in marks)


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _check_length(scope: Scope, limit: int) -> None:
    length = header(scope, b"content-length") or "0"
    if not length.isdecimal() or int(length[:20]) > limit:
        raise BodyTooLarge(limit=limit)


def _replayed(body: bytes, receive: Receive) -> Receive:
    is_replayed = False

    async def replayed() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
