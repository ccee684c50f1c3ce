"""
The server: its interface over HTTP, and the connections by which it brings a robot what happens.

`rooms` are the messages that the robot wrote, by chat, as people see them. `fail` makes the next calls of a path go wrong.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from commonplace.ports.clock import Clock

BOT: Final = "/v1.0/im/bot/messages/get"
CARDS: Final = "/v1.0/card/instances/callback"
_PATIENCE: Final = 5.0
_ENDLESS: Final = 600.0
_TOKEN: Final = "x-acs-dingtalk-access-token"
_UNTRUE: Final = {"code": "InvalidAuthentication", "message": "不合法的access_token"}

Way = Literal["webhook", "group", "person"]
Document = dict[str, Any]


class SystemTime:
    """The time of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What comes in place of an answer. `cut`: the answer breaks off; `hang`: there is none; `is_done`: the call was done all the same."""

    status: int = 500
    body: Document | str = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    cut: bool = False
    hang: bool = False
    is_done: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RobotWords:
    """A message of the robot in a chat, and how it came there."""

    way: Way
    title: str
    text: str


@dataclass(kw_only=True, slots=True)
class ServerCard:
    """A card as it is now. `contents` are those that were streamed into it, in order."""

    template: str
    space: str
    data: Document
    contents: list[str] = field(default_factory=list[str])
    is_final: bool = False
    is_delivered: bool = False
    """People see it."""


@dataclass(kw_only=True, slots=True)
class _Webhook:
    chat: str
    until: datetime


class DingTalkServer:
    """Begun by `dingtalk_server`. What people do is told to it by `push` and its like; the robot's side is in `rooms`, `cards`, `marks` and `calls`."""

    def __init__(self, clock: Clock, *, client_id: str, client_secret: str) -> None:
        self.clock = clock
        self.client_id = client_id
        self.client_secret = client_secret
        self.url = ""
        self.stream_url = ""
        self.token_seconds = 7_200
        self.webhook_seconds = 3_600.0
        self.rooms: defaultdict[str, list[RobotWords]] = defaultdict(list)
        self.cards: dict[str, ServerCard] = {}
        self.marks: defaultdict[str, list[str]] = defaultdict(list)
        """What the robot put on a message, and took away."""
        self.calls: list[tuple[str, Document]] = []
        self.acks: dict[str, Document] = {}
        self.files: dict[str, bytes] = {}
        self.groups: dict[str, str] = {}
        """If there are any: the ids by which groups are written to, by their chatIds; no other is taken."""
        self.strangers: set[str] = set()
        self.held_back: set[str] = set()
        """People to whom nothing comes: nobody knows them, or they had too much."""
        self.links: list[ServerConnection] = []
        self.tokens: dict[str, datetime] = {}
        self._tickets: set[str] = set()
        self._webhooks: dict[str, _Webhook] = {}
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._numbers = count(1)
        self._waiting: dict[str, asyncio.Event] = {}
        self._ending = asyncio.Event()

    # ---- what goes wrong

    def fail(self, path: str, *faults: Fault) -> None:
        """The next calls of a path that ends so, in order."""
        self._faults[path].extend(faults)

    def forgive(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()

    def end_tokens(self) -> None:
        """No access token is taken any more."""
        self.tokens.clear()

    def end_webhooks(self) -> None:
        """No webhook is taken any more, whatever was said when it was given."""
        self._webhooks.clear()

    def made(self, path: str) -> list[Document]:
        """The bodies of the calls of a path that ends so."""
        return [body for called, body in self.calls if called.endswith(path)]

    # ---- what people do

    async def push(self, document: Document, *, topic: str = BOT, kind: str = "CALLBACK", **headers: str) -> Document:
        """Bring it to the robot by the newest connection, and wait for the acknowledgement. A message gets a webhook."""
        if topic == BOT and "conversationId" in document and "sessionWebhook" not in document:
            document = {**document, **self._webhook(document["conversationId"])}
        return await self._sent(kind, topic, json.dumps(document, ensure_ascii=False), headers)

    async def press(self, document: Document) -> Document:
        """A button: what the robot answers."""
        ack = await self.push(document, topic=CARDS)
        return json.loads(ack["data"])

    async def let_in(self, chat: str, *, event: str = "im_cool_app_install", **more: Any) -> Document:
        """The robot is added to a group."""
        data = {"openConversationId": chat, **more}
        return await self.push(data, topic="*", kind="EVENT", eventType=event, eventId=f"event-{next(self._numbers)}")

    async def ping(self) -> Document:
        return await self._sent("SYSTEM", "ping", json.dumps({"opaque": "0aa2e3c2"}), {})

    async def disconnect(self) -> None:
        """Ask the robot to connect anew."""
        frame = self._frame("SYSTEM", "disconnect", json.dumps({"reason": "persistent connection is timeout"}), {})
        await self.links[-1].send(json.dumps(frame))

    async def say_raw(self, text: str | bytes) -> None:
        """Whatever it is, as a frame."""
        await self.links[-1].send(text)

    def break_off(self) -> None:
        """The connection ends in the middle of a frame."""
        # A text frame that claims 100 bytes, of which ten come.
        self.links[-1].transport.write(b"\x81\x64" + b'{"type": "')
        self.links[-1].transport.abort()

    def fall_silent(self) -> None:
        """The connection stays, and nothing that comes by it is read: no ping is answered."""
        self.links[-1].transport.pause_reading()

    async def _sent(self, kind: str, topic: str, data: str, headers: dict[str, str]) -> Document:
        frame = self._frame(kind, topic, data, headers)
        id = frame["headers"]["messageId"]
        event = self._waiting[id] = asyncio.Event()
        await self.links[-1].send(json.dumps(frame, ensure_ascii=False))
        async with asyncio.timeout(_PATIENCE):
            await event.wait()
        return self.acks[id]

    def _frame(self, kind: str, topic: str, data: str, headers: dict[str, str]) -> Document:
        own = {
            "appId": "app",
            "connectionId": "connection",
            "contentType": "application/json",
            "messageId": f"frame-{next(self._numbers)}",
            "time": str(self._milliseconds(self.clock.now())),
            "topic": topic,
        }
        return {"specVersion": "1.0", "type": kind, "headers": {**own, **headers}, "data": data}

    def _webhook(self, chat: str) -> Document:
        token, now = f"session-{next(self._numbers)}", self.clock.now()
        until = now + timedelta(seconds=self.webhook_seconds)
        self._webhooks[token] = _Webhook(chat=chat, until=until)
        return {
            "sessionWebhook": f"{self.url}/robot/sendBySession?session={token}",
            "sessionWebhookExpiredTime": self._milliseconds(until),
            "createAt": self._milliseconds(now),
        }

    @staticmethod
    def _milliseconds(moment: datetime) -> int:
        return int(moment.timestamp() * 1_000)

    # ---- connections

    async def link(self, connection: ServerConnection) -> None:
        """One connection of the robot."""
        query = parse_qs(urlsplit(connection.request.path if connection.request else "").query)
        ticket = query.get("ticket", [""])[0]
        if ticket not in self._tickets:
            await connection.close(1008, "The ticket is not valid.")
            return
        self._tickets.discard(ticket)
        self.links.append(connection)
        try:
            async for text in connection:
                ack = json.loads(text)
                id = ack["headers"]["messageId"]
                self.acks[id] = ack
                if id in self._waiting:
                    self._waiting.pop(id).set()
        except ConnectionClosed:
            pass
        finally:
            self.links.remove(connection)

    # ---- the interface

    async def answer(self, request: Request) -> Response:
        """Any call."""
        path = request.url.path
        content = await request.body()
        body: Document = json.loads(content) if content else {}
        self.calls.append((path, body))
        fault = self._fault(path)
        if fault is not None and not fault.is_done:
            return await self._failed(fault)
        answer = self._done(request, path, body)
        return answer if fault is None else await self._failed(fault)

    def _fault(self, path: str) -> Fault | None:
        for end, faults in self._faults.items():
            if path.endswith(end) and faults:
                return faults.popleft()
        return None

    async def _failed(self, fault: Fault) -> Response:
        if fault.hang:
            await asyncio.wait_for(self._ending.wait(), _ENDLESS)
        if fault.cut:
            return StreamingResponse(_half(), headers={"content-length": "100"})
        if isinstance(fault.body, str):
            return Response(fault.body, fault.status, dict(fault.headers))
        return JSONResponse(fault.body, fault.status, dict(fault.headers))

    def _done(self, request: Request, path: str, body: Document) -> Response:
        match path:
            case "/v1.0/gateway/connections/open":
                return self._open(body)
            case "/v1.0/oauth2/accessToken":
                return self._give_token(body)
            case "/robot/sendBySession":
                return self._reply(request.query_params.get("session", ""), body)
            case _ if path.startswith("/files/"):
                return Response(self.files[path.removeprefix("/files/")])
            case _:
                pass
        until = self.tokens.get(request.headers.get(_TOKEN, ""))
        if until is None or until <= self.clock.now():
            return JSONResponse(_UNTRUE, 401)
        return self._with_token(request.method, path, body)

    def _open(self, body: Document) -> Response:
        if (body.get("clientId"), body.get("clientSecret")) != (self.client_id, self.client_secret):
            return JSONResponse({"code": "authFailed", "message": "鉴权失败"}, 401)
        ticket = f"ticket/{next(self._numbers)}=="
        self._tickets.add(ticket)
        return JSONResponse({"endpoint": self.stream_url, "ticket": ticket})

    def _give_token(self, body: Document) -> Response:
        if (body.get("appKey"), body.get("appSecret")) != (self.client_id, self.client_secret):
            answer = {"code": "invalidClientIdOrSecret", "message": "无效的clientId或者clientSecret"}
            return JSONResponse(answer, 400)
        token = f"access-token-{next(self._numbers)}"
        self.tokens[token] = self.clock.now() + timedelta(seconds=self.token_seconds)
        return JSONResponse({"accessToken": token, "expireIn": self.token_seconds})

    def _reply(self, session: str, body: Document) -> Response:
        webhook = self._webhooks.get(session)
        if webhook is None or webhook.until <= self.clock.now():
            return JSONResponse({"errcode": 300_001, "errmsg": "token is not exist"})
        part = body[body["msgtype"]]
        text = part["content"] if body["msgtype"] == "text" else part["text"]
        self.rooms[webhook.chat].append(RobotWords(way="webhook", title=part.get("title", ""), text=text))
        return JSONResponse({"errcode": 0, "errmsg": "ok"})

    def _with_token(self, method: str, path: str, body: Document) -> Response:
        match method, path.removeprefix("/v1.0/"):
            case "POST", "robot/groupMessages/send":
                return self._to_group(body)
            case "POST", "robot/oToMessages/batchSend":
                return self._to_people(body)
            case "POST", "robot/messageFiles/download":
                return self._file(body)
            case "POST", "robot/emotion/reply" | "robot/emotion/recall":
                mark = body["emotionName"] if path.endswith("reply") else ""
                self.marks[body["openMsgId"]].append(mark)
                return JSONResponse({"success": True})
            case _, other if other.startswith("card/"):
                return self._card(method, other.removeprefix("card/"), body)
            case "POST", other if other.endswith("/convertToOpenConversationId"):
                chat = unquote(other.split("/")[2])
                return JSONResponse({"openConversationId": self.groups[chat]} if chat in self.groups else {}, 200)
            case _:
                return _nowhere()

    def _to_group(self, body: Document) -> Response:
        group = body["openConversationId"]
        if body["robotCode"] != self.client_id:
            return JSONResponse({"code": "robot.notExist", "message": "机器人不存在"}, 400)
        if self.groups and group not in self.groups.values():
            return JSONResponse({"code": "invalid.openConversationId", "message": "openConversationId 无效"}, 400)
        self.rooms[group].append(_words("group", body))
        return JSONResponse({"processQueryKey": f"query-{next(self._numbers)}"})

    def _to_people(self, body: Document) -> Response:
        people: list[str] = body["userIds"]
        for person in people:
            if person not in self.strangers | self.held_back:
                self.rooms[person].append(_words("person", body))
        return JSONResponse(
            {
                "processQueryKey": f"query-{next(self._numbers)}",
                "invalidStaffIdList": [person for person in people if person in self.strangers],
                "flowControlledStaffIdList": [person for person in people if person in self.held_back],
            }
        )

    def _file(self, body: Document) -> Response:
        code = body["downloadCode"]
        if code not in self.files:
            return JSONResponse({"code": "invalidParameter.downloadCode", "message": "downloadCode 无效"}, 400)
        return JSONResponse({"downloadUrl": f"{self.url}/files/{code}"})

    def _card(self, method: str, path: str, body: Document) -> Response:
        match method, path:
            case "POST", "instances":
                return self._make_card(body)
            case "POST", "instances/createAndDeliver":
                self._make_card(body)
                return self._deliver_card(body)
            case "POST", "instances/deliver":
                return self._deliver_card(body)
            case "PUT", "instances":
                return self._change_card(body)
            case "PUT", "streaming":
                return self._stream_card(body)
            case _:
                return _nowhere()

    def _make_card(self, body: Document) -> Response:
        key, data = body["outTrackId"], body["cardData"]["cardParamMap"]
        self.cards[key] = ServerCard(template=body["cardTemplateId"], space="", data=data)
        return JSONResponse({"success": True, "result": {"outTrackId": key}})

    def _deliver_card(self, body: Document) -> Response:
        """Into the space that it names, if it says how it is delivered there."""
        card = self.cards[body["outTrackId"]]
        card.space = body["openSpaceId"]
        kind = card.space.removeprefix("dtv1.card//").partition(".")[0]
        match kind:
            case "IM_GROUP":
                card.is_delivered = body["imGroupOpenDeliverModel"].get("robotCode") == self.client_id
            case "IM_ROBOT":
                card.is_delivered = body["imRobotOpenDeliverModel"].get("spaceType") == "IM_ROBOT"
            case _:
                pass
        place: Document = {"success": card.is_delivered, "spaceType": kind}
        if not card.is_delivered:
            place["errorMsg"] = "no such space, or no such robot in it"
        return JSONResponse({"success": True, "result": {"outTrackId": body["outTrackId"], "deliverResults": [place]}})

    def _change_card(self, body: Document) -> Response:
        card = self.cards.get(body["outTrackId"])
        if card is None:
            return JSONResponse({"code": "param.cardNotExist", "message": "卡片不存在"}, 400)
        by_key = body.get("cardUpdateOptions", {}).get("updateCardDataByKey", False)
        card.data = {**(card.data if by_key else {}), **body["cardData"]["cardParamMap"]}
        return JSONResponse({"success": True})

    def _stream_card(self, body: Document) -> Response:
        card = self.cards.get(body["outTrackId"])
        if card is None or card.is_final:
            return JSONResponse({"code": "param.cardNotExist", "message": "卡片不存在或已结束"}, 400)
        card.contents.append(body["content"])
        card.is_final = body["isFinalize"]
        return JSONResponse({"success": True})

    def stop(self) -> None:
        self._ending.set()


def _nowhere() -> Response:
    return JSONResponse({"code": "InvalidAction.NotFound", "message": "Specified api is not found"}, 404)


def _words(way: Way, body: Document) -> RobotWords:
    parameters = json.loads(body["msgParam"])
    return RobotWords(way=way, title=parameters["title"], text=parameters["text"])


async def _half() -> AsyncIterator[bytes]:
    yield b'{"succ'


@asynccontextmanager
async def dingtalk_server(
    clock: Clock | None = None, *, client_id: str = "ding-app", client_secret: str = "the-client-secret-of-the-tests"
) -> AsyncGenerator[DingTalkServer]:
    """On two free ports of this machine, until the block is left."""
    server = DingTalkServer(clock or SystemTime(), client_id=client_id, client_secret=client_secret)
    methods = ["GET", "POST", "PUT"]
    app = Starlette(routes=[Route("/{path:path}", server.answer, methods=methods)])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
        web = uvicorn.Server(config)
        async with serve(server.link, "127.0.0.1", 0, ping_interval=None, close_timeout=1.0) as gateway:
            port = next(iter(gateway.sockets)).getsockname()[1]
            server.stream_url = f"ws://127.0.0.1:{port}/connect"
            work = asyncio.create_task(web.serve([listener]))
            try:
                yield server
            finally:
                server.stop()
                web.should_exit = True
                await asyncio.wait({work}, timeout=_PATIENCE)
