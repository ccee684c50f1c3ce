"""
`commonplace serve`: one process, or several behind one socket.

Each worker reads the settings from the environment, opens the store for itself and serves until a signal stops it; then it
takes no new requests, ends its streams, and finishes the requests it has.

Several workers are started by uvicorn's `Multiprocess`, not by `uvicorn.run`: that takes a socket that is bound already for one of
the file system, and its answers then wait for the caller's acknowledgement.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any, Final, cast

import uvicorn
from anyio import to_thread
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send
from uvicorn.supervisors import Multiprocess

from commonplace.compose.agent_memory import gateway_options
from commonplace.compose.background import BACKGROUND, Background, at_work
from commonplace.compose.channels import talk
from commonplace.compose.doors import DOORS
from commonplace.compose.services import ComposeOptions, composed
from commonplace.compose.token import operator_token
from commonplace.compose.work import end_streams
from commonplace.compose.worker_socket import ADDRESS, LONGEST, WORKERS, open_to_siblings, own_siblings
from commonplace.errors import AddressTaken, CommonplaceError, InvalidInput, PathNotFound
from commonplace.governance.limits import RequestTier
from commonplace.llms.choose import read_price
from commonplace.ports.clock import Clock
from commonplace.schedule.times import check_timing
from commonplace.server.app import make_app
from commonplace.server.auth import AppState
from commonplace.server.logs import configure_logs, log
from commonplace.server.metrics import FOLDER, forget_worker
from commonplace.server.options import Options, is_loopback
from commonplace.server.protocol import BoundedProtocol
from commonplace.server.siblings import Siblings
from commonplace.server.telemetry import Tracing, start_tracing
from commonplace.settings import FROM_WORKSPACE, PREFIX, WORDS, Settings, load_settings, workspace_folder
from commonplace.values.schedule import Timing
from commonplace.workspace.report import PassedOver

GRACE: Final = 10
"""Seconds to finish open requests after a signal to stop."""

_PLACE: Final = "commonplace.compose.daemon:app"
_LOOP: Final = "commonplace.compose.sockets:sharing_loop"
_CONNECTIONS: Final = 2048
# Seconds a thread that ranks may keep the interpreter to itself. The thread of the event loop waits that long for each of the
# many answers of a database: with Python's own 5 ms, transactions last, and whoever waits for their locks does, too.
_TURN: Final = 0.0005


def options_of(
    settings: Settings, tracing: Tracing | None = None, url: str | None = None, siblings: Siblings | None = None
) -> Options:
    limits: dict[RequestTier, int] = {
        "read": settings.rate_limit_read,
        "mutation": settings.rate_limit_mutation,
        "prompt": settings.rate_limit_prompt,
    }
    return Options(
        host=settings.host,
        port=settings.port,
        allowed_hosts=settings.allowed_hosts,
        allowed_origins=settings.allowed_origins,
        max_body=settings.max_body_mb << 20,
        max_anonymous_body=settings.max_anonymous_body_kb << 10,
        max_in_flight=settings.max_in_flight_mb << 20,
        request_timeout=settings.request_timeout,
        body_timeout=min(30.0, settings.request_timeout),
        rate_limits=limits,
        open_to_all=settings.no_auth,
        import_roots=settings.import_roots,
        workspace=settings.workspace or workspace_folder(),
        token_budget=settings.token_budget,
        mcp_allow_delete=settings.mcp_allow_delete,
        tracing=tracing,
        url=url,
        siblings=siblings,
    )


def check_settings(settings: Settings) -> None:
    """
    Raises:
        InvalidInput: what the settings ask for would leave the memory open to others, or cannot work.
    """
    if settings.no_auth and not is_loopback(settings.host):
        raise InvalidInput(
            f"Without keys the daemon listens on this machine only, and {settings.host} is more than that. Leave --no-auth "
            "out, or use --host 127.0.0.1."
        )
    if settings.no_auth and "*" in settings.allowed_origins:
        raise InvalidInput(
            "Without keys not every web page may call the daemon. Name the origins, or leave --no-auth out."
        )
    if settings.workspace is not None and not settings.workspace.is_dir():
        raise PathNotFound(f"There is no folder {settings.workspace} to be the workspace.")
    check_timing(Timing(zone=settings.schedule_zone, quiet=settings.schedule_quiet))
    # What an agent needs is missing now, not at somebody's first turn.
    gateway_options(settings)
    if settings.agent_price is not None:
        read_price(settings.agent_price)


# ---- a worker


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    clock: Clock | None = None,
    tasks: Sequence[Background] = BACKGROUND,
    url: str | None = None,
) -> AsyncGenerator[FastAPI]:
    """The whole daemon but for the network: the app, its store, its background tasks. `url` is where it is reached."""
    async with AsyncExitStack() as stack:
        tracing = await to_thread.run_sync(start_tracing, settings.otlp_endpoint) if settings.otlp_endpoint else None
        if tracing is not None:
            stack.push_async_callback(to_thread.run_sync, tracing.close)
        token = await to_thread.run_sync(operator_token, settings)
        services = await stack.enter_async_context(composed(settings, ComposeOptions(token=token, clock=clock)))
        siblings = await stack.enter_async_context(own_siblings())
        socket = None if siblings is None else siblings.own
        url = settings.public_url or url
        use_cases = await stack.enter_async_context(talk(settings, services, url=url, socket=socket))
        app = make_app(services, options_of(settings, tracing, url, siblings), DOORS, use_cases)
        if socket is not None:
            await stack.enter_async_context(open_to_siblings(app, socket))
        ending = partial(end_streams, app.state.stopping)
        await stack.enter_async_context(at_work((*tasks, ending), AppState.of(app), settings))
        yield app
        app.state.stopping.set()


class DaemonApp:
    """The ASGI application of a worker. It is composed when the server starts."""

    def __init__(self, settings: Settings, url: str | None = None) -> None:
        self._settings = settings
        self._url = url
        self._app: FastAPI | None = None
        self.failure: CommonplaceError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            assert self._app is not None
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        sys.setswitchinterval(_TURN)
        try:
            async with running(self._settings, url=self._url) as self._app:
                with stop_on_signal(self._app.state.stopping):
                    log(logging.INFO, "started", pid=os.getpid())
                    await send({"type": "lifespan.startup.complete"})
                    await receive()
        except CommonplaceError as error:
            self.failure = error
            log(logging.ERROR, "stopped", code=error.code, message=error.message)
            await send({"type": "lifespan.startup.failed", "message": ""})
            return
        forget_worker()
        log(logging.INFO, "stopped", pid=os.getpid())
        await send({"type": "lifespan.shutdown.complete"})


@contextmanager
def stop_on_signal(stopping: asyncio.Event) -> Generator[None]:
    """
    Set `stopping` as soon as the process gets a signal to stop. The server shuts its application down only after the last
    response, and a stream has no last response.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stopping.set)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def app() -> DaemonApp:
    """What uvicorn calls in each worker."""
    # The process that started us has printed it already.
    warnings.simplefilter("ignore", PassedOver)
    settings = load_settings()
    configure_logs(settings.log_format)
    return DaemonApp(settings, os.environ.get(ADDRESS))


