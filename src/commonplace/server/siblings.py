"""
The workers of one daemon, to each other: a request for a session that another worker leads is passed on to it, whole, and its answer
comes back as it is.

Each worker listens on a socket of its own in a folder that nobody else can open. What comes by it says where its caller really is, since
it is a worker that says so; everything else is checked again, as if it had come from outside: the key, the limits, the page it is from.

It is done for every route alike, when a use case says that the session is elsewhere: a route knows nothing of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import httpx
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.server.auth import AppState
from commonplace.server.errors import error_response
from commonplace.server.exchange import exchange_of, header
from commonplace.server.logs import log
from commonplace.values.session import SessionsUnavailable
from commonplace.values.session_lease import PerhapsElsewhere, SessionElsewhere, SessionMoving

OWNER: Final = "X-Commonplace-Owner"
"""The header of a refusal that names the daemon to ask instead."""
SUFFIX: Final = ".sock"
_PEER: Final = b"x-commonplace-peer"
_SCHEME: Final = b"x-commonplace-scheme"
_PASSED_ON: Final = "commonplace.passed_on"
_HOPS: Final = frozenset(
    b"connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect date server".split()
)
_TOLD: Final = frozenset({b"x-request-id", b"content-length", _PEER, _SCHEME})
"""Headers that are written anew."""
_LIMITS: Final = {"connect": 2.0, "read": None, "write": 30.0, "pool": None}
_PATIENCE: Final = {**_LIMITS, "read": 5.0}
"""Seconds. Whoever asks everybody does not wait for a worker that hangs; whoever asks the one that leads a session waits as the caller does."""
_STREAM: Final = "text/event-stream"
_MOST: Final = 1 << 20
"""Bytes of an answer that is looked at before it is passed on."""


class Siblings:
    """Those whose sockets are in one folder; `own` is this worker's."""

    def __init__(self, own: Path) -> None:
        self.own = own
        self._transports: dict[Path, httpx.AsyncHTTPTransport] = {}

    def has(self, socket: str) -> bool:
        """Whether it is that of another worker of this daemon."""
        return Path(socket).parent == self.own.parent and Path(socket) != self.own

    @property
    def others(self) -> list[Path]:
        """The sockets of all the others."""
        return [path for path in sorted(self.own.parent.glob(f"*{SUFFIX}")) if path != self.own]

    async def ask(self, socket: Path, request: httpx.Request) -> httpx.Response:
        """Raises httpx.TransportError."""
        if socket not in self._transports:
            # A connection that was kept may end in the moment it is used again, and nobody could tell what became of the request.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            self._transports[socket] = httpx.AsyncHTTPTransport(uds=str(socket), limits=limits, verify=False)
        return await self._transports[socket].handle_async_request(request)

    async def aclose(self) -> None:
        for transport in self._transports.values():
            await transport.aclose()


