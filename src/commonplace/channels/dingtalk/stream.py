"""
The connection by which DingTalk brings us what happens: it is asked for, then opened as a websocket, whose frames are acknowledged.

A message is acknowledged when it is kept, and no earlier; one that we could not keep is answered with a fault, so that it is pushed again. A
connection that no longer answers a ping is given up.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import quote

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from commonplace.channels.connection import Connection
from commonplace.channels.dingtalk.api import DingTalkApi
from commonplace.channels.dingtalk.wire import (
    BOT_TOPIC,
    CARD_TOPIC,
    DISCONNECT,
    PING,
    CardPress,
    GatewayAnswer,
    GroupEvent,
    RobotMessage,
    StreamFrame,
    read_as,
)
from commonplace.errors import CommonplaceError
from commonplace.values.channel import PlatformError
from commonplace.values.json import Json

_MOST: Final = 8 << 20
"""Bytes of a frame."""
_GATEWAY: Final = "/v1.0/gateway/connections/open"
_OK: Final = 200
_BAD: Final = 400
_UNKNOWN: Final = 404
_FAULT: Final = 500
_LOGGER: Final = logging.getLogger("commonplace.dingtalk.websocket")
# What it would say at other levels quotes the ticket.
_LOGGER.setLevel(logging.WARNING)

Data = dict[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamHandlers:
    """Who takes what arrives. `message` returns when it is kept; `press` returns what its presser is to be shown."""

    message: Callable[[RobotMessage], Awaitable[None]]
    press: Callable[[CardPress], Awaitable[str | None]]
    group: Callable[[GroupEvent], Awaitable[None]]


class DingTalkStream:
    def __init__(self, api: DingTalkApi, connection: Connection, handlers: StreamHandlers) -> None:
        self._api = api
        self._connection = connection
        self._handlers = handlers

    async def listen(self) -> None:
        """One connection after the other, as long as DingTalk only asks us to change it. Raises PlatformError: it is lost."""
        times = self._api.times
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            await self._listen_once()
            self._connection.note("disconnect", "DingTalk asked to connect anew.")
            if loop.time() - begun < times.settled:
                raise PlatformError("DingTalk closed the connection: it asked to connect anew.")

    async def _listen_once(self) -> None:
        address = await self._address()
        times = self._api.times
        try:
            async with connect(
                address,
                logger=_LOGGER,
                max_size=_MOST,
                open_timeout=times.timeout,
                close_timeout=1.0,
                ping_interval=times.ping,
                ping_timeout=times.silence,
            ) as socket:
                self._connection.connected()
                await self._hear(socket)
        except ConnectionClosed as error:
            code = error.rcvd.code if error.rcvd is not None else None
            why = "it was silent" if error.sent is not None and error.rcvd is None else f"code {code or 'none'}"
            raise PlatformError(f"DingTalk closed the connection: {why}.") from error
        except TimeoutError as error:
            raise PlatformError("The connection to DingTalk timed out while it was opened.") from error
        except (InvalidHandshake, InvalidURI, OSError) as error:
            # Their words quote the address, in which the ticket is.
            raise PlatformError(f"The connection to DingTalk could not be opened ({type(error).__name__}).") from error

    async def _address(self) -> str:
        options = self._api.options
        topics: list[Json] = [
            {"type": "EVENT", "topic": "*"},
            {"type": "CALLBACK", "topic": BOT_TOPIC},
            {"type": "CALLBACK", "topic": CARD_TOPIC},
        ]
        body: Data = {
            "clientId": options.client_id,
            "clientSecret": options.client_secret,
            "subscriptions": topics,
            "ua": "commonplace",
            "localIp": "127.0.0.1",
        }
        answer = read_as(GatewayAnswer, json.dumps(await self._api.open(_GATEWAY, body)))
        if answer is None:
            raise PlatformError("DingTalk answered without a place to connect to.")
        if not options.trusts(answer.endpoint):
            raise PlatformError("DingTalk named a server that is not one of those of the endpoint.")
        joint = "&" if "?" in answer.endpoint else "?"
        return f"{answer.endpoint}{joint}ticket={quote(answer.ticket, safe='')}"

    async def _hear(self, socket: ClientConnection) -> None:
        """Until DingTalk asks us to connect anew. Raises ConnectionClosed."""
        async with _Presses() as presses:
            async for text in socket:
                frame = read_as(StreamFrame, text)
                if frame is None or not frame.headers.message_id:
                    self._connection.note("malformed", "DingTalk sent a frame that we cannot read.")
                    continue
                if (frame.type, frame.headers.topic) == ("SYSTEM", DISCONNECT):
                    await _acknowledge(socket, frame, _OK, _echo(frame))
                    return
                if (frame.type, frame.headers.topic) == ("CALLBACK", CARD_TOPIC):
                    # What a button does may take a while; messages do not wait for it.
                    presses.begin(self._press(socket, frame))
                else:
                    code, data = await self._answer(frame)
                    await _acknowledge(socket, frame, code, data)
        raise PlatformError("DingTalk closed the connection.")

    async def _answer(self, frame: StreamFrame) -> tuple[int, Data]:
        try:
            match frame.type, frame.headers.topic:
                case "SYSTEM", topic:
                    if topic != PING:
                        self._connection.note("unknown", f"DingTalk sent something of the system: {topic:.60}.")
                    return _OK, _echo(frame)
                case "CALLBACK", topic if topic == BOT_TOPIC:
                    return await self._message(frame)
                case "EVENT", _:
                    return await self._event(frame)
                case _:
                    return _UNKNOWN, {}
        except CommonplaceError as error:
            self._connection.note("not_kept", error.message)
            return _FAULT, {}

    async def _message(self, frame: StreamFrame) -> tuple[int, Data]:
        message = read_as(RobotMessage, frame.data)
        if message is None:
            self._connection.note("malformed", "DingTalk sent a message that we cannot read.")
            return _BAD, {"response": {}}
        await self._handlers.message(message)
        return _OK, {"response": {}}

    async def _event(self, frame: StreamFrame) -> tuple[int, Data]:
        event = read_as(GroupEvent, frame.data)
        if event is not None and event.open_conversation_id and _lets_us_in(frame.headers.event_type):
            await self._handlers.group(event)
        return _OK, {**_echo(frame), "status": "SUCCESS", "message": "success"}

    async def _press(self, socket: ClientConnection, frame: StreamFrame) -> None:
        press = read_as(CardPress, frame.data)
        words = None if press is None else await self._pressed(press)
        response: Data = {}
        if words is not None:
            # What only the presser sees: a template of ours shows the variable `notice`.
            response = {"userPrivateData": {"cardParamMap": {"notice": words}}}
        try:
            await _acknowledge(socket, frame, _BAD if press is None else _OK, {"response": response})
        except ConnectionClosed:
            self._connection.note("not_answered", "The connection was lost before a button was answered.")

    async def _pressed(self, press: CardPress) -> str | None:
        try:
            return await self._handlers.press(press)
        except CommonplaceError as error:
            return error.message


class _Presses:
    """Buttons that are at work. They end with the connection."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> _Presses:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def begin(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _lets_us_in(event: str) -> bool:
    """What such an event is called is documented nowhere for all kinds of robots: it names the robot, or a cool app, and that it was added."""
    name = event.lower().replace("_", "")
    is_ours = any(sign in name for sign in ("bot", "coolapp"))
    return is_ours and any(sign in name for sign in ("add", "install", "join")) and "uninstall" not in name


def _echo(frame: StreamFrame) -> Data:
    try:
        data = json.loads(frame.data or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("Data", data) if isinstance(data, dict) else {}


async def _acknowledge(socket: ClientConnection, frame: StreamFrame, code: int, data: Data) -> None:
    answer = {
        "code": code,
        "headers": {"contentType": "application/json", "messageId": frame.headers.message_id},
        "message": "OK" if code == _OK else "",
        "data": json.dumps(data, ensure_ascii=False),
    }
    await socket.send(json.dumps(answer, ensure_ascii=False))
