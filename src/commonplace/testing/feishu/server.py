"""The server itself: what it holds, what it is told to do wrong, and what it sends."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final, Self

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from commonplace.channels.feishu.crypto import encrypted, signature_of
from commonplace.channels.feishu.frames import CONTROL, DATA, BinaryFrame, decode_frame, encode_frame
from commonplace.ports.clock import Clock
from commonplace.testing.events import until
from commonplace.testing.feishu.stories import APP, BOT

SECRET: Final = "the-app-secret"
ENCRYPT_KEY: Final = "the-encrypt-key"
VERIFICATION_TOKEN: Final = "the-verification-token"
TICKET: Final = "the-ticket"
_API: Final = "/open-apis/im/v1/messages"
_PATIENCE: Final = 20.0


@dataclass(kw_only=True, slots=True)
class PostedMessage:
    """A message as it is now. `contents` are all that it has had; `uuid` is its sender's."""

    id: str
    chat: str
    kind: str
    contents: list[str]
    uuid: str = ""
    parent: str | None = None
    sender: str = APP
    sender_type: str = "app"
    deleted: bool = False
    reactions: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def content(self) -> dict[str, Any]:
        return json.loads(self.contents[-1])

    @property
    def text(self) -> str:
        """What is to be read in it now."""
        return text_of(self.content)

    @property
    def buttons(self) -> dict[str, dict[str, Any]]:
        """The values of its buttons, by what they say."""
        elements: list[dict[str, Any]] = self.content.get("body", {}).get("elements", [])
        return {
            element["text"]["content"]: element["behaviors"][0]["value"]
            for element in elements
            if element["tag"] == "button"
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class FeishuRequest:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    token: str


@dataclass(kw_only=True, slots=True)
class FeishuFault:
    """What goes wrong with the next `times` requests whose method and path hold `match`. `garbage`: the answer is no JSON."""

    match: str
    status: int = 200
    code: int = 0
    message: str = "as a test asks"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    garbage: bool = False
    after: bool = False
    """It is done, and said not to be."""
    times: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FeishuAck:
    """What a client says to an event. `data` is what its handler answered."""

    message: str
    code: int
    data: dict[str, Any]
    headers: dict[str, str]


class FeishuServer:
    """`async with FeishuServer().open() as server`. What it holds may be looked at and changed at any time."""

    def __init__(self) -> None:
        self.messages: dict[str, PostedMessage] = {}
        self.files: dict[str, bytes] = {}
        """By their keys."""
        self.requests: list[FeishuRequest] = []
        self.faults: list[FeishuFault] = []
        self.acks: list[FeishuAck] = []
        self.pings = 0
        self.is_silent = False
        """It answers no pings."""
        self.connections = 0
        """How many there were."""
        self.tokens: list[str] = []
        """Those that were given; only the last is good."""
        self.token_seconds = 7_200
        self.clock: Clock | None = None
        """By which tokens end; None: only when they are told to."""
        self.ping_seconds = 120
        self.pong_config: dict[str, int] | None = None
        self.refuse_handshake: dict[str, str] | None = None
        """Headers of the answer to the next attempts to connect."""
        self.refusals = 0
        """How many requests had a token that is not good."""
        self._until: datetime | None = None
        self.app_secret = SECRET
        self.url = ""
        self._sockets: list[WebSocket] = []
        self._numbers = count(1)
        self._uuids: dict[str, str] = {}

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Self]:
        app = Starlette(
            routes=[
                Route("/callback/ws/endpoint", self._endpoint, methods=["POST"]),
                Route("/open-apis/auth/v3/tenant_access_token/internal", self._token, methods=["POST"]),
                Route("/open-apis/{rest:path}", self._api, methods=["GET", "POST", "PATCH", "DELETE"]),
                WebSocketRoute("/ws", self._socket),
            ]
        )
        config = uvicorn.Config(
            app, log_config=None, lifespan="off", ws="websockets-sansio", timeout_graceful_shutdown=1
        )
        server, listener = _QuietServer(config), socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await until(lambda: server.started or task.done(), _PATIENCE)
            yield self
        finally:
            await self.disconnect()
            server.should_exit = True
            await asyncio.wait({task})

    @property
    def is_connected(self) -> bool:
        return bool(self._sockets)

    # ---- what tests do

    def fail(self, match: str, **how: Any) -> FeishuFault:
        fault = FeishuFault(match=match, **how)
        self.faults.append(fault)
        return fault

    def expire_token(self) -> None:
        """No token is good any more."""
        self.tokens.append("none")

    def in_chat(self, chat: str) -> list[PostedMessage]:
        """The messages of apps that are to be seen there, in their order."""
        return [
            message
            for message in self.messages.values()
            if message.chat == chat and not message.deleted and message.sender_type == "app"
        ]

    def keep(self, event: dict[str, Any]) -> None:
        """Hold what somebody wrote, so that it can be asked for."""
        message, sender = event["event"]["message"], event["event"]["sender"]
        self.messages[message["message_id"]] = PostedMessage(
            id=message["message_id"],
            chat=message["chat_id"],
            kind=message["message_type"],
            contents=[message["content"]],
            sender=sender["sender_id"]["open_id"] or "",
            sender_type=sender["sender_type"],
        )

    async def say(self, event: dict[str, Any], *, times: int = 1) -> str:
        """Push an event, so often; the id of the frames."""
        if event["header"]["event_type"] == "im.message.receive_v1":
            self.keep(event)
        id = f"frame_{next(self._numbers)}"
        for _ in range(times):
            await self.push(json.dumps(event, ensure_ascii=False).encode(), id=id)
        return id

    async def say_in_parts(self, event: dict[str, Any], order: Sequence[int]) -> str:
        """Push an event in several frames, in this order; a part may come twice."""
        id, content = f"frame_{next(self._numbers)}", json.dumps(event, ensure_ascii=False).encode()
        parts = max(order) + 1
        size = -(-len(content) // parts)
        for place in order:
            await self.push(content[place * size : (place + 1) * size], id=id, parts=parts, place=place)
        return id

    async def push(self, payload: bytes, *, id: str, parts: int = 1, place: int = 0) -> None:
        headers = {"type": "event", "message_id": id, "sum": parts, "seq": place, "trace_id": "t", "timestamp": 0}
        frame = BinaryFrame(
            method=DATA, service=7, sequence=1, headers=tuple((name, str(value)) for name, value in headers.items()), payload=payload
        )  # fmt: skip
        await self.push_bytes(encode_frame(frame))

    async def push_bytes(self, content: bytes) -> None:
        """Whatever it is: half a frame, or none."""
        await until(lambda: bool(self._sockets))
        await self._sockets[-1].send_bytes(content)

    async def disconnect(self) -> None:
        for connection in self._sockets[:]:
            await connection.close()
        self._sockets.clear()

    async def acked(self, id: str) -> FeishuAck:
        """What was said to an event."""
        await until(lambda: any(ack.message == id for ack in self.acks))
        return next(ack for ack in self.acks if ack.message == id)

    # ---- webhooks

    async def post(self, url: str, event: dict[str, Any], **how: Any) -> httpx.Response:
        """Tell of an event by the webhook; `how` as for `signed`."""
        if event["header"]["event_type"] == "im.message.receive_v1":
            self.keep(event)
        body, headers = signed(event, **how)
        async with httpx.AsyncClient(timeout=_PATIENCE) as client:
            return await client.post(url, content=body, headers=headers)

    # ---- what it answers

    async def _endpoint(self, request: Request) -> Response:
        body = await self._noted(request)
        if (fault := self._fault(request)) is not None:
            return _failed(fault)
        if body["AppSecret"] != self.app_secret:
            return JSONResponse({"code": 514, "msg": "auth failed"})
        url = f"{self.url.replace('http', 'ws')}/ws?device_id=1&service_id=7&ticket={TICKET}"
        config = {"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": self.ping_seconds}
        return JSONResponse({"code": 0, "msg": "ok", "data": {"URL": url, "ClientConfig": config}})

    async def _token(self, request: Request) -> Response:
        body = await self._noted(request)
        if (fault := self._fault(request)) is not None:
            return _failed(fault)
        if body["app_secret"] != self.app_secret:
            return JSONResponse({"code": 10014, "msg": "app secret invalid"})
        self.tokens.append(f"t-{next(self._numbers)}")
        if self.clock is not None:
            self._until = self.clock.now() + timedelta(seconds=self.token_seconds)
        answer = {"tenant_access_token": self.tokens[-1], "expire": self.token_seconds}
        return JSONResponse({"code": 0, "msg": "ok", **answer})

    async def _api(self, request: Request) -> Response:
        body = await self._noted(request)
        fault = self._fault(request)
        if fault is not None and not fault.after:
            return _failed(fault)
        is_over = self.clock is not None and self._until is not None and self.clock.now() >= self._until
        if not self.tokens or is_over or self.requests[-1].token != self.tokens[-1]:
            self.refusals += 1
            return JSONResponse({"code": 99991663, "msg": "Invalid access token"}, status_code=401)
        answer = self._answer(request, body)
        return answer if fault is None else _failed(fault)

    def _answer(self, request: Request, body: Any) -> Response:
        path = request.url.path
        if path == "/open-apis/bot/v3/info":
            return JSONResponse({"code": 0, "msg": "ok", "bot": {"open_id": BOT, "app_name": "Assistant"}})
        if path == _API:
            return self._create(body["receive_id"], None, body)
        id, _, rest = path.removeprefix(f"{_API}/").partition("/")
        message = self.messages.get(id)
        if not path.startswith(_API) or (message is None and not rest.startswith("resources/")):
            return _error(230011, "The message was not found.")
        if rest.startswith("resources/"):
            return self._resource(rest.removeprefix("resources/"))
        assert message is not None
        if rest == "reply":
            return self._create(message.chat, message.id, body)
        if rest.startswith("reactions"):
            return self._react(message, request.method, rest.removeprefix("reactions").strip("/"), body)
        return self._on_message(message, request.method, body)

    def _create(self, chat: str, parent: str | None, body: dict[str, Any]) -> Response:
        uuid = body.get("uuid") or ""
        if len(uuid) > 50:
            return _error(230001, "The uuid is too long.")
        if uuid in self._uuids:
            return JSONResponse({"code": 0, "msg": "ok", "data": self._shown(self.messages[self._uuids[uuid]])})
        id = f"om_{next(self._numbers)}"
        message = self.messages[id] = PostedMessage(
            id=id, chat=chat, kind=body["msg_type"], contents=[body["content"]], uuid=uuid, parent=parent
        )
        if uuid:
            self._uuids[uuid] = id
        return JSONResponse({"code": 0, "msg": "ok", "data": self._shown(message)})

    def _on_message(self, message: PostedMessage, method: str, body: Any) -> Response:
        if method == "PATCH":
            message.contents.append(body["content"])
        elif method == "DELETE":
            message.deleted = True
        else:
            return JSONResponse({"code": 0, "msg": "ok", "data": {"items": [self._shown(message)]}})
        return JSONResponse({"code": 0, "msg": "ok", "data": {}})

    def _react(self, message: PostedMessage, method: str, id: str, body: Any) -> Response:
        if method == "DELETE":
            message.reactions.pop(id, None)
        else:
            id = f"re_{next(self._numbers)}"
            message.reactions[id] = body["reaction_type"]["emoji_type"]
        return JSONResponse({"code": 0, "msg": "ok", "data": {"reaction_id": id}})

    def _resource(self, key: str) -> Response:
        content = self.files.get(key)
        return _error(234003, "The file was not found.") if content is None else Response(content)

    def _shown(self, message: PostedMessage) -> dict[str, Any]:
        is_app = message.sender_type == "app"
        return {
            "message_id": message.id,
            "chat_id": message.chat,
            "parent_id": message.parent,
            "msg_type": message.kind,
            "deleted": message.deleted,
            "body": {"content": message.contents[-1]},
            "sender": {
                "id": message.sender,
                "id_type": "app_id" if is_app else "open_id",
                "sender_type": message.sender_type,
            },
        }

    async def _noted(self, request: Request) -> Any:
        content = await request.body()
        body: Any = json.loads(content) if content else None
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        query = dict(request.query_params)
        self.requests.append(
            FeishuRequest(method=request.method, path=request.url.path, query=query, body=body, token=token)
        )
        return body

    def _fault(self, request: Request) -> FeishuFault | None:
        place = f"{request.method} {request.url.path}"
        for fault in self.faults:
            if fault.times > 0 and fault.match in place:
                fault.times -= 1
                return fault
        return None

    # ---- the long connection

    async def _socket(self, connection: WebSocket) -> None:
        if self.refuse_handshake is not None or connection.query_params.get("ticket") != TICKET:
            refusal = Response(status_code=403, headers=self.refuse_handshake)
            await connection.send_denial_response(refusal)
            return
        await connection.accept()
        self.connections += 1
        self._sockets.append(connection)
        try:
            while True:
                await self._hear(connection, decode_frame(await connection.receive_bytes()))
        except WebSocketDisconnect:
            pass
        finally:
            if connection in self._sockets:
                self._sockets.remove(connection)

    async def _hear(self, connection: WebSocket, frame: BinaryFrame) -> None:
        if frame.method == CONTROL:
            self.pings += 1
            if self.is_silent:
                return
            payload = b"" if self.pong_config is None else json.dumps(self.pong_config).encode()
            pong = BinaryFrame(method=CONTROL, service=frame.service, headers=(("type", "pong"),), payload=payload)
            await connection.send_bytes(encode_frame(pong))
            return
        answer = json.loads(frame.payload)
        data = answer.get("data")
        self.acks.append(
            FeishuAck(
                message=frame.header("message_id"),
                code=answer["code"],
                data=json.loads(base64.b64decode(data)) if data else {},
                headers=dict(frame.headers),
            )
        )


class _QuietServer(uvicorn.Server):
    """Leaves the signals of the process alone."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def signed(
    event: dict[str, Any],
    *,
    key: str = ENCRYPT_KEY,
    token: str | None = VERIFICATION_TOKEN,
    timestamp: int = 0,
    nonce: str = "nonce",
    **headers: str,
) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a webhook. `timestamp` in seconds; `headers` replace the right ones, with underscores for dashes."""
    if token is not None and "header" in event:
        event = {**event, "header": {**event["header"], "token": token}}
    text = encrypted(json.dumps(event, ensure_ascii=False).encode(), key, os.urandom(16))
    body = json.dumps({"encrypt": text}).encode()
    right = {
        "X-Lark-Request-Timestamp": f"{timestamp}",
        "X-Lark-Request-Nonce": nonce,
        "X-Lark-Signature": signature_of(f"{timestamp}", nonce, key, body),
        "Content-Type": "application/json",
    }
    return body, {**right, **{name.replace("_", "-"): value for name, value in headers.items()}}


def text_of(content: dict[str, Any]) -> str:
    """What is to be read in a card or a text."""
    if "text" in content:
        return content["text"]
    elements: list[dict[str, Any]] = content["body"]["elements"]
    return "\n".join(element["content"] for element in elements if element["tag"] == "markdown")


def _failed(fault: FeishuFault) -> Response:
    if fault.garbage:
        return Response("<html>not what you think</html>", status_code=fault.status, headers=fault.headers)
    answer = {"code": fault.code or fault.status, "msg": fault.message}
    return JSONResponse(answer, status_code=fault.status, headers=fault.headers)


def _error(code: int, message: str) -> Response:
    return JSONResponse({"code": code, "msg": message}, status_code=400)
