"""
A Matrix server in this process: so much of the client-server API as our client uses, and every way in which it can go wrong.

What people do is told to it by `say` and its like; what our account did is in `said`, `marks` and `calls`. `fail` makes the next calls go wrong.
That the API is so is shown by a real Synapse (`testing/synapse.py`).
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, cast
from urllib.parse import unquote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

BOT: Final = "@assistant:home"
ANA: Final = "@ana:home"
BOB: Final = "@bob:home"
ROOM: Final = "!releases:home"
TOKEN: Final = "syt_of_the_tests"
_PATIENCE: Final = 5.0
_ENDLESS: Final = 600.0
_FIRST_MOMENT: Final = 1_767_200_000_000

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeFault:
    """What comes in place of an answer. `cut`: the answer breaks off; `hang`: there is none; `is_done`: the call was done all the same."""

    status: int = 500
    body: Any = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    cut: bool = False
    hang: bool = False
    is_done: bool = False


def limited(milliseconds: Any = 50) -> HomeFault:
    body = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": milliseconds}
    return HomeFault(status=429, body=body)


def denied(errcode: str = "M_FORBIDDEN", status: int = 403) -> HomeFault:
    return HomeFault(status=status, body={"errcode": errcode, "error": "You may not."})


@dataclass(kw_only=True, slots=True)
class HomeRoom:
    """`state` is what holds now, by type and key."""

    chat: str
    events: list[tuple[int, Any]] = field(default_factory=list[tuple[int, Any]])
    state: dict[tuple[str, str], Document] = field(default_factory=dict[tuple[str, str], Document])

    def membership(self, who: str) -> str:
        return self.state.get(("m.room.member", who), {}).get("content", {}).get("membership", "leave")


class Homeserver:
    """Begun by `homeserver`. `place` is the number of the last event; `s7` is a token that stands behind the seventh."""

    def __init__(self) -> None:
        self.url = ""
        self.token = TOKEN
        self.rooms: dict[str, HomeRoom] = {}
        self.calls: list[tuple[str, Document]] = []
        """What was called, and with which body or parameters."""
        self.files: dict[str, tuple[bytes, Mapping[str, str]]] = {}
        self.account_data: dict[str, Document] = {}
        self.typing: list[tuple[str, bool]] = []
        self.place = 0
        self.acknowledged = 0
        """The place up to which whoever listens says that it has everything."""
        self.waiting = 0
        """Calls of `sync` that wait for something to happen."""
        self._transactions: dict[str, str] = {}
        self._faults: defaultdict[str, deque[HomeFault]] = defaultdict(deque)
        self._numbers = count(1)
        self._news = asyncio.Event()
        self._losses: list[HomeFault] = []
        self._ending = asyncio.Event()

    # ---- what goes wrong

    def fail(self, call: str, *faults: HomeFault) -> None:
        """The next calls of a name: `sync`, `send`, `edit`, `m.reaction`, `messages`, `event`, `join`, …"""
        self._faults[call].extend(faults)

    def lose(self, fault: HomeFault) -> None:
        """Lose the connection: whoever waits for something to happen gets this, or whoever next asks what happened."""
        if self.waiting:
            self._losses.append(fault)
            self._tell()
        else:
            self.fail("sync", fault)

    def made(self, call: str) -> list[Document]:
        return [body for name, body in self.calls if name == call]

    # ---- what people do

    def room(self, chat: str = ROOM, *people: str, name: str = "Releases", bot: str = "join", **more: Any) -> str:
        """A room with people in it. `bot`: our membership; `direct` and `by` are of our invitation."""
        for person in people or (ANA, BOB):
            self.put(chat, "m.room.member", {"membership": "join", "displayname": _name(person)}, key=person)
        if name:
            self.put(chat, "m.room.name", {"name": name}, key="")
        if bot == "invite":
            self.invite(chat, **more)
        elif bot:
            self.put(chat, "m.room.member", {"membership": bot, "displayname": "Assistant"}, key=BOT, sender=BOT)
        return chat

    def invite(self, chat: str, *, by: str = ANA, direct: bool = False) -> None:
        self.put(
            chat,
            "m.room.member",
            {"membership": "invite", **({"is_direct": True} if direct else {})},
            key=BOT,
            sender=by,
        )

    def put(self, chat: str, kind: str, content: Document, *, sender: str = ANA, key: str | None = None) -> str:
        """An event of any kind; with a `key` it says how the room is. Its id."""
        return self._keep(chat, {"type": kind, "sender": sender, "content": content}, key)

    def raw(self, chat: str, event: Any) -> None:
        """Anything, as it is."""
        self.place += 1
        self.rooms.setdefault(chat, HomeRoom(chat=chat)).events.append((self.place, event))
        self._tell()

    def say(
        self,
        text: str,
        sender: str = ANA,
        *,
        chat: str = ROOM,
        to_us: bool = True,
        thread: str = "",
        relation: Document | None = None,
        **more: Any,
    ) -> str:
        """`to_us`: it mentions our account, as clients do. `relation`: what else it says of the message it belongs to."""
        mentions = {"user_ids": [BOT]} if to_us else {}
        content: Document = {"msgtype": "m.text", "body": text, "m.mentions": mentions, **more}
        in_thread = {"rel_type": "m.thread", "event_id": thread} if thread else {}
        if thread or relation is not None:
            content["m.relates_to"] = {**in_thread, **(relation or {})}
        return self.put(chat, "m.room.message", content, sender=sender)

    def repeat(self, event: str, *, chat: str = ROOM) -> None:
        """Tell of an event once more, as a server does that has forgotten that it was heard."""
        self.raw(chat, self._find(chat, event))

    def change(self, event: str, text: str, sender: str = ANA) -> str:
        """Edit a message; the id of the edit."""
        content: Document = {"msgtype": "m.text", "body": f"* {text}", "m.new_content": {"body": text}}
        content["m.relates_to"] = {"rel_type": "m.replace", "event_id": event}
        return self.put(ROOM, "m.room.message", content, sender=sender)

    def react(self, event: str, mark: str, sender: str = BOB, *, chat: str = ROOM) -> str:
        relation = {"rel_type": "m.annotation", "event_id": event, "key": mark}
        return self.put(chat, "m.reaction", {"m.relates_to": relation}, sender=sender)

    # ---- what our account did

    def said(self, chat: str = ROOM) -> list[Document]:
        """The contents of our messages, changed ones as they are now, each with its `id`."""
        messages: dict[str, Document] = {}
        for _, event in _shaped(self.rooms[chat].events):
            if event.get("sender") != BOT or event.get("type") != "m.room.message" or not event["content"]:
                continue
            relation = event["content"].get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                messages[relation["event_id"]] |= event["content"]["m.new_content"]
            else:
                messages[event["event_id"]] = {**event["content"], "id": event["event_id"]}
        return list(messages.values())

    def texts(self, chat: str = ROOM) -> list[str]:
        return [message["body"] for message in self.said(chat)]

    def marks(self, event: str, chat: str = ROOM) -> list[str]:
        """Our reactions to an event that stand."""
        relations = [
            entry["content"].get("m.relates_to", {})
            for _, entry in _shaped(self.rooms[chat].events)
            if entry.get("sender") == BOT and entry.get("type") == "m.reaction"
        ]
        return [relation["key"] for relation in relations if relation.get("event_id") == event]

    # ---- the interface

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        parts = [unquote(part) for part in request.scope["raw_path"].decode().split("?")[0].split("/")[1:]]
        content = await request.body()
        body: Document = json.loads(content) if content else dict(request.query_params)
        call = _call_of(parts, body)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _json({"errcode": "M_UNKNOWN_TOKEN", "error": f"Invalid access token {self.token}"}, 401)
        self.calls.append((call, body))
        fault = self._faults[call].popleft() if self._faults[call] else None
        if fault is None:
            return await self._do(call, path, parts, body)
        if fault.is_done:
            await self._do(call, path, parts, body)
        return await self._failed(fault)

    async def _failed(self, fault: HomeFault) -> Response:
        if fault.hang:
            async with asyncio.timeout(_ENDLESS):
                await self._ending.wait()
        if fault.cut:
            headers = {"Content-Type": "application/json", "Content-Length": "100000"}
            return StreamingResponse(_half(), headers=headers)
        if isinstance(fault.body, str | bytes):
            return Response(fault.body, fault.status, headers=dict(fault.headers))
        return _json(fault.body, fault.status, headers=dict(fault.headers))

    async def _do(self, call: str, path: str, parts: list[str], body: Document) -> Response:
        match call:
            case "sync":
                return await self._sync(body)
            case "send" | "edit" | "m.reaction":
                return self._send(path, parts[4], parts[6], body)
            case "redact":
                return self._redact(path, parts[4], parts[6])
            case "messages":
                return self._page(parts[4], body)
            case "event":
                return self._event(parts[4], parts[6])
            case "join":
                return self._join(parts[4])
            case _:
                return self._beside(call, parts, body)

    def _beside(self, call: str, parts: list[str], body: Document) -> Response:
        match call:
            case "whoami":
                return _json({"user_id": BOT})
            case "typing":
                self.typing.append((parts[4], body["typing"]))
                return _json({})
            case "media":
                return self._file("/".join(parts[-2:]))
            case "account_data":
                return self._account_data(parts[6], body)
            case _:
                return _nowhere()

    def _send(self, path: str, chat: str, kind: str, body: Document) -> Response:
        room = self.rooms.get(chat)
        if room is None or room.membership(BOT) != "join":
            return _json({"errcode": "M_FORBIDDEN", "error": "User not in room"}, 403)
        if path not in self._transactions:
            event = {"type": kind, "sender": BOT, "content": body, "unsigned": {"transaction_id": path.split("/")[-1]}}
            self._transactions[path] = self._keep(chat, event, None)
        return _json({"event_id": self._transactions[path]})

    def _redact(self, path: str, chat: str, event_id: str) -> Response:
        event = self._find(chat, event_id)
        if event is None:
            return _nowhere()
        event["content"] = {}
        event["unsigned"] = {"redacted_because": {}}
        return _json({"event_id": self._transactions.setdefault(path, f"$redaction-{next(self._numbers)}")})

    def _join(self, chat: str) -> Response:
        room = self.rooms.get(chat)
        if room is None or room.membership(BOT) not in ("invite", "join"):
            return _json({"errcode": "M_FORBIDDEN", "error": "You are not invited to this room."}, 403)
        if room.membership(BOT) == "invite":
            content = {"membership": "join", "displayname": "Assistant"}
            self.put(chat, "m.room.member", content, sender=BOT, key=BOT)
        return _json({"room_id": chat})

    def _event(self, chat: str, event_id: str) -> Response:
        event = self._find(chat, event_id)
        return _nowhere() if event is None else _json(event)

    def _find(self, chat: str, event_id: str) -> Document | None:
        events = _shaped(self.rooms[chat].events)
        return next((event for _, event in events if event.get("event_id") == event_id), None)

    def _file(self, name: str) -> Response:
        if name not in self.files:
            return _nowhere()
        content, headers = self.files[name]
        return Response(content, headers=dict(headers))

    def _account_data(self, kind: str, body: Document) -> Response:
        if body:
            self.account_data[kind] = body
            return _json({})
        return _json(self.account_data[kind]) if kind in self.account_data else _nowhere()

    def _page(self, chat: str, params: Document) -> Response:
        start, end, most = int(params["from"][1:]), int(params.get("to", "s0")[1:]), int(params["limit"])
        behind = [(place, event) for place, event in self.rooms[chat].events if end < place <= start][::-1]
        page = {"start": params["from"], "chunk": [event for _, event in behind[:most]]}
        return _json(page | ({"end": f"s{behind[most][0]}"} if len(behind) > most else {}))

    async def _sync(self, params: Document) -> Response:
        since = int(params["since"][1:]) if "since" in params else None
        self.acknowledged = max(self.acknowledged, since or 0)
        loss = await self._something(since, int(params["timeout"]) / 1000)
        if loss is not None:
            return await self._failed(loss)
        most = json.loads(params["filter"])["room"]["timeline"]["limit"]
        joined, invited, gone = self._rooms_of(since, most, full="full_state" in params)
        direct = [{"type": "m.direct", "content": self.account_data["m.direct"]}] if self.account_data else []
        rooms = {"join": joined, "invite": invited, "leave": gone}
        return _json({"next_batch": f"s{self.place}", "rooms": rooms, "account_data": {"events": direct}})

    async def _something(self, since: int | None, seconds: float) -> HomeFault | None:
        """Wait until something has happened since, for so long at most; or until the connection is lost."""
        deadline, losses = asyncio.get_running_loop().time() + seconds, len(self._losses)
        self.waiting += 1
        try:
            while since is not None and since >= self.place and not self._ending.is_set():
                pause = deadline - asyncio.get_running_loop().time()
                if pause <= 0:
                    break
                self._news.clear()
                try:
                    await asyncio.wait_for(self._news.wait(), pause)
                except TimeoutError:
                    break
                if len(self._losses) > losses:
                    return self._losses[losses]
            return None
        finally:
            self.waiting -= 1

    def _rooms_of(self, since: int | None, most: int, *, full: bool) -> tuple[Document, Document, Document]:
        joined, invited, gone = Document(), Document(), Document()
        for chat, room in self.rooms.items():
            news = [(place, event) for place, event in room.events if since is None or place > since]
            match room.membership(BOT):
                case "join" if news or full:
                    joined[chat] = _joined(room, news, since, most, full=full)
                case "invite" if news:
                    states = [
                        room.state["m.room.member", BOT],
                        *([s] if (s := room.state.get(("m.room.name", ""))) else []),
                    ]
                    invited[chat] = {"invite_state": {"events": states}}
                case "leave" | "ban" if news and since is not None:
                    gone[chat] = {}
                case _:
                    pass
        return joined, invited, gone

    def _keep(self, chat: str, event: Document, key: str | None) -> str:
        room = self.rooms.setdefault(chat, HomeRoom(chat=chat))
        number = next(self._numbers)
        event = {"event_id": f"$event-{number}", "origin_server_ts": _FIRST_MOMENT + number * 10_000, **event}
        if key is not None:
            before = room.state.get((event["type"], key))
            unsigned = {} if before is None else {"prev_content": before["content"]}
            event |= {"state_key": key, "unsigned": unsigned}
            room.state[event["type"], key] = event
        self.raw(chat, event)
        return event["event_id"]

    def _tell(self) -> None:
        self._news.set()

    def stop(self) -> None:
        self._ending.set()
        self._tell()


def _joined(room: HomeRoom, news: list[tuple[int, Any]], since: int | None, most: int, *, full: bool) -> Document:
    """As `sync` tells of a room: the state before the timeline, and the last of what happened."""
    entered = room.state["m.room.member", BOT]
    is_new = since is None or any(event is entered for _, event in news)
    events = room.events if is_new else news
    timeline = events[-most:]
    first = timeline[0][0] if timeline else 1 << 60
    earliest = 0 if is_new or full else since or 0
    state: dict[tuple[str, str], Document] = {}
    for place, event in _shaped(room.events):
        if event.get("state_key") is not None and earliest < place < first:
            state[event["type"], event["state_key"]] = event
    return {
        "state": {"events": list(state.values())},
        "timeline": {
            "events": [event for _, event in timeline],
            "limited": len(events) > len(timeline),
            "prev_batch": f"s{first - 1}",
        },
    }


def _shaped(events: list[tuple[int, Any]]) -> list[tuple[int, Document]]:
    """Without those that are no events, which are told all the same."""
    return [(place, cast("Document", event)) for place, event in events if isinstance(event, dict)]


def _call_of(parts: list[str], body: Document) -> str:
    if "media" in parts[:4]:
        return "media"
    if parts[3:4] == ["user"]:
        return "account_data"
    names = {"sync": "sync", "join": "join", "account": "whoami"}
    if len(parts) > 3 and parts[3] in names:
        return names[parts[3]]
    what = parts[5] if len(parts) > 5 else ""
    if what == "send" and parts[6] == "m.reaction":
        return "m.reaction"
    is_edit = what == "send" and body.get("m.relates_to", {}).get("rel_type") == "m.replace"
    return "edit" if is_edit else what


def _name(person: str) -> str:
    return person.removeprefix("@").partition(":")[0].title()


def _json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """ASCII, so that a lone surrogate comes as people of ill will send it."""
    return Response(json.dumps(body), status, headers=headers, media_type="application/json")


def _nowhere() -> Response:
    return _json({"errcode": "M_NOT_FOUND", "error": "Not found"}, 404)


async def _half() -> AsyncIterator[bytes]:
    yield b'{"next_batch": "s9", "rooms": {"join": {"!rel'


@asynccontextmanager
async def homeserver() -> AsyncGenerator[Homeserver]:
    """On a free port of this machine, until the block is left."""
    server = Homeserver()
    app = Starlette(routes=[Route("/{path:path}", server.answer, methods=["GET", "POST", "PUT"])])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        web = uvicorn.Server(
            uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
        )
        work = asyncio.create_task(web.serve([listener]))
        try:
            yield server
        finally:
            server.stop()
            web.should_exit = True
            await asyncio.wait({work}, timeout=_PATIENCE)
