"""
How much, how slowly and how deep: bodies that are too large, that trickle, that are not UTF-8 or nest without end are
refused before a route sees them; and a request that takes too long is given up.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.errors import BodyTooLarge, BodyTooSlow, CommonplaceError, InvalidJson, TimedOut
from commonplace.server.errors import error_response
from commonplace.server.exchange import header
from commonplace.server.in_flight import BytesInFlight, RequestBytes

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 250_000
_BRACKETS: Final = (b"[", b"{")
_NO_NUMBER: Final = re.compile(rb"NaN|Infinity")
_STREAMS: Final = ("text/event-stream", "application/x-ndjson", "application/jsonl")
_UNTIMED: Final = ("/v1/import", "/v1/load", "/v1/reindex", "/v1/extract", "/memory/import")
# The only route that reads its body piece by piece, once it knows whose it is. Every other would hold all of it.
_TAKES_STREAMS: Final = "/v1/load"


SIGN_IN: Final = "/v1/sign-in"
SIGN_IN_BODY: Final = 16 << 10


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyLimits:
    """In bytes: of a body, of one that is read as a stream, and of one whose sender nobody knows yet."""

    body: int
    stream: int
    anonymous: int

    def before_known(self, path: str) -> int:
        return min(self.body, SIGN_IN_BODY if path == SIGN_IN else self.anonymous)


class Bodies:
    """
    A body is read whole, within a time, and JSON is looked at; only a file to be loaded passes through as it comes. Before more of it is
    read than anybody may send, `identify` must say that the caller shows a credential which counts.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: BodyLimits,
        patience: float,
        in_flight: BytesInFlight,
        identify: Callable[[Scope], Awaitable[bool]],
    ) -> None:
        self._app = app
        self._limits = limits
        self._patience = patience
        self._in_flight = in_flight
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        kind = (header(scope, b"content-type") or "").lower()
        streamed = kind.startswith(_STREAMS) and scope["path"] == _TAKES_STREAMS
        limit = self._limits.stream if streamed else self._limits.body
        with self._in_flight.request() as request:
            try:
                length = _declared_length(scope, limit)
                if streamed:
                    receiver = self._counted(receive, limit)
                else:
                    if length > self._limits.before_known(scope["path"]):
                        await self._require_known(scope)
                    body = await self._whole(scope, receive, request)
                    if body is None:
                        return
                    if not kind or "json" in kind:
                        check_json(body)
                    receiver = _replayed(body, receive)
            except CommonplaceError as error:
                await error_response(scope, error, close=True)(scope, receive, send)
                return
            await self._app(scope, receiver, send)

    async def _whole(self, scope: Scope, receive: Receive, request: RequestBytes) -> bytes | None:
        """The body; None where the caller went away in the middle of it."""
        parts: list[bytes] = []
        open_limit = self._limits.before_known(scope["path"])
        with anyio.move_on_after(self._patience):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                before = request.size
                if before + len(part) > self._limits.body:
                    raise BodyTooLarge(limit=self._limits.body)
                if before <= open_limit < before + len(part):
                    await self._require_known(scope)
                request.take(len(part))
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
        raise BodyTooSlow

    async def _require_known(self, scope: Scope) -> None:
        if not await self._identify(scope):
            limit = self._limits.before_known(scope["path"])
            raise BodyTooLarge(
                f"Without a key in the header a request here has at most {limit >> 10:,} KiB. Send less at a time, or send "
                "`Authorization: Bearer …`, too.",
                limit=limit,
            )

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


def _declared_length(scope: Scope, limit: int) -> int:
    length = header(scope, b"content-length") or "0"
    if not length.isdecimal() or int(length[:20]) > limit:
        raise BodyTooLarge(limit=limit)
    return int(length)


def _replayed(body: bytes, receive: Receive) -> Receive:
    is_replayed = False

    async def replayed() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
