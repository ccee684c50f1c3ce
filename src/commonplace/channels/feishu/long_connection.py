"""
The long connection: Feishu tells of events over a websocket that we open, so that the daemon needs no address of its own.

Its address holds a ticket. It is in no log and no error: what the websocket's library says of a failure is not passed on.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, Field
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, WebSocketException

from commonplace.channels.connection import Connection
from commonplace.channels.feishu.api import FeishuAnswer, FeishuApi
from commonplace.channels.feishu.frames import CONTROL, DATA, BinaryFrame, decode_frame, encode_frame
from commonplace.channels.feishu.intake import FeishuIntake
from commonplace.channels.feishu.partial_events import PartialEvents
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError, PlatformRefused

_REFUSED: Final = frozenset({403, 514, 1000040344})
"""The app is not allowed to, its secret is another, or there is none."""
_TOO_MANY: Final = 1000040350
_TOO_MANY_PAUSE: Final = 60.0
_OPEN_SECONDS: Final = 15.0
_LARGEST: Final = 4 << 20
_MOST_AT_WORK: Final = 64
_PATIENCE: Final = 2.5
"""How many pauses between pings may pass in which Feishu says nothing."""

# It would write the address at its lowest level.
_SILENT: Final = logging.getLogger("commonplace.feishu.websocket")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
_SILENT.setLevel(logging.CRITICAL)


class _ClientConfig(BaseModel):
    ping_interval: int = Field(default=120, alias="PingInterval")

    @property
    def seconds(self) -> float:
        return float(min(max(self.ping_interval, 1), 600))


class _Endpoint(BaseModel):
    url: str = Field(alias="URL")
    config: _ClientConfig | None = Field(default=None, alias="ClientConfig")


class LongConnection:
    def __init__(
        self, api: FeishuApi, intake: FeishuIntake, connection: Connection, clock: Clock, *, safe: bool
    ) -> None:
        """`safe`: its address has to be one of TLS."""
        self._api = api
        self._intake = intake
        self._connection = connection
        self._schemes = ("wss",) if safe else ("wss", "ws")
        self._config = _ClientConfig()
        self._partial = PartialEvents(clock)
        self._at_work: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        """
        Take events until the connection ends.

        Raises:
            PlatformRefused: Feishu does not accept the app.
            PlatformError: it ended, or there is none.
        """
        url, service = await self._endpoint()
        async with self._opened(url) as socket:
            self._connection.connected()
            await self._intake.learn_bot()
            ping = asyncio.create_task(self._ping(socket, service))
            try:
                await self._read(socket)
            finally:
                tasks = {ping, *self._at_work}
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)

    async def _endpoint(self) -> tuple[str, int]:
        """Its address, and the service that pings are for."""
        answer = await self._api.endpoint()
        if answer.problem is not None:
            raise _error_of(answer)
        try:
            endpoint = _Endpoint.model_validate(answer.data)
            parts = urlsplit(endpoint.url)
            service = int(parse_qs(parts.query).get("service_id", ["0"])[0])
        except ValueError as error:
            raise PlatformError("Feishu gave no address for the long connection.") from error
        if parts.scheme not in self._schemes or not parts.hostname:
            raise PlatformError("Feishu gave an address for the long connection that is not a safe one.")
        self._config = endpoint.config or _ClientConfig()
        return endpoint.url, service

    @asynccontextmanager
    async def _opened(self, url: str) -> AsyncGenerator[ClientConnection]:
        try:
            socket = await connect(
                url, open_timeout=_OPEN_SECONDS, close_timeout=1.0, max_size=_LARGEST, logger=_SILENT
            )
        except InvalidStatus as error:
            headers = error.response.headers
            raise _handshake_error(
                headers.get("handshake-status", ""),
                headers.get("handshake-autherrcode", ""),
                error.response.status_code,
            ) from None
        except TimeoutError:
            raise PlatformError("The long connection could not be opened: the request timed out.") from None
        except (OSError, InvalidHandshake, WebSocketException, ValueError) as error:
            # What they say may hold the address.
            raise PlatformError(f"The long connection could not be opened ({type(error).__name__}).") from None
        try:
            yield socket
        finally:
            await socket.close()

    async def _read(self, socket: ClientConnection) -> None:
        while True:
            try:
                async with asyncio.timeout(self._config.seconds * _PATIENCE):
                    content = await socket.recv()
            except TimeoutError:
                raise PlatformError("Feishu says nothing any more: the long connection timed out.") from None
            except ConnectionClosed:
                raise PlatformError("Feishu closed the connection.") from None
            try:
                if isinstance(content, str):
                    raise ValueError("A frame is not text.")
                frame = decode_frame(content)
                self._take(socket, frame)
            except ValueError as error:
                self._connection.note("malformed", f"A frame cannot be read: {type(error).__name__}.")
            while len(self._at_work) >= _MOST_AT_WORK:
                await asyncio.wait(self._at_work, return_when=asyncio.FIRST_COMPLETED)

    def _take(self, socket: ClientConnection, frame: BinaryFrame) -> None:
        """Raises ValueError: the frame says nothing that we know."""
        kind = frame.header("type")
        if frame.method == CONTROL:
            if kind == "pong" and frame.payload:
                self._config = _ClientConfig.model_validate_json(frame.payload)
            return
        if frame.method != DATA or kind != "event":
            return
        document: bytes | None = frame.payload
        parts = int(frame.header("sum") or "1")
        if parts > 1:
            document = self._partial.put(frame.header("message_id"), parts, int(frame.header("seq")), frame.payload)
        if document is not None:
            task = asyncio.create_task(self._answer(socket, frame, document))
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)

    async def _answer(self, socket: ClientConnection, frame: BinaryFrame, document: bytes) -> None:
        began = asyncio.get_running_loop().time()
        answer = await self._intake.take(document)
        milliseconds = round((asyncio.get_running_loop().time() - began) * 1_000)
        payload: dict[str, object] = {"code": 500 if answer is None else 200}
        if answer:
            payload["data"] = base64.b64encode(json.dumps(answer, ensure_ascii=False).encode()).decode()
        headers = (*frame.headers, ("biz_rt", f"{milliseconds}"))
        await self._send(socket, replace(frame, headers=headers, payload=json.dumps(payload).encode()))

    async def _ping(self, socket: ClientConnection, service: int) -> None:
        ping = BinaryFrame(method=CONTROL, service=service, headers=(("type", "ping"),))
        while True:
            await self._send(socket, ping)
            await asyncio.sleep(self._config.seconds)

    async def _send(self, socket: ClientConnection, frame: BinaryFrame) -> None:
        try:
            await socket.send(encode_frame(frame))
        except ConnectionClosed:
            # Whoever reads notices it, and Feishu brings the event again.
            return


def _error_of(answer: FeishuAnswer) -> PlatformError:
    if answer.code == _TOO_MANY:
        return PlatformError(answer.problem, retry_after=_TOO_MANY_PAUSE)
    return PlatformRefused(answer.problem) if answer.code in _REFUSED else PlatformError(answer.problem)


def _handshake_error(status: str, auth: str, http: int) -> PlatformError:
    """What the headers of a refusal say."""
    if auth == f"{_TOO_MANY}":
        return PlatformError(f"There are too many long connections: code {_TOO_MANY}.", retry_after=_TOO_MANY_PAUSE)
    code = status if status.isascii() and status.isdigit() else f"{http}"
    if int(code) in _REFUSED:
        return PlatformRefused(f"Feishu does not accept the app: code {code}.")
    return PlatformError(f"The long connection could not be opened: code {code[:10]}.")
