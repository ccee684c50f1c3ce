"""
The routes of the server, in a table by the beginnings of their paths.

The framework tries one route after another, and one router (or `Mount`) for each door would not change that, since one door has most
of the routes. So routes that begin alike share a router of the framework, in their order, and a request meets only the router that
its path leads to. `python -m bench routing` measures what the number of routes costs: an app with all of them beside one with few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from starlette.datastructures import URLPath
from starlette.routing import BaseRoute, Match, NoMatchFound, Route, Router
from starlette.types import Receive, Scope, Send

Beginning: TypeAlias = tuple[str | None, str | None]
"""The first two parts of a path; None stands for any."""

_ANY: Final[Beginning] = (None, None)


class RouteTable(BaseRoute):
    """Stands for `routes`: the request is answered as if they were tried in turn."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        begun = [(route, *_beginning(route)) for route in routes]
        keys: set[Beginning] = {_ANY}
        for _, first, second in begun:
            keys |= {(first, None), (first, second)}
        self._routers = {
            (first, second): Router(
                [route for route, *start in begun if start[0] in (None, first) and start[1] in (None, second)],
                redirect_slashes=False,
            )
            for first, second in keys
        }

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        del scope
        return Match.FULL, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        # As the framework reads a path: without what stands before ours, and a line's end behind it counts for nothing.
        first, second = _parts(scope["path"].removeprefix(scope.get("root_path", "")).removesuffix("\n"))
        routers = self._routers
        router = routers.get((first, second)) or routers.get((first, None)) or routers[_ANY]
        await router(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        raise NoMatchFound(name, path_params)


def _beginning(route: BaseRoute) -> Beginning:
    if not isinstance(route, Route):
        return _ANY
    first, second = (None if "{" in part else part for part in _parts(route.path))
    return _ANY if first is None else (first, second)


def _parts(path: str) -> tuple[str, str]:
    _, first, second, *_ = f"{path}//".split("/", 3)
    return first, second
