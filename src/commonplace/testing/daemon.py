"""
A daemon for tests: `running_daemon` is a real process on a free port of this machine, `served` the same server inside the
test, without a network, quick enough for one a test.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from asyncio import create_task, to_thread
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI

from commonplace.compose.channels import talk
from commonplace.compose.daemon import options_of
from commonplace.compose.doors import DOORS
from commonplace.compose.services import ComposeOptions, composed
from commonplace.compose.worker_socket import open_to_siblings
from commonplace.ports.clock import Clock
from commonplace.server.app import make_app
from commonplace.server.auth import AppState
from commonplace.server.door import ApiDoor
from commonplace.server.siblings import Siblings
from commonplace.service.services import Services
from commonplace.settings import load_settings
from commonplace.testing.nursery import DaemonProcess, begin_daemon

T = TypeVar("T")

TOKEN: Final = "the-operator-token-of-the-tests"
"""The operator's, in `served`."""

_ADDRESS: Final = re.compile(r"listens on (http://\S+)")
_LOOK_EVERY: Final = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Daemon:
    """A process that serves. `log` is the file its stderr goes to."""

    url: str
    token: str
    home: Path
    log: Path
    process: DaemonProcess

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, **more: Any) -> httpx.Client:
        """A client that shows the operator's token."""
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=10.0, **more)

    def stop(self, *, patience: float = 15.0) -> int:
        """Tell it to stop and wait until it has. Its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=patience)

    def lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@contextmanager
def running_daemon(
    home: Path, *args: str, env: Mapping[str, str] | None = None, patience: float = 30.0
) -> Generator[Daemon]:
    """
    `commonplace serve --port 0` with these further arguments, ready when the block begins and gone when it ends.

    Raises:
        RuntimeError: it ended, or was not ready in time; the error shows what it logged.
    """
    home.mkdir(parents=True, exist_ok=True)
    log = home / "daemon.log"
    environment = {**os.environ, "COMMONPLACE_HOME": str(home), "COMMONPLACE_LOG_FORMAT": "json", **(env or {})}
    with log.open("ab") as err:
        start = err.tell()
        process = begin_daemon(["serve", "--port", "0", *args], environment, home, err.fileno())
    try:
        url = _ready(process, log, start, patience)
        token = environment.get("COMMONPLACE_TOKEN") or (home / "token").read_text(encoding="utf-8").strip()
        yield Daemon(url=url, token=token, home=home, log=log, process=process)
    finally:
        _end(process)


def _ready(process: DaemonProcess, log: Path, begin: int, patience: float) -> str:
    """The address, once the daemon there can work."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        told = log.read_bytes()[begin:].decode("utf-8", "replace")
        if process.poll() is not None:
            raise RuntimeError(f"The daemon ended with {process.returncode}.\n{told}")
        found = _ADDRESS.search(told)
        if found is not None and _answers(found[1]):
            return found[1]
        time.sleep(_LOOK_EVERY)
    raise RuntimeError(f"The daemon was not ready within {patience} s.\n{log.read_text(encoding='utf-8')}")


def _answers(url: str) -> bool:
    try:
        # Elsewhere than on a loopback address it asks for a key: that is an answer, too.
        return httpx.get(f"{url}/ready", timeout=5.0).status_code in (200, 401)
    except httpx.TransportError:
        return False


def _end(process: DaemonProcess) -> None:
    """With all its workers: they are of its session."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class InProcess:
    """`client` shows the operator's token, `stranger` nothing."""

    app: FastAPI
    services: Services
    client: httpx.AsyncClient
    stranger: httpx.AsyncClient

    def use_case(self, kind: type[T]) -> T:
        """What a door brought along."""
        return AppState.of(self.app).use_cases[kind]


@asynccontextmanager
async def on_socket(running: InProcess) -> AsyncGenerator[str]:
    """The address of the same server over a real socket, for what has no end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(running.app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        work = create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await work


Opened: TypeAlias = Callable[..., AbstractAsyncContextManager[InProcess]]
"""`served` with some of its arguments given already, as a fixture hands it out."""


@asynccontextmanager
async def served(
    home: Path,
    *,
    clock: Clock | None = None,
    doors: Sequence[ApiDoor] = DOORS,
    address: tuple[str, int] = ("127.0.0.1", 50_000),
    worker: Path | None = None,
    url: str | None = None,
    **given: object,
) -> AsyncGenerator[InProcess]:
    """The server over a store in `home`. `given` are settings; `address` is where requests seem to come from. `worker`: the
    socket at which it takes what the other workers in the same folder pass on; `url`: where other daemons are told that it is.
    """
    await to_thread(partial(home.mkdir, mode=0o700, parents=True, exist_ok=True))
    # Never the folder that the tests were started in: what is served may write there.
    settings = load_settings(home=home, **{"embedder": "none", "workspace": home, **given})
    async with (
        composed(settings, ComposeOptions(token=TOKEN, clock=clock)) as services,
        talk(settings, services, url=url, socket=worker) as use_cases,
        AsyncExitStack() as stack,
    ):
        siblings = None if worker is None else Siblings(worker)
        app = make_app(services, options_of(settings, siblings=siblings), doors, use_cases)
        if siblings is not None:
            stack.push_async_callback(siblings.aclose)
            await stack.enter_async_context(open_to_siblings(app, siblings.own))
        transport = httpx.ASGITransport(app=app, client=address)
        base = f"http://127.0.0.1:{settings.port}"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx.AsyncClient(transport=transport, base_url=base, headers=headers, timeout=5.0) as client,
            httpx.AsyncClient(transport=transport, base_url=base, timeout=5.0) as stranger,
        ):
            yield InProcess(app=app, services=services, client=client, stranger=stranger)
