"""
Which route a request is for, found without trying them all.

The framework tries the pattern of each route in turn, and at each level of routers anew. Here the routes are put under the
beginnings of their paths, once, so that a request meets only those few that it can be for, in the same order as before. What
is found is handed on as the framework hands it on. What is not (a path that nobody has, a mount) is left to the framework, so
that whatever it answers is its own answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from fastapi import APIRouter
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

_SCOPE: Final = "fastapi"
_TELEMETRY: Final = "fastapi.telemetry"
_CONTEXT: Final = "effective_route_context"

Beginning: TypeAlias = tuple[str | None, str | None]
"""The first two parts of a path; None stands for any."""


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
    """
    A route. `effective` is the route itself, or, where the router includes its router, what the framework makes of both; None
    where that is not ours to tell.
    """

    context: RouteContext
    effective: Any | None

    @classmethod
    def of(cls, context: RouteContext, *, included: bool) -> Sign:
        route = context.original_route
        if not isinstance(route, APIRoute):
            return cls(context, None)
        # It has no public name. Where it is called otherwise one day, every such request takes the framework's own way.
        return cls(context, vars(context).get("_route_context") if included else route)

    @property
    def inclusion(self) -> Any | None:
        """What the framework looks for in the scope of a request where the router includes the route's router."""
        return None if self.effective is self.context.original_route else self.effective

    @property
    def path(self) -> str:
        return self.context.path or ""

    @property
    def beginning(self) -> Beginning:
        if self.effective is None:
            return None, None
        first, second = (None if "{" in part else part for part in _parts(self.path))
        return (None, None) if first is None else (first, second)

    def fits(self, path: str) -> bool:
        return self.effective is None or self.effective.path_regex.match(path) is not None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        found: tuple[Match, Scope] = (self.effective or self.context).matches(scope)
        return found


class Signpost:
    """Stands before a router, whose routes are all there by now: `router.middleware_stack = Signpost(router)`."""

    def __init__(self, router: APIRouter) -> None:
        self._router = router
        self._otherwise = router.middleware_stack
        own = {id(route) for route in router.routes}
        self.signs: Final = tuple(
            Sign.of(context, included=id(context.original_route) not in own)
            for context in iter_route_contexts(router.routes)
        )
        plain = {sign.path for sign in self.signs if "{" not in sign.path}
        self._whole = {path: tuple(sign for sign in self.signs if sign.fits(path)) for path in plain}
        self._below = _under_beginnings(self.signs)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self.find(scope)
        if found is None:
            await self._otherwise(scope, receive, send)
            return
        sign, told = found
        route = sign.context.original_route
        scope.setdefault("router", self._router)
        scope.update(told)
        if sign.inclusion is not None:
            scope.setdefault(_SCOPE, {})[_CONTEXT] = sign.inclusion
        scope["route"] = route
        await route.handle(scope, receive, send)

    def find(self, scope: Scope) -> tuple[Sign, Scope] | None:
        """The route, which may have another method than was asked for, and what the path says; None: let the framework look."""
        if scope["type"] != "http" or scope.get("root_path") or _TELEMETRY in scope:
            return None
        other: tuple[Sign, Scope] | None = None
        for sign in self._candidates(scope["path"]):
            match, told = sign.matches(scope)
            if match is Match.NONE:
                continue
            if sign.effective is None:
                return None
            if match is Match.FULL:
                return sign, told
            other = other or (sign, told)
        return other

    def _candidates(self, path: str) -> tuple[Sign, ...]:
        whole = self._whole.get(path)
        if whole is not None:
            return whole
        # A pattern takes a line's end after its own end for nothing.
        if not path.startswith("/") or path.endswith("\n"):
            return ()
        first, second = _parts(path)
        below = self._below
        return below.get((first, second)) or below.get((first, None)) or below[None, None]


def _parts(path: str) -> tuple[str, str]:
    _, first, second, *_ = f"{path}//".split("/", 3)
    return first, second


def _under_beginnings(signs: Iterable[Sign]) -> dict[Beginning, tuple[Sign, ...]]:
    """For each beginning that a route names, all that a path which begins so can be for."""
    begun = [(sign, *sign.beginning) for sign in signs]
    keys: set[Beginning] = {(None, None)}
    for _, first, second in begun:
        keys |= {(first, None), (first, second)}
    return {
        (one, two): tuple(
            sign for sign, first, second in begun if first is None or (first == one and second in (None, two))
        )
        for one, two in keys
    }
