"""What operators look at: are we up, can we work, how much is going on, and the page that explains the doors."""

from __future__ import annotations

from typing import Any, Final

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from commonplace.errors import StoreError
from commonplace.server.auth import KeyedCaller, Local, Served, app_state
from commonplace.server.docs import CSP, page
from commonplace.server.openapi import document
from commonplace.service.services import Services
from commonplace.values.scope import DEFAULT_TENANT

PATIENCE: Final = 2.0

router = APIRouter(tags=["operators"])


@router.get("/health", summary="Are you there?")
async def health(request: Request) -> dict[str, str]:
    """Answers as long as the process runs. Needs no key."""
    return {"status": "ok", "version": app_state(request).version}


@router.get("/ready", summary="Can you work?", responses={503: {"description": "The store does not answer."}})
async def ready(services: Served, who: Local) -> Response:
    """
    Asks the store. On a loopback address it needs no key. A store of which something could not be read is `damaged`: the rest is
    still answered, so the status stays 200. `GET /v1/check` names what it is.
    """
    up = await is_up(services)
    damaged = up and bool(await services.desk.store.maintenance.damage())
    body: dict[str, Any] = {"status": ("damaged" if damaged else "ready") if up else "unavailable"}
    if who is not None:
        body["store"] = ("damaged" if damaged else "up") if up else "down"
    return JSONResponse(body, status_code=200 if up else 503, headers={} if up else {"Retry-After": "1"})


@router.get("/metrics", summary="How much is going on?", response_class=PlainTextResponse)
async def metrics(request: Request, services: Served, who: KeyedCaller) -> Response:
    """For Prometheus. Needs a key."""
    del who
    up = await is_up(services)
    damage = len(await services.desk.store.maintenance.damage())
    leases = await services.desk.store.session_leases.session_leases() if up else []
    sessions = sum(lease.channel is None for lease in leases)
    text = await anyio.to_thread.run_sync(
        lambda: app_state(request).metrics.text(store_up=up, unreadable=damage, sessions=sessions)
    )
    return Response(text, media_type=CONTENT_TYPE_LATEST)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request, who: Local) -> HTMLResponse:
    del who
    return HTMLResponse(page(document(request.app), _address(request)), headers={"Content-Security-Policy": CSP})


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, who: Local) -> JSONResponse:
    del who
    return JSONResponse(document(request.app))


async def is_up(services: Services) -> bool:
    with anyio.move_on_after(PATIENCE):
        try:
            await services.desk.store.recall.marks(DEFAULT_TENANT, [])
        except StoreError:
            return False
        return True
    return False


def _address(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}"
