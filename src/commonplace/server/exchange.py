"""One request and its answer, as the parts of the server tell each other about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, cast

from starlette.types import Scope

from commonplace.values.principal import Principal

DoorName = Literal["native", "keyed", "governed", "gateway", "remember", "sessions", "mcp", "operators"]

_KEY: Final = "commonplace.exchange"
_PATHS: Final[tuple[tuple[str, DoorName], ...]] = (
    ("/v1", "native"),
    ("/api", "keyed"),
    ("/memory", "governed"),
    ("/context", "governed"),
    ("/users", "gateway"),
    ("/memories", "gateway"),
    ("/resources", "gateway"),
    ("/workspace", "remember"),
    ("/capabilities", "remember"),
    ("/channel", "remember"),
    ("/session", "sessions"),
    ("/sessions", "sessions"),
    ("/permission", "sessions"),
    ("/daemon", "sessions"),
    ("/mcp", "mcp"),
    ("/health", "operators"),
    ("/ready", "operators"),
    ("/metrics", "operators"),
    ("/docs", "operators"),
    ("/openapi.json", "operators"),
    ("/console", "operators"),
)
_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


@dataclass(kw_only=True, slots=True)
class Exchange:
    """
    `error` is the code of what went wrong. `who` is known once a key was looked at. `waited`: for how many seconds the caller
    wanted to wait for something.
    """

    id: str
    method: str
    door: DoorName
    who: Principal | None = None
    status: int | None = None
    error: str | None = None
    waited: float = 0.0


def door_of(path: str) -> DoorName:
    """Which way in a path is. What belongs to none is answered as our own API would."""
    for start, door in _PATHS:
        if path == start or path.startswith(f"{start}/"):
            return door
    return "native"


def begin(scope: Scope, id: str) -> Exchange:
    method = scope["method"] if scope["method"] in _METHODS else "OTHER"
    exchange = Exchange(id=id, method=method, door=door_of(scope["path"]))
    scope[_KEY] = exchange
    return exchange


def exchange_of(scope: Scope) -> Exchange:
    return cast(Exchange, scope[_KEY])


def template_of(scope: Scope) -> str:
    """The route as it is written down, so that no id of anybody's gets into a log or a metric."""
    path = getattr(scope.get("route"), "path_format", None)
    return path if isinstance(path, str) and path else "unmatched"


def header(scope: Scope, name: bytes) -> str | None:
    """The header, where it was sent once; sent twice with different values it counts as not sent."""
    values = {value for key, value in scope["headers"] if key == name}
    return values.pop().decode("latin-1") if len(values) == 1 else None
