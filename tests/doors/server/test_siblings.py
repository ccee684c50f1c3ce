"""Two workers of one daemon: what belongs to the other is passed on to it, whole, and nobody notices."""

import asyncio
import stat
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from commonplace.errors import NotFound
from commonplace.server.auth import Caller, app_state
from commonplace.server.door import ApiDoor
from commonplace.testing.daemon import TOKEN, InProcess, on_socket, served
from commonplace.values.session_lease import LeaseHolder, PerhapsElsewhere, SessionElsewhere, SessionLease

pytestmark = pytest.mark.anyio

trial = APIRouter()
AT = datetime(2026, 1, 1, tzinfo=UTC)
FAR = ("203.0.113.9", 4711)


class Body(BaseModel):
    text: str


class NothingKnown(PerhapsElsewhere, NotFound):
    """Nobody knows it here."""


def name_of(request: Request) -> str:
    siblings = app_state(request).options.siblings
    assert siblings is not None
    return siblings.own.stem


def elsewhere(request: Request, place: str) -> SessionElsewhere:
    """As if a worker of this name led the session; one that is no worker's is another daemon's address."""
    siblings = app_state(request).options.siblings
    assert siblings is not None
    is_url = place.startswith("daemon")
    holder = LeaseHolder(
        process="p",
        url=f"http://{place}:4170" if is_url else None,
        socket=None if is_url else str(siblings.own.with_stem(place)),
    )
    lease = SessionLease(tenant="default/default", session="s", claim="c", holder=holder, expires_at=AT)
    return SessionElsewhere.of(lease, 7.0)


@trial.post("/v1/trial/at/{place}")
async def echo(place: str, request: Request, who: Caller, body: Body, response: Response) -> dict[str, Any]:
    if name_of(request) != place:
        raise elsewhere(request, place)
    response.status_code = 202
    response.headers["X-Told"] = "yes"
    return {
        "at": name_of(request),
        "text": len(body.text),
        "who": who.subject,
        "client": who.client,
        "address": who.address,
        "request": who.request,
        "query": str(request.url.query),
        "scheme": request.url.scheme,
    }


@trial.post("/v1/trial/never")
async def never(request: Request, who: Caller) -> None:
    raise elsewhere(request, "two" if name_of(request) == "one" else "one")


@trial.post("/v1/trial/anywhere/{place}")
async def anywhere(place: str, request: Request, who: Caller, body: Body) -> dict[str, Any]:
    if name_of(request) != place:
        raise NothingKnown
    return {"at": name_of(request), "text": body.text}


@trial.get("/v1/trial/stream/{place}")
async def stream(place: str, request: Request, who: Caller) -> StreamingResponse:
    if name_of(request) != place:
        raise elsewhere(request, place)
    state = request.app.state

    async def endless() -> AsyncGenerator[bytes]:
        try:
            yield b"data: first\n\n"
            state.told.set()
            await asyncio.Event().wait()
        finally:
            state.gone.set()

    return StreamingResponse(endless(), media_type="text/event-stream")


@dataclass
class Workers:
    one: InProcess
    two: InProcess
    folder: Path
    stack: AsyncExitStack


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncGenerator[Workers]:
    # The path of a socket may not be long.
    with tempfile.TemporaryDirectory(prefix="siblings-") as folder:
        async with AsyncExitStack() as stack:

            async def worker(name: str) -> InProcess:
                path = Path(folder) / f"{name}.sock"
                door = ApiDoor(routers=(trial,))
                opened = await stack.enter_async_context(
                    served(tmp_path / "home", doors=(door,), address=FAR, worker=path)
                )
                opened.app.state.told, opened.app.state.gone = asyncio.Event(), asyncio.Event()
                return opened

            yield Workers(await worker("one"), await worker("two"), Path(folder), stack)


async def test_a_request_is_passed_on_whole_and_its_answer_comes_back_as_it_is(workers: Workers) -> None:
    headers = {"X-Client-Id": "cli-1", "X-Request-Id": "r-1", "Cookie": "a=b"}

    answer = await workers.one.client.post(
        "/v1/trial/at/two?q=a%20b&q=c", json={"text": "x" * 2_000_000}, headers=headers
    )

    told = answer.json()
    assert answer.status_code == 202
    assert (answer.headers["X-Told"], answer.headers["X-Request-Id"]) == ("yes", "r-1")
    assert answer.headers.get_list("content-type") == ["application/json"]
    assert told == {
        "at": "two",
        "text": 2_000_000,
        "who": "local",
        "client": "cli-1",
        "address": FAR[0],
        "request": "r-1",
        "query": "q=a%20b&q=c",
        "scheme": "http",
    }


