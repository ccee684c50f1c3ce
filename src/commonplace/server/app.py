"""The server as a whole: the doors in their frame."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from fastapi import FastAPI
from starlette.middleware import Middleware

from commonplace.governance.limits import RateLimits
from commonplace.server import console, operators
from commonplace.server.auth import AppState, identify, is_open, require_access
from commonplace.server.bodies import Bodies, BodyLimits, Deadlines
from commonplace.server.cancellation import Cancellation
from commonplace.server.close_after_response import CloseAfterResponse
from commonplace.server.door import ApiDoor
from commonplace.server.errors import HANDLERS
from commonplace.server.in_flight import BytesInFlight
from commonplace.server.metrics import Metrics
from commonplace.server.options import Options, our_version
from commonplace.server.request_checks import Gate, Hosts, Origins
from commonplace.server.request_log import RequestLog
from commonplace.server.route_table import RouteTable
from commonplace.server.siblings import ELSEWHERE
from commonplace.server.telemetry import OFF, Observed, observe
from commonplace.service.services import Services

ABOUT: Final = (
    "One memory behind many doors. Send `Authorization: Bearer …` with every request: the operator's token, which "
    "`commonplace token` prints, or a key made with `commonplace key create`."
)


def make_app(
    services: Services, options: Options, doors: Sequence[ApiDoor], use_cases: Sequence[object] = ()
) -> FastAPI:
    """
    The server over these services, with these doors and the use cases that whoever composes it brings along. `app.state.stopping` is set when it is about to end: streams end themselves then.

    Raises:
        RuntimeError: a route does not say who may enter.
    """
    metrics = Metrics()
    more: dict[str, Any] = {"telemetry": OFF}
    routers = (console.router, operators.router, *(router for door in doors for router in door.routers))
    # Not `include_router`, which makes every route a second time: no app here says more about a route than its router.
    routes = [route for router in routers for route in router.routes]
    require_access(routes)
    app = FastAPI(
        title="Commonplace",
        version=our_version(),
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        routes=[RouteTable(routes)],
        exception_handlers=HANDLERS | ELSEWHERE,
        middleware=_middleware(options, metrics),
        **more,
    )
    app.state.shared = AppState(
        services=observe(services, metrics, options.tracing),
        options=options,
        metrics=metrics,
        limits=RateLimits(options.rate_limits),
        version=app.version,
        routes=routes,
        use_cases={
            type(use_case): Observed(use_case, type(use_case).__name__.lower(), metrics, options.tracing)
            for door in doors
            for use_case in door.use_cases(services)
        }
        | {type(use_case): use_case for use_case in use_cases},
    )
    app.state.stopping = asyncio.Event()
    return app


def _middleware(options: Options, metrics: Metrics) -> list[Middleware]:
    """From the outside in."""
    limits = BodyLimits(body=options.max_body, stream=options.max_import, anonymous=options.max_anonymous_body)
    chain = [
        Middleware(RequestLog, metrics=metrics, tracing=options.tracing),
        Middleware(CloseAfterResponse),
        Middleware(Hosts, bound=options.host, allowed=options.allowed_hosts),
        Middleware(Origins, allowed=options.allowed_origins),
        Middleware(Gate, is_open=partial(is_open, options)),
        Middleware(
            Bodies,
            limits=limits,
            patience=options.body_timeout,
            in_flight=BytesInFlight(options.max_in_flight),
            identify=identify,
        ),
        Middleware(Deadlines, seconds=options.request_timeout),
        Middleware(Cancellation),
    ]
    return [middleware for middleware in chain if middleware.cls is not Gate or not options.open_to_all]
