"""Limits that hold before anybody knows who asks, and those of a daemon as a whole."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from commonplace.errors import Overloaded
from commonplace.server.in_flight import BytesInFlight
from commonplace.server.protocol import BoundedProtocol
from commonplace.settings import Settings
from commonplace.testing.clock import FakeClock
from commonplace.testing.daemon import InProcess, Opened, served

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}
LARGE = json.dumps({"text": "x" * (1 << 20)}).encode()
WRONG = {"Authorization": "Bearer cp_nobody_has_this_key_at_all"}


async def parts(body: bytes, size: int = 100_000) -> AsyncGenerator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code") or answer.json()["error"]["code"]


# ---- bodies of nobody


@pytest.mark.parametrize("chunked", [False, True])
async def test_without_a_key_only_a_small_body_is_read(running: InProcess, chunked: bool) -> None:
    content = parts(LARGE) if chunked else LARGE

    answer = await running.stranger.post("/memories/trial", content=content, headers=JSON)

    assert code(answer) == (413, "body_too_large")
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_large_body_behind_a_wrong_key_is_not_read(running: InProcess, chunked: bool) -> None:
    pieces = 0

    async def content() -> AsyncGenerator[bytes]:
        nonlocal pieces
        async for piece in parts(LARGE):
            pieces += 1
            yield piece
        pieces = 1_000

    headers = {**JSON, **WRONG} if chunked else {**JSON, **WRONG, "Content-Length": str(len(LARGE))}

    answer = await running.stranger.post("/v1/trial/echo", content=content(), headers=headers)

    assert code(answer) == (401, "unauthenticated")
    assert pieces < 1_000


async def test_who_shows_a_key_may_send_a_large_body(running: InProcess) -> None:
    answer = await running.client.post("/v1/trial/echo", content=LARGE, headers=JSON)

    assert (answer.status_code, answer.json()["length"]) == (200, 1 << 20)


async def test_without_a_key_the_gateway_takes_bodies_as_large_as_its_texts_usually_are(running: InProcess) -> None:
    body = json.dumps({"text": "x" * 900_000}).encode()

    answer = await running.stranger.post("/memories/trial", content=body, headers=JSON)

    assert answer.status_code == 401


async def test_how_large_a_body_of_nobody_may_be_can_be_set(opened: Opened) -> None:
    async with opened(max_anonymous_body_kb=2048) as running:
        answer = await running.stranger.post("/memories/trial", content=LARGE, headers=JSON)

    assert answer.status_code == 401


async def test_signing_in_takes_a_small_body_only(running: InProcess) -> None:
    body = json.dumps({"key": "x" * 20_000}).encode()

    answer = await running.stranger.post("/v1/sign-in", content=body, headers=JSON)

    assert code(answer) == (413, "body_too_large")


async def test_a_daemon_that_is_open_takes_large_bodies_without_a_key(opened: Opened) -> None:
    async with opened(no_auth=True) as running:
        answer = await running.stranger.post("/v1/trial/echo", content=LARGE, headers=JSON)

    assert answer.status_code == 200


# ---- bytes in flight


async def test_more_bytes_than_a_daemon_may_hold_are_refused_until_some_are_answered(opened: Opened) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncGenerator[bytes]:
        yield LARGE[:900_000]
        begun.set()
        await go_on.wait()
        yield LARGE[900_000:]

    async with opened(max_in_flight_mb=2) as running:
        first = asyncio.create_task(running.client.post("/v1/trial/echo", content=slow(), headers=JSON))
        await asyncio.wait_for(begun.wait(), 5)
        second = await running.client.post("/v1/trial/echo", content=parts(LARGE + b" " * 200_000), headers=JSON)
        keyed = await running.client.post("/api/trial/echo", content=parts(LARGE + b" " * 200_000), headers=JSON)
        go_on.set()
        answers = [await first, await running.client.post("/v1/trial/echo", content=LARGE, headers=JSON)]

    assert code(second) == (503, "overloaded")
    assert int(second.headers["retry-after"]) >= 1
    assert (keyed.status_code, keyed.json()["success"]) == (503, False)
    assert [answer.status_code for answer in answers] == [200, 200]


def test_what_a_request_took_is_free_when_it_ends() -> None:
    in_flight = BytesInFlight(10)
    with in_flight.request() as request:
        request.take(6)
        with in_flight.request() as other:
            other.take(4)
            with pytest.raises(Overloaded):
                other.take(1)
        assert in_flight.total == 6

    assert in_flight.total == 0


# ---- connections


@pytest.fixture
async def port() -> AsyncGenerator[int]:
    """A server that may have two connections."""

    config = uvicorn.Config(PlainTextResponse("here"), lifespan="off", ws="none", log_config=None, limit_concurrency=2)
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(lambda: BoundedProtocol(config, state, {}), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for connection in list(state.connections):
        connection.transport.abort()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
    await server.wait_closed()


class Line:
    """A connection that stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, path: str) -> bytes:
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        async with asyncio.timeout(5):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            return head + await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