# ---- the process that starts them


def bound(settings: Settings) -> socket.socket:
    """
    The socket all workers share.

    Raises:
        AddressTaken: another program has it.
        InvalidInput: the host is not one of this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named, not left to the system: where it is 0, a loop does not take the connections for TCP and leaves their answers to
    # wait for the caller's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        # From here on nobody else can have it.
        listener.listen(_CONNECTIONS)
    except OSError as error:
        listener.close()
        place = f"{settings.host} port {settings.port}"
        if isinstance(error, socket.gaierror):
            raise InvalidInput(f"{settings.host} is not an address of this machine.") from error
        raise AddressTaken(
            f"Nothing can listen on {place}: {error.strerror}. Is a daemon running already? Choose another with --port."
        ) from error
    listener.set_inheritable(True)
    return listener


def serve(settings: Settings, report: Callable[[str], None]) -> None:
    """
    Serve until a signal stops it. `report` gets the address once the socket is bound; from then on requests are answered.

    Raises:
        CommonplaceError: nothing was started, and the error says why.
    """
    check_settings(settings)
    operator_token(settings)
    configure_logs(settings.log_format)
    with tempfile.TemporaryDirectory(prefix="commonplace-", dir=_short_folder()) as folder:
        if settings.workers > 1:
            # The workers read their settings from the environment, and share their metrics in the folder.
            os.environ.update({**environment(settings), FOLDER: folder})
            os.environ.update(given_secrets(settings))
            asyncio.run(_prepared(settings))
        listener = bound(settings)
        report(address_of(listener))
        try:
            if settings.workers > 1:
                os.environ[ADDRESS] = _address_elsewhere(listener)
                if os.name != "nt":
                    os.environ[WORKERS] = folder
                Multiprocess(_config(settings, _PLACE), sockets=[listener]).run()
            else:
                _serve_alone(settings, listener)
        finally:
            listener.close()


def _short_folder() -> str | None:
    """Where the sockets of workers can be: their paths have a limit. None: where the system keeps what is temporary."""
    return "/tmp" if os.name != "nt" and len(tempfile.gettempdir()) > LONGEST - 24 else None


async def _prepared(settings: Settings) -> None:
    """Create or migrate the store once, before several processes open it, and report here if that fails."""
    async with composed(settings, ComposeOptions()):
        pass


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, str(host))
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _address_elsewhere(listener: socket.socket) -> str:
    """As others may reach it: who listens on every address is called by the name of the machine."""
    host, port = listener.getsockname()[:2]
    return f"http://{socket.gethostname()}:{port}" if host in ("0.0.0.0", "::") else address_of(listener)


def _config(settings: Settings, served: str | DaemonApp) -> uvicorn.Config:
    return uvicorn.Config(
        served,
        factory=isinstance(served, str),
        loop=_LOOP if settings.workers > 1 and os.name != "nt" else "auto",
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        workers=settings.workers,
        backlog=_CONNECTIONS,
        limit_concurrency=settings.max_connections or None,
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=30,
    )


def _serve_alone(settings: Settings, listener: socket.socket) -> None:
    def ended(number: int, frame: FrameType | None) -> None:
        del number, frame
        # The server has stopped as it should and passes the signal on; or it was not there yet.
        sys.exit(0)

    signal.signal(signal.SIGTERM, ended)
    worker = DaemonApp(settings, _address_elsewhere(listener))
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(_config(settings, worker)).run(sockets=[listener])
    except SystemExit:
        if worker.failure is not None:
            raise worker.failure from None
        raise


def environment(settings: Settings) -> dict[str, str]:
    """
    The settings as the workers read them, and which of them come from a workspace, whose file the workers do not read again.
    They read secrets from where we read them: no secret is written here, and none is written as asterisks.
    """
    values = {name: getattr(settings, name) for name in sorted(settings.model_fields_set)}
    variables = {
        f"{PREFIX}{name.upper()}": json.dumps(value) if name in WORDS else _variable(value)
        for name, value in values.items()
        if not isinstance(value, SecretStr)
    }
    return {**variables, FROM_WORKSPACE: ",".join(sorted(settings.from_workspace))}


def given_secrets(settings: Settings) -> dict[str, str]:
    """
    Secrets that a caller gave to this process, and that a worker would not find in the environment or in the home folder.
    `environment` has to be in place.
    """
    readable = load_settings()
    names = [name for name in sorted(settings.model_fields_set) if isinstance(getattr(settings, name), SecretStr)]
    return {
        f"{PREFIX}{name.upper()}": getattr(settings, name).get_secret_value()
        for name in names
        if getattr(settings, name) != getattr(readable, name)
    }


def _variable(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, cast(tuple[object, ...], value)))
    return "" if value is None else str(value)