async def test_a_refusal_of_the_other_worker_comes_back_too(workers: Workers) -> None:
    answers = [await workers.one.client.post(f"/v1/trial/at/{place}", json={}) for place in ("one", "two")]
    strangers = [await workers.one.stranger.post("/v1/trial/at/two", json={"text": "a"})]

    assert [answer.status_code for answer in (*answers, *strangers)] == [400, 400, 401]


async def test_nobody_outside_says_where_a_request_comes_from(workers: Workers) -> None:
    headers = {"X-Commonplace-Peer": "127.0.0.1 1", "X-Commonplace-Scheme": "https"}

    answers = [
        (await workers.one.client.post(f"/v1/trial/at/{place}", json={"text": "a"}, headers=headers)).json()
        for place in ("one", "two")
    ]

    assert [(answer["address"], answer["scheme"]) for answer in answers] == [(FAR[0], "http")] * 2


async def test_the_socket_of_a_worker_is_for_its_user_alone(workers: Workers) -> None:
    modes = {path.stat().st_mode for path in workers.folder.glob("*.sock")}

    assert {(stat.S_ISSOCK(mode), stat.S_IMODE(mode)) for mode in modes} == {(True, 0o600)}


async def test_a_stream_is_passed_on_as_it_comes_and_ends_with_its_listener(workers: Workers) -> None:
    url = await workers.stack.enter_async_context(on_socket(workers.one))
    headers = {"Authorization": f"Bearer {TOKEN}"}

    async with (
        asyncio.timeout(5),
        httpx.AsyncClient(base_url=url, headers=headers) as client,
        client.stream("GET", "/v1/trial/stream/two") as answer,
    ):
        first = await anext(answer.aiter_raw())
        await workers.two.app.state.told.wait()
        was_gone = workers.two.app.state.gone.is_set()
    async with asyncio.timeout(5):
        await workers.two.app.state.gone.wait()

    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert first == b"data: first\n\n"
    assert not was_gone


async def test_a_stream_ends_when_the_worker_that_passes_it_on_stops(workers: Workers) -> None:
    url = await workers.stack.enter_async_context(on_socket(workers.one))
    headers = {"Authorization": f"Bearer {TOKEN}"}

    async with (
        asyncio.timeout(5),
        httpx.AsyncClient(base_url=url, headers=headers) as client,
        client.stream("GET", "/v1/trial/stream/two") as answer,
    ):
        await workers.two.app.state.told.wait()
        workers.one.app.state.stopping.set()
        rest = await answer.aread()

    assert rest == b"data: first\n\n"


@pytest.mark.parametrize("path", ["/v1/trial/at/three", "/v1/trial/never"])
async def test_a_worker_that_is_gone_and_a_session_that_moves_are_tried_again_later(
    workers: Workers, path: str
) -> None:
    answer = await workers.one.client.post(path, json={"text": "a"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "session_moving")
    assert answer.headers["Retry-After"] == "1"


async def test_another_daemon_is_named_and_not_asked(workers: Workers) -> None:
    answer = await workers.one.client.post("/v1/trial/at/daemon-b", json={"text": "a"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "session_elsewhere")
    assert answer.json()["error"]["details"] == {"owner": "http://daemon-b:4170", "retry_after": 7.0}
    assert (answer.headers["X-Commonplace-Owner"], answer.headers["Retry-After"]) == ("http://daemon-b:4170", "7")


@pytest.mark.parametrize(("place", "status"), [("one", 200), ("two", 200), ("three", 404)])
async def test_what_names_no_session_is_asked_of_every_worker(workers: Workers, place: str, status: int) -> None:
    answer = await workers.one.client.post(f"/v1/trial/anywhere/{place}", json={"text": "vote"})

    assert answer.status_code == status
    assert status == 404 or answer.json() == {"at": place, "text": "vote"}
