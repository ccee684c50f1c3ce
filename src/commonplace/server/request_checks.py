"""
Who may knock at all: the right host (against DNS rebinding), the right origin (against pages of others), and a key or a
session in the hand. Whether it opens anything is for `auth`.

Starlette's `TrustedHostMiddleware` cannot check the hosts: it compares names, and every loopback address is a host of ours; it
sends `example.org` on to an allowed `www.example.org`; and it answers in plain text, not in the shape of a door. Its
`CORSMiddleware` answers the pages that were allowed. Which ones those are is decided here: alone it would keep the others from
reading an answer, but still do what they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.errors import HostNotAllowed, OriginNotAllowed, Unauthenticated
from commonplace.server.errors import error_response
from commonplace.server.exchange import header
from commonplace.server.options import is_loopback

_EXPOSED: Final = ("ETag", "Link", "Location", "Retry-After", "X-Request-Id")
_METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
_HEADERS: Final = (
    "Authorization Content-Type Idempotency-Key If-Match If-None-Match Last-Event-ID Mcp-Protocol-Version Mcp-Session-Id "
    "X-Client-Id X-Hand X-Qwen-Client-Id X-Request-Id X-Tenant"
).split()
_OWN_SITES: Final = frozenset({None, "same-origin", "none"})
_SAFE: Final = frozenset({"GET", "HEAD"})
OURS: Final = ("x-commonplace", "console")
"""The header of a request that the console's own scripts send; a page of another origin has to ask before it can."""


class Hosts:
    """
    On a loopback address the host must be this machine, or one that was allowed. On others any host will do unless some
    were named: there a key is always needed.
    """

    def __init__(self, app: ASGIApp, *, bound: str, allowed: Collection[str]) -> None:
        self._app = app
        self._any = not is_loopback(bound) and not allowed
        self._allowed = frozenset(name.lower().strip("[]") for name in (*allowed, bound))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._fits(header(scope, b"host")):
            await error_response(scope, HostNotAllowed())(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _fits(self, host: str | None) -> bool:
        if self._any:
            return True
        try:
            name = urlsplit(f"//{host or ''}").hostname or ""
        except ValueError:
            return False
        return is_loopback(name) or name in self._allowed


class Origins:
    """A browser says which page sent a request. Only our own and those that were allowed may, and only they may read on."""

    def __init__(self, app: ASGIApp, *, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = frozenset(origin.lower().rstrip("/") for origin in allowed)
        self._shared = CORSMiddleware(
            app,
            # Only pages that were allowed get as far as this.
            allow_origin_regex=".*",
            allow_methods=_METHODS,
            allow_headers=_HEADERS,
            allow_private_network=True,
            expose_headers=_EXPOSED,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        origin = origins[0].decode("latin-1") if origins else None
        own = origin is None or (len(origins) == 1 and _host(origin) == (header(scope, b"host") or "").lower())
        if origin is None and _from_elsewhere(scope):
            own = False
        if own:
            await self._app(scope, receive, send)
        elif origin is not None and len(origins) == 1 and self._fits(origin):
            await self._shared(scope, receive, send)
        else:
            await error_response(scope, OriginNotAllowed())(scope, receive, send)

    def _fits(self, origin: str) -> bool:
        return "*" in self._allowed or origin.lower() in self._allowed


class Gate:
    """
    A request without any key or session ends here, whatever route it is for, before its body is read. `is_open` tells which paths
    are for everybody or carry their credential in the body.
    """

    def __init__(self, app: ASGIApp, *, is_open: Callable[[str], bool]) -> None:
        self._app = app
        self._is_open = is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_open(scope["path"]) and not _shows_something(scope):
            await error_response(scope, Unauthenticated())(scope, receive, send)
            return
        await self._app(scope, receive, send)


def cookie_name(scope: Scope) -> str:
    """It bears the port that was asked: browsers share cookies between the ports of a host."""
    url = HTTPConnection(scope).url
    return f"commonplace-{url.port or (443 if url.scheme == 'https' else 80)}"


def session_of(scope: Scope) -> str | None:
    """The session that came with a request, in its cookie."""
    if not any(name == b"cookie" for name, _ in scope["headers"]):
        return None
    return HTTPConnection(scope).cookies.get(cookie_name(scope)) or None


def require_own_page(scope: Scope) -> None:
    """
    A browser adds the cookie by itself, so a request that comes with it must be one of our own pages', or of nobody's.

    Raises:
        OriginNotAllowed: another page may have sent it.
    """
    connection = HTTPConnection(scope)
    origin = connection.headers.get("origin")
    if connection.headers.get("sec-fetch-site") not in _OWN_SITES:
        raise OriginNotAllowed("A page of another origin sent this with your session.")
    if origin is not None and _host(origin) != connection.headers.get("host", "").lower():
        raise OriginNotAllowed("A page of another origin sent this with your session.")
    if scope["method"] not in _SAFE and connection.headers.get(OURS[0]) != OURS[1]:
        raise OriginNotAllowed("With a session, whatever changes something bears the header X-Commonplace: console.")


def _shows_something(scope: Scope) -> bool:
    return bool(header(scope, b"authorization")) or session_of(scope) is not None


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _from_elsewhere(scope: Scope) -> bool:
    """A page of somebody else asked, by a picture or a script; following a link from there is fine."""
    return header(scope, b"sec-fetch-site") == "cross-site" and header(scope, b"sec-fetch-mode") != "navigate"