async def lines(port: int, count: int, stack: AsyncExitStack) -> Sequence[Line]:
    opened: list[Line] = []
    for _ in range(count):
        line = Line(*await asyncio.open_connection("127.0.0.1", port))
        stack.callback(line.close)
        opened.append(line)
    return opened


async def test_a_connection_too_many_is_refused_in_the_shape_of_its_door(port: int) -> None:
    async with AsyncExitStack() as stack:
        *_, third = await lines(port, 3, stack)
        native = await third.ask("/v1/records")
        [fourth] = await lines(port, 1, stack)
        keyed = await fourth.ask("/api/agents")

    assert native.startswith(b"HTTP/1.1 503")
    assert json.loads(native.partition(b"\r\n\r\n")[2])["error"]["code"] == "overloaded"
    assert b"connection: close" in native.lower()
    assert json.loads(keyed.partition(b"\r\n\r\n")[2])["success"] is False


async def test_who_looks_whether_the_daemon_is_there_is_answered_all_the_same(port: int) -> None:
    async with AsyncExitStack() as stack:
        answers = [await line.ask("/health") for line in await lines(port, 3, stack)]

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 200"] * 3


async def test_within_the_limit_everybody_is_answered(port: int) -> None:
    async with AsyncExitStack() as stack:
        answers = [await line.ask("/v1/records") for line in await lines(port, 2, stack)]

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 200"] * 2


# ---- what a key may ask for


async def test_by_default_there_are_limits_that_a_person_never_meets() -> None:
    settings = Settings()

    assert min(settings.rate_limit_read, settings.rate_limit_mutation) >= 10_000
    assert settings.rate_limit_prompt >= 1_000
    assert settings.rate_limit_query_cost >= 10_000_000
    assert settings.max_connections >= 1_500
    assert settings.max_in_flight_mb >= 100


async def test_a_key_that_asks_too_much_of_too_many_scopes_is_told_when_to_come_back(
    opened: Opened, clock: FakeClock
) -> None:
    async with opened(clock=clock, rate_limit_query_cost=30) as running:
        short = [await running.client.post("/v1/trial/search", json={"text": "heron"}) for _ in range(3)]
        long = await running.client.post("/v1/trial/search", json={"text": " ".join(f"bird{n}" for n in range(40))})
        other = await running.client.get("/v1/trial/whoami")

    assert [answer.status_code for answer in short] == [200] * 3
    assert code(long) == (429, "rate_limit_exceeded")
    assert int(long.headers["retry-after"]) >= 1
    assert other.status_code == 200


async def test_a_key_that_asks_too_much_at_the_governed_door_is_told_when_to_come_back(
    home: Path, clock: FakeClock
) -> None:
    async with served(home, clock=clock, rate_limit_query_cost=30) as running:
        await running.client.post("/v1/records", json={"text": "the heron stands", "scope": "workspace:default"})
        short = await running.client.post("/memory/search", json={"query": "heron"})
        query = " ".join(f"bird{n}" for n in range(40))
        long = await running.client.post("/memory/search", json={"query": query})

    assert short.status_code == 200
    assert code(long) == (429, "rate_limit_exceeded")


async def test_what_a_request_took_is_free_again_if_it_ends_in_an_error() -> None:
    in_flight = BytesInFlight(10)

    with suppress(Overloaded), in_flight.request() as request:
        request.take(6)
        request.take(6)

    assert in_flight.total == 0
