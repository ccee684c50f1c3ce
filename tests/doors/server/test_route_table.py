"""The table of routes and routes that are tried in turn lead to the same place."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.endpoints import HTTPEndpoint
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, NoMatchFound, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.server.auth import AppState
from commonplace.server.exchange import template_of
from commonplace.server.route_table import RouteTable
from commonplace.testing.daemon import served

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"]


def answering(name: str) -> ASGIApp:
    """An application that says which one it is, and what the path says."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        names = sorted(scope["path_params"].items())
        await PlainTextResponse(f"{name} {names} {template_of(scope)}")(scope, receive, send)

    return answer


def route(number: int, path: str, methods: Sequence[str] | None = None) -> Route:
    """A route of this path that does nothing but answer."""
    found = Route(path, HTTPEndpoint, methods=methods)
    found.app = answering(f"{number} {path}")
    return found


@dataclass(frozen=True)
class Ways:
    """The two ways to a route, over the same routes."""

    routes: Sequence[BaseRoute]
    table: ASGIApp
    turn: ASGIApp

    @classmethod
    def over(cls, routes: Sequence[BaseRoute]) -> "Ways":
        return cls(routes, Router([RouteTable(routes)], redirect_slashes=False), Router(routes, redirect_slashes=False))

    def lead(self, method: str, path: str, root: str = "") -> tuple[Any, Any]:
        return self._lead(self.table, method, path, root), self._lead(self.turn, method, path, root)

    def _lead(self, way: ASGIApp, method: str, path: str, root: str) -> list[Message]:
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "root_path": root,
            "headers": [],
            "query_string": b"",
        }
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        try:
            # Nothing here waits for anything, so no loop is needed.
            cast("Coroutine[Any, Any, None]", way(scope, receive, send)).send(None)
        except StopIteration:
            return messages
        raise AssertionError("it waits")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Ways:
    async def found(home: Path) -> Sequence[BaseRoute]:
        async with served(home) as running:
            return AppState.of(running.app).routes

    routes = asyncio.run(found(tmp_path_factory.mktemp("routes")))
    templates = [(each.path, sorted(each.methods or ())) for each in routes if isinstance(each, APIRoute)]
    assert len(templates) == len(routes) > 100
    return Ways.over([route(number, path, methods) for number, (path, methods) in enumerate(templates)])


def paths(routes: Sequence[BaseRoute]) -> st.SearchStrategy[str]:
    """Paths that routes have, that they nearly have, and that none has."""
    known = sorted({each.path for each in routes if isinstance(each, Route | Mount)})
    words = sorted({part for path in known for part in path.split("/") if "{" not in part})
    part = st.sampled_from([*words, "", "a", "0f", "a b", "é", "..", "x\n", "{id}"]) | st.text(max_size=4)

    def filled(template: str, parts: Sequence[str], end: str) -> str:
        values = iter(parts)
        return "/".join(next(values, "x") if "{" in piece else piece for piece in template.split("/")) + end

    def joined(parts: Sequence[str]) -> str:
        return "/" + "/".join(parts)

    ends = st.sampled_from(["", "", "", "/", "//", "\n", "/x", "?", " "])
    whole = st.builds(filled, st.sampled_from(known), st.lists(part, max_size=4), ends)
    return whole | st.builds(joined, st.lists(part, max_size=5)) | st.text(max_size=6)


def test_a_request_is_led_to_the_same_route_as_if_all_were_tried_in_turn(ours: Ways) -> None:
    @settings(max_examples=1_000, deadline=None)
    @given(path=paths(ours.routes), method=st.sampled_from(METHODS))
    @example(path="/", method="GET")
    @example(path="*", method="OPTIONS")
    @example(path="/health\n", method="GET")
    @example(path="/v1/agents/learnings", method="DELETE")
    def same(path: str, method: str) -> None:
        table, turn = ours.lead(method, path)

        assert table == turn

    same()


def strange() -> Ways:
    """Routes as we have none: mounts, patterns at the very beginning, one path twice, routers in routers."""
    inner = APIRouter()
    inner.routes.extend([route(90, "/inner/{x}"), route(91, "/a/b/c")])
    outer = APIRouter()
    outer.include_router(inner)
    templates = ("/a/b/c", "/a/b/{x}", "/{first}/b/{third}", "/a/{x:path}", "/b/{x}/{y}.json", "/b/n/{x:int}", "/a")
    first = [route(number, path, ["GET"]) for number, path in enumerate(templates)]
    mounted = Mount("/m", app=answering("mounted"))
    last = [route(20, "/a/b/c", ["PUT"]), route(21, "/m/late"), route(22, "/a", ["POST"])]
    return Ways.over([*first, mounted, *last, *outer.routes])


def test_so_it_is_where_routes_are_stranger_than_ours() -> None:
    those = strange()

    @settings(max_examples=600, deadline=None)
    @given(path=paths(those.routes), method=st.sampled_from(METHODS), root=st.sampled_from(["", "", "", "/a"]))
    @example(path="/m/late", method="GET", root="")
    @example(path="/a/a/b", method="GET", root="/a")
    @example(path="/a/b/c", method="PUT", root="")
    @example(path="/a/b/", method="GET", root="")
    def same(path: str, method: str, root: str) -> None:
        table, turn = those.lead(method, path, root)

        assert table == turn

    same()


def test_no_name_leads_into_the_table() -> None:
    with pytest.raises(NoMatchFound):
        RouteTable([route(1, "/a")]).url_path_for("HTTPEndpoint")
