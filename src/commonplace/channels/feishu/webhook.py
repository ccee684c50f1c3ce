"""
The webhook: Feishu writes to us, signed and encrypted, for networks that allow no connection out.

It is a listener of its own, and no route of the daemon: whoever lets Feishu reach it opens this to the outside, and neither the memory nor
the console. It listens on this machine only unless told otherwise; what stands before it does TLS.

Whatever is not Feishu's is answered the same, so that nobody learns from the answer how to come closer. The signature is over the body as it
came; nothing in the body can stand for a header.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, cast

import h11

from commonplace.channels.connection import Connection
from commonplace.channels.feishu.crypto import decrypted, signature_of
from commonplace.channels.feishu.intake import FeishuIntake
from commonplace.channels.feishu.options import WebhookOptions
from commonplace.ports.clock import Clock
from commonplace.values.channel import PlatformError

MAX_BODY: Final = 1 << 20
MAX_AGE: Final = timedelta(minutes=5)
_SECONDS: Final = 10.0
_MOST_AT_ONCE: Final = 64
_MOST_DISCARDED: Final = 256
_TIMESTAMP: Final = "x-lark-request-timestamp"
_NONCE: Final = "x-lark-request-nonce"
_SIGNATURE: Final = "x-lark-signature"


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookRequest:
    """`headers` by their names in small letters, from the request alone."""

    method: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookResponse:
    status: HTTPStatus = HTTPStatus.OK
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])


_FORBIDDEN: Final = WebhookResponse(status=HTTPStatus.FORBIDDEN, content={"msg": "This is not from Feishu."})


class FeishuWebhook:
    """Judges requests, and hands over what is Feishu's."""

    def __init__(self, options: WebhookOptions, intake: FeishuIntake, connection: Connection, clock: Clock) -> None:
        self._options = options
        self._intake = intake
        self._connection = connection
        self._clock = clock
        self._signatures: dict[str, datetime] = {}
        """Those that were taken lately: none is good twice."""

    async def answer(self, request: WebhookRequest) -> WebhookResponse:
        if request.method in ("GET", "HEAD"):
            return WebhookResponse(content={"msg": "OK"})
        if request.method != "POST":
            return WebhookResponse(status=HTTPStatus.METHOD_NOT_ALLOWED, content={"msg": "Use POST."})
        signature = self._signature(request)
        document = self._document(request.body)
        if document is None:
            return self._forbid("what it says cannot be read")
        if document.get("type") == "url_verification":
            return self._verification(document)
        if signature is None:
            return self._forbid("its signature is wrong, too old, or was used before")
        header = document.get("header")
        token = cast("dict[str, Any]", header).get("token") if isinstance(header, dict) else None
        if not self._is_token(token):
            return self._forbid("its verification token is another")
        return await self._taken(signature, document)

    async def _taken(self, signature: str, document: dict[str, Any]) -> WebhookResponse:
        self._signatures[signature] = self._clock.now()
        answer = await self._intake.take(json.dumps(document).encode())
        if answer is None:
            # It may come again as it is.
            self._signatures.pop(signature, None)
            return WebhookResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, content={"msg": "Try it again."})
        return WebhookResponse(content=answer)

    def _verification(self, document: dict[str, Any]) -> WebhookResponse:
        """Feishu asks whether we are who the console says; it does not sign that."""
        challenge = document.get("challenge")
        if not self._is_token(document.get("token")) or not isinstance(challenge, str):
            return self._forbid("its verification token is another")
        self._connection.note("verified", "Feishu has asked for the webhook.")
        return WebhookResponse(content={"challenge": challenge})

    def _signature(self, request: WebhookRequest) -> str | None:
        """None: it is not Feishu's, too old, or was taken before."""
        timestamp, nonce = request.headers.get(_TIMESTAMP, ""), request.headers.get(_NONCE, "")
        claimed = request.headers.get(_SIGNATURE, "")
        expected = signature_of(timestamp, nonce, self._options.encrypt_key, request.body)
        if not hmac.compare_digest(expected.encode(), claimed.encode("utf-8", "replace")):
            return None
        now = self._clock.now()
        for earlier, at in list(self._signatures.items()):
            if now - at > 2 * MAX_AGE:
                del self._signatures[earlier]
        is_number = timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12
        if not is_number or abs(now.timestamp() - int(timestamp)) > MAX_AGE.total_seconds():
            return None
        return None if expected in self._signatures else expected

    def _document(self, body: bytes) -> dict[str, Any] | None:
        """What a body says. None: nothing, or it says an event without encryption."""
        try:
            document = _object(json.loads(body))
            text = document.get("encrypt")
            if isinstance(text, str):
                return _object(json.loads(decrypted(text, self._options.encrypt_key)))
        except (ValueError, RecursionError):
            return None
        # Without encryption only the question for the webhook is answered, which is of no use to anybody else.
        return document if document.get("type") == "url_verification" else None

    def _is_token(self, token: object) -> bool:
        expected = self._options.verification_token
        return isinstance(token, str) and hmac.compare_digest(expected.encode(), token.encode("utf-8", "replace"))

    def _forbid(self, reason: str) -> WebhookResponse:
        self._connection.note("forbidden", f"A request to the webhook is not Feishu's: {reason}.")
        return _FORBIDDEN


