"""The first lines of a request, when they are slow to come."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from commonplace.server import protocol
from commonplace.server.protocol import BoundedProtocol

pytestmark = pytest.mark.anyio


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[int]:
    monkeypatch.setattr(protocol, "PATIENCE", 0.2)
    config = uvicorn.Config(PlainTextResponse("here"), lifespan="off", ws="none", log_config=None)
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: BoundedProtocol(config, ServerState(), {}), "127.0.0.1", 0
    )
    yield server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


async def told(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    answer = await asyncio.wait_for(reader.read(), timeout=5)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_headers_that_trickle_are_given_up(port: int) -> None:
    assert (await told(port, b"GET / HTTP/1.1\r\nHost: loc")).startswith(b"HTTP/1.1 408")


async def test_a_connection_that_asks_nothing_is_closed_without_a_word(port: int) -> None:
    assert await told(port, b"") == b""


async def test_a_request_that_comes_in_time_is_answered(port: int) -> None:
    answer = await told(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"here")
