"""
Around everything: each request gets an id, a log line, its place in the metrics and a span; and what nobody expected
becomes an answer here, so that no message of a library reaches a caller or the log.
"""

from __future__ import annotations

import logging
import re
from contextlib import ExitStack
from time import perf_counter
from typing import Any, Final
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.errors import InternalError
from commonplace.server.errors import error_response
from commonplace.server.exchange import Exchange, begin, header, template_of
from commonplace.server.logs import log
from commonplace.server.metrics import Metrics
from commonplace.server.telemetry import Tracing

GONE: Final = 499
"""The caller went away before the answer was there."""

_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_QUIET: Final = frozenset({"/health", "/ready", "/metrics"})
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class RequestLog:
    def __init__(self, app: ASGIApp, *, metrics: Metrics, tracing: Tracing | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = header(scope, b"x-request-id") or ""
        exchange = begin(scope, request_id if _ID.fullmatch(request_id) else uuid4().hex)
        started = perf_counter()
        with ExitStack() as stack:
            span = (
                stack.enter_context(self._tracing.request(exchange.method, _trace_headers(scope)))
                if self._tracing
                else None
            )
            try:
                await self._answer(scope, receive, send, exchange)
            finally:
                self._record(scope, exchange, perf_counter() - started, span)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, exchange: Exchange) -> None:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = exchange.id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except Exception as error:
            has_begun = exchange.status is not None
            log(logging.ERROR, "unexpected", error, request=exchange.id, route=template_of(scope))
            if has_begun:
                # Half an answer cannot be taken back: the connection is closed.
                raise
            await error_response(scope, InternalError())(scope, receive, send_on)

    def _record(self, scope: Scope, exchange: Exchange, seconds: float, span: Any) -> None:
        route, status, who = template_of(scope), exchange.status or GONE, exchange.who
        self._metrics.requests.labels(exchange.door, route, exchange.method, str(status)).inc()
        self._metrics.seconds.labels(exchange.door, route, exchange.method).observe(seconds - exchange.waited)
        level = logging.ERROR if status >= 500 else logging.DEBUG if route in _QUIET else logging.INFO
        log(
            level,
            "request",
            request=exchange.id,
            method=exchange.method,
            route=route,
            status=status,
            ms=round(seconds * 1000, 1),
            door=exchange.door,
            tenant=who.tenant if who else None,
            subject=who.actor if who else None,
            code=exchange.error,
        )
        if self._tracing is not None and span is not None:
            attributes = {
                "http.request.method": exchange.method,
                "http.route": route,
                "http.response.status_code": status,
                "commonplace.door": exchange.door,
                "commonplace.request": exchange.id,
                "error.type": exchange.error,
            }
            self._tracing.end(span, route, attributes)


def _trace_headers(scope: Scope) -> dict[str, str]:
    names = (b"traceparent", b"tracestate")
    return {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in names}