class WebhookListener:
    """Speaks HTTP: one request a connection, bounded in size, time and number."""

    def __init__(self, options: WebhookOptions, webhook: FeishuWebhook, connection: Connection) -> None:
        self._options = options
        self._webhook = webhook
        self._connection = connection
        self._at_work: set[asyncio.Task[Any]] = set()
        self.port: int | None = None
        """Where it listens now."""

    async def listen(self) -> None:
        """Raises PlatformError: nothing can listen there."""
        host, port = self._options.host, self._options.port
        try:
            server = await asyncio.start_server(self._serve, host, port)
        except OSError as error:
            raise PlatformError(
                f"Nothing can listen on {host} port {port} ({error.strerror}). Choose another webhook_port."
            ) from error
        self.port = server.sockets[0].getsockname()[1]
        self._connection.connected()
        try:
            await asyncio.Event().wait()
        finally:
            self.port = None
            server.close()
            for task in self._at_work:
                task.cancel()
            if self._at_work:
                await asyncio.wait(self._at_work)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._at_work.add(task)
        try:
            if len(self._at_work) <= _MOST_AT_ONCE:
                await self._exchange(reader, writer)
        except (OSError, TimeoutError, h11.ProtocolError):
            # Whoever spoke is gone, too slow, or speaks no HTTP.
            return
        finally:
            self._at_work.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http = h11.Connection(h11.SERVER)
        async with asyncio.timeout(_SECONDS):
            try:
                request = await _request(http, reader)
            except h11.RemoteProtocolError:
                request = None
        if request is None:
            response = WebhookResponse(status=HTTPStatus.BAD_REQUEST, content={"msg": "This is no request."})
        elif len(request.body) > MAX_BODY:
            response = WebhookResponse(
                status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, content={"msg": "A body has at most 1 MiB."}
            )
        else:
            response = await self._webhook.answer(request)
        body = b"" if request is not None and request.method == "HEAD" else json.dumps(dict(response.content)).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", f"{len(body)}"), ("Connection", "close")]
        writer.write(http.send(h11.Response(status_code=int(response.status), headers=headers)) or b"")
        writer.write(http.send(h11.Data(data=body)) or b"")
        async with asyncio.timeout(_SECONDS):
            await writer.drain()
            if response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                await _discard(reader, writer)


async def _discard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Whoever is still sending hears the answer only if we go on listening for a while."""
    writer.write_eof()
    for _ in range(_MOST_DISCARDED):
        if not await reader.read(65_536):
            return


async def _request(http: h11.Connection, reader: asyncio.StreamReader) -> WebhookRequest | None:
    """A whole request, or the beginning of one that is too large. None: it ended before."""
    method, headers, body = "", dict[str, str](), bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(65_536))
        elif isinstance(event, h11.Request):
            method = event.method.decode()
            for name, value in event.headers:
                # The first counts, as it does for a proxy that has looked at it.
                headers.setdefault(name.decode(), value.decode("latin-1"))
            if int(headers.get("content-length", "0")) > MAX_BODY:
                return WebhookRequest(method=method, headers=headers, body=bytes(MAX_BODY + 1))
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                return WebhookRequest(method=method, headers=headers, body=bytes(body))
        elif isinstance(event, h11.EndOfMessage):
            return WebhookRequest(method=method, headers=headers, body=bytes(body))
        else:
            return None


def _object(document: object) -> dict[str, Any]:
    """Raises ValueError: it is none."""
    if not isinstance(document, dict):
        raise ValueError("This is no object of JSON.")
    return cast("dict[str, Any]", document)