class FromSibling:
    """The application as the other workers reach it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        peer = (header(scope, _PEER) or "").rpartition(" ")
        fields = {
            "client": (peer[0], int(peer[2])) if peer[0] and peer[2].isdecimal() else None,
            "scheme": header(scope, _SCHEME) or "http",
            "headers": [pair for pair in scope["headers"] if pair[0] not in (_PEER, _SCHEME)],
            _PASSED_ON: True,
        }
        await self._app({**scope, **fields}, receive, send)


# ---- what becomes of a request for a session that is not here


async def answer_elsewhere(request: Request, error: Exception) -> Response:
    """Passed on to a worker of this daemon; for another daemon the answer says where that is."""
    assert isinstance(error, SessionElsewhere)
    state, lease = AppState.of(request.app), error.lease
    siblings, holder = state.options.siblings, lease.holder if lease is not None else None
    if siblings is not None and holder is not None and holder.socket is not None and siblings.has(holder.socket):
        if request.scope.get(_PASSED_ON):
            # It was taken over while the request was on its way.
            return error_response(request.scope, SessionMoving(retry_after=1))
        state.metrics.passed_on.inc()
        return PassedOn(request, siblings, Path(holder.socket), await request.body())
    if os.name == "nt" and holder is not None and holder.url == state.options.url:
        return error_response(request.scope, SessionsUnavailable())
    response = error_response(request.scope, error)
    if holder is not None and holder.url is not None:
        response.headers[OWNER] = holder.url
    return response


async def answer_perhaps(request: Request, error: Exception) -> Response:
    """
    A request that names no session, such as a vote on a permission by its id alone: the other workers are asked, one after the other. There are
    few of them, and a person waits for such an answer, so that a directory of what waits where would cost more than it saves.
    """
    assert isinstance(error, PerhapsElsewhere)
    siblings = AppState.of(request.app).options.siblings
    if siblings is not None and not request.scope.get(_PASSED_ON):
        body = await request.body()
        for socket in siblings.others:
            answer = await _asked(siblings, socket, _request(request, body, _PATIENCE))
            if answer is not None and answer.status_code != error.status:
                return answer
    return error_response(request.scope, error)


async def beside(request: Request) -> list[Any]:
    """
    What each of the other workers answers to this request, which only reads, as JSON: for what tells of every session of the daemon. One that
    does not answer is left out.
    """
    siblings = AppState.of(request.app).options.siblings
    if siblings is None or request.scope.get(_PASSED_ON):
        return []
    sockets = siblings.others
    answers = await asyncio.gather(*(_asked(siblings, socket, _request(request, b"", _PATIENCE)) for socket in sockets))
    return [json.loads(bytes(answer.body)) for answer in answers if answer is not None and answer.status_code == 200]


async def _asked(siblings: Siblings, socket: Path, request: httpx.Request) -> Response | None:
    """A short answer, whole; None: nobody is there."""
    try:
        upstream = await siblings.ask(socket, request)
        try:
            content = b""
            async for part in upstream.aiter_raw():
                content += part
                if len(content) > _MOST:
                    return None
        finally:
            await upstream.aclose()
    except httpx.TransportError:
        return None
    answer = Response(content, upstream.status_code)
    answer.raw_headers = _passing(upstream.headers.raw)
    return answer


def _request(request: Request, body: bytes, limits: Mapping[str, float | None] = _LIMITS) -> httpx.Request:
    """As it came, with where it came from."""
    scope = request.scope
    headers = [pair for pair in _passing(scope["headers"]) if pair[0] not in _TOLD]
    headers.append((b"x-request-id", exchange_of(scope).id.encode()))
    headers.append((_SCHEME, scope["scheme"].encode()))
    if request.client is not None:
        headers.append((_PEER, f"{request.client.host} {request.client.port}".encode()))
    if body:
        headers.append((b"content-length", b"%d" % len(body)))
    query: bytes = scope["query_string"]
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    url = httpx.URL(scheme="http", host="worker", raw_path=path + (b"?" + query if query else b""))
    return httpx.Request(
        scope["method"], url, headers=headers, content=body or None, extensions={"timeout": dict(limits)}
    )


def _passing(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Without what is for one connection alone."""
    return [(name.lower(), value) for name, value in headers if name.lower() not in _HOPS]


class PassedOn(Response):
    """The answer of another worker, as it comes."""

    def __init__(self, request: Request, siblings: Siblings, socket: Path, body: bytes) -> None:
        super().__init__()
        self._request = request
        self._siblings = siblings
        self._socket = socket
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            upstream = await self._siblings.ask(self._socket, _request(self._request, self._body))
        except httpx.TransportError as error:
            log(logging.WARNING, "not_passed_on", error, request=exchange_of(scope).id)
            await error_response(scope, SessionMoving(retry_after=1))(scope, receive, send)
            return
        try:
            await self._tell(upstream, scope, receive, send)
        finally:
            await upstream.aclose()

    async def _tell(self, upstream: httpx.Response, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _passing(upstream.headers.raw)
        await send({"type": "http.response.start", "status": upstream.status_code, "headers": headers})
        if upstream.headers.get("content-type", "").startswith(_STREAM):
            # It has no end of its own: it ends with its listener, with this worker, or with the other one.
            with suppress(httpx.TransportError):
                await _first(_copied(upstream, send), _gone(receive), scope["app"].state.stopping.wait())
        else:
            await _copied(upstream, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _copied(upstream: httpx.Response, send: Send) -> None:
    async for part in upstream.aiter_raw():
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Until whoever asked has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first(*work: Coroutine[Any, Any, object]) -> None:
    """Until the first of them ends. Raises what it raised."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in ended:
        task.result()


ELSEWHERE: Final[dict[Any, Any]] = {SessionElsewhere: answer_elsewhere, PerhapsElsewhere: answer_perhaps}
