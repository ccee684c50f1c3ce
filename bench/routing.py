"""
What it costs a request that the daemon has so many routes: the same request, to an app with every door and to one that has only
the router of its route. Both are in this process, over the same services, and they are asked in turn.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.types import ASGIApp, Message

from commonplace.compose.daemon import options_of
from commonplace.compose.doors import DOORS
from commonplace.server.app import make_app
from commonplace.server.door import ApiDoor
from commonplace.settings import load_settings
from commonplace.testing.daemon import TOKEN, served

TIMES: Final = 500
REQUESTS: Final[Mapping[str, Any]] = {
    "GET /v1/sign-in": None,
    "POST /v1/search": {"text": "where is the office?"},
    "GET /v1/me": None,
    "GET /v1/knowledge/spaces": None,
    "GET /workspace/memory": None,
}
"""From the first routes to the last: a name, and the body."""


async def measure(home: Path, times: int = TIMES) -> list[dict[str, Any]]:
    """For each request, how long an app with every route takes and one with few."""
    rows: list[dict[str, Any]] = []
    async with served(home) as running:
        for name, body in REQUESTS.items():
            few = make_app(running.services, options_of(load_settings(home=home)), [_door_of(name)])
            seconds = await timed({"all": running.app, "few": few}, name, body, times)
            every, alone = seconds["all"], seconds["few"]
            rows.append(
                {
                    "request": name,
                    "times": times,
                    "all_routes_us": round(every * 1e6, 1),
                    "few_routes_us": round(alone * 1e6, 1),
                    "share": round((every - alone) / every, 3),
                }
            )
    return rows


async def timed(apps: Mapping[str, ASGIApp], name: str, body: Any, times: int) -> dict[str, float]:
    """The median of the seconds that each app takes for the request."""
    seconds: dict[str, list[float]] = {way: [] for way in apps}
    for turn in range(times + times // 10):
        for way, app in apps.items():
            began = time.perf_counter()
            status = await ask(app, name, body)
            if turn >= times // 10:
                seconds[way].append(time.perf_counter() - began)
            assert status == 200, (name, status)
    return {way: median(taken) for way, taken in seconds.items()}


async def ask(app: ASGIApp, name: str, body: Any) -> int:
    """The status of the answer."""
    method, _, path = name.partition(" ")
    content = b"" if body is None else json.dumps(body).encode()
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())]
    if content:
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 4170),
    }
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses[0]


def _door_of(name: str) -> ApiDoor:
    """The door of a request, with the router of its route alone."""
    for door in DOORS:
        for router in door.routers:
            app = FastAPI()
            app.include_router(router)
            if name in _names(app):
                return ApiDoor(routers=(router,), use_cases=door.use_cases)
    raise LookupError(name)


def _names(app: FastAPI) -> Iterator[str]:
    for context in iter_route_contexts(app.routes):
        for method in context.methods or ():
            yield f"{method} {context.path}"
