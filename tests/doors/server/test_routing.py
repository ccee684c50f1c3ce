"""The quick way to a route and the framework's own lead to the same place."""

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.server.routing import Sign, Signpost
from commonplace.testing.daemon import served

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"]


@dataclass(frozen=True)
class Ways:
    """The two ways to a route, over the same routes."""

    quick: Signpost
    own: ASGIApp
    app: FastAPI

    def agree(self, method: str, path: str, kind: str = "http", root: str = "") -> tuple[Any, Any]:
        return self._led(self.quick, method, path, kind, root), self._led(self.own, method, path, kind, root)

    def _led(self, way: ASGIApp, method: str, path: str, kind: str, root: str) -> Any:
        """Where it leads: the route with what the path says, or the refusal."""
        scope: dict[str, Any] = {
            "type": kind,
            "method": method,
            "path": path,
            "root_path": root,
            "headers": [],
            "query_string": b"",
        }
        told: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            told.append(message)

        try:
            # Nothing here waits for anything, so no loop is needed.
            cast("Coroutine[Any, Any, None]", way(scope | {"app": self.app}, receive, send)).send(None)
        except StopIteration:
            return told
        except HTTPException as refused:
            return refused.status_code, refused.headers
        raise AssertionError("it waits")


def recorded(sign: Sign) -> ASGIApp:
    """In the place of what a route does: it says which one it is."""

    async def record(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope.get("fastapi", {}).get("effective_route_context") is sign.inclusion
        names = sorted((*scope["path_params"].items(), ("route", id(scope["route"])), ("at", id(scope["endpoint"]))))
        await PlainTextResponse(f"{sign.path} {names}")(scope, receive, send)

    return record


def ways(router: APIRouter, app: FastAPI, patch: pytest.MonkeyPatch) -> Ways:
    quick = Signpost(router)
    for sign in quick.signs:
        route: Any = sign.effective or sign.context.route
        if isinstance(sign.context.original_route, APIRoute):
            patch.setattr(route, "app", recorded(sign))
    return Ways(quick, router.app, app)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ways]:
    async def made(home: Path) -> FastAPI:
        async with served(home) as running:
            return running.app

    app = asyncio.run(made(tmp_path_factory.mktemp("routes")))
    with pytest.MonkeyPatch.context() as patch:
        yield ways(app.router, app, patch)


def paths(quick: Signpost) -> st.SearchStrategy[str]:
    """Paths that routes have, that they nearly have, and that none has."""
    templates = st.sampled_from(sorted({sign.path for sign in quick.signs}))
    words = sorted({part for sign in quick.signs for part in sign.path.split("/") if "{" not in part})
    part = st.sampled_from([*words, "", "a", "0f", "a b", "é", "..", "x\n", "{id}"]) | st.text(max_size=4)

    def filled(template: str, parts: Sequence[str], end: str) -> str:
        left = iter(parts)
        return "/".join(next(left, "x") if "{" in one else one for one in template.split("/")) + end

    def joined(parts: Sequence[str]) -> str:
        return "/" + "/".join(parts)

    ends = st.sampled_from(["", "", "", "/", "//", "\n", "/x", "?", " "])
    whole = st.builds(filled, templates, st.lists(part, max_size=4), ends)
    return whole | st.builds(joined, st.lists(part, max_size=5)) | st.text(max_size=6)


def test_a_request_is_led_to_the_same_route_as_by_the_framework(ours: Ways) -> None:
    @settings(max_examples=1_000, deadline=None)
    @given(path=paths(ours.quick), method=st.sampled_from(METHODS))
    @example(path="/", method="GET")
    @example(path="*", method="OPTIONS")
    @example(path="/health\n", method="GET")
    @example(path="/v1/agents/learnings", method="DELETE")
    def same(path: str, method: str) -> None:
        quick, own = ours.agree(method, path)

        assert quick == own

    same()


def strange(patch: pytest.MonkeyPatch) -> Ways:
    """Routes as we have none: mounts, patterns at the very beginning, one path in two routers, whole applications."""

    async def nothing() -> None:
        raise AssertionError

    async def plain(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"plain {request.scope['path']}")

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(f"mounted {scope['path']} at {scope['root_path']}")(scope, receive, send)

    inner, middle, outer = APIRouter(), APIRouter(prefix="/b"), APIRouter()
    for path in ("/c", "/{x}", "/c/{x:path}", "/{x}/{y}.json", "/n/{x:int}"):
        inner.get(path)(nothing)
    middle.include_router(inner, prefix="/a")
    middle.post("/a/c")(nothing)
    middle.add_route("/plain", plain)
    outer.get("/a/b")(nothing)
    outer.include_router(middle, prefix="/a")
    outer.include_router(inner)
    outer.put("/a/b")(nothing)
    outer.mount("/m", whole)
    outer.get("/m/late")(nothing)
    outer.get("/{first}/b/{third}")(nothing)
    app = FastAPI(openapi_url=None)
    app.include_router(outer)
    app.get("/a/own")(nothing)
    return ways(app.router, app, patch)


def test_so_it_is_where_routes_are_stranger_than_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    those = strange(monkeypatch)

    @settings(max_examples=600, deadline=None)
    @given(
        path=paths(those.quick),
        method=st.sampled_from(METHODS),
        kind=st.sampled_from(["http", "http", "http", "websocket"]),
        root=st.sampled_from(["", "", "", "/a"]),
    )
    @example(path="/m/late", method="GET", kind="http", root="")
    @example(path="/a/a/b", method="GET", kind="http", root="/a")
    @example(path="/a/b/", method="GET", kind="http", root="")
    def same(path: str, method: str, kind: str, root: str) -> None:
        quick, own = those.agree(method, path, kind, root)

        assert quick == own

    same()


def test_every_route_of_ours_is_found_the_quick_way(ours: Ways) -> None:
    found = {
        (sign.path, method): ours.quick.find({"type": "http", "method": method, "path": sign.path.replace(":path", "")})
        for sign in ours.quick.signs
        for method in sign.context.methods or ()
    }

    # An earlier route may take what looks like a later one's template: whichever it is, it was found here.
    assert [key for key, one in found.items() if one is None] == []
    assert len({id(one[0]) for one in found.values() if one is not None}) == len(ours.quick.signs)


def test_a_server_builds_no_route_anew(ours: Ways) -> None:
    built = [sign.path for sign in ours.quick.signs if sign.effective is not sign.context.original_route]

    assert built == []
