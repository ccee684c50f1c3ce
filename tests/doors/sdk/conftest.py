"""The SDK against the real server: inside the test for the async client, a process for the other."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import httpx
import pytest

from commonplace import AsyncClient
from commonplace.testing.daemon import TOKEN, Daemon, InProcess, running_daemon, served

URL = "http://127.0.0.1:4170"


@pytest.fixture
async def running(home: Path) -> AsyncGenerator[InProcess]:
    async with served(home) as begun:
        yield begun


@pytest.fixture
def transport(running: InProcess) -> httpx.ASGITransport:
    """The way into the server of this test."""
    return httpx.ASGITransport(app=running.app, client=("127.0.0.1", 50_000))


@pytest.fixture
async def client(transport: httpx.ASGITransport) -> AsyncGenerator[AsyncClient]:
    """The operator."""
    async with AsyncClient(URL, TOKEN, transport=transport, timeout=5.0) as opened:
        yield opened


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon") / "home", env={"COMMONPLACE_EMBEDDER": "none"}) as begun:
        yield begun
