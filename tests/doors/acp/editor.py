"""An editor in this process, which speaks the protocol line by line to a server of ours over two pipes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from commonplace import AsyncClient
from commonplace.agent.acp.lines import LineTransport
from commonplace.agent.acp.serve.server import AcpServer
from commonplace.cli.agent_line import Partner
from commonplace.compose.open_agent import open_agent
from commonplace.settings import Settings
from commonplace.testing.daemon import TOKEN, on_socket, served
from commonplace.testing.vendor import Vendor

PATIENCE = 20.0
ALL = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


class Refusal(Exception):
    """What the editor answers with an error."""


class EditorPeer:
    """`answers` has what it answers to each method that is asked of it; a method without an answer waits for `answer`."""

    def __init__(self, opened: Partner, reader: asyncio.StreamReader, target: int) -> None:
        self.opened = opened
        self.answers: dict[str, Callable[[Any], Any]] = {"session/request_permission": lambda _: selected("allow_once")}
        self.asked: list[tuple[str, Any]] = []
        self.updates: list[Any] = []
        self.notes: list[tuple[str, Any]] = []
        self.changed = asyncio.Event()
        self.is_over = False
        self._reader = reader
        self._target = target
        self._last = 0
        self._unanswered: list[Any] = []
        self._pending: dict[Any, asyncio.Future[Any]] = {}

    async def listen(self) -> None:
        while line := await self._reader.readline():
            message = json.loads(line)
            if "method" not in message:
                self._pending.pop(message["id"]).set_result(message)
            elif "id" in message:
                self._asked_for(message)
            else:
                self.notes.append((message["method"], message["params"]))
                if message["method"] == "session/update":
                    self.updates.append(message["params"]["update"])
            self.changed.set()
            self.changed = asyncio.Event()

    def _asked_for(self, message: Any) -> None:
        method, id = message["method"], message["id"]
        self.asked.append((method, message["params"]))
        if method in self.answers:
            try:
                result = {"result": self.answers[method](message["params"])}
            except Refusal as refusal:
                result = {"error": {"code": -32603, "message": str(refusal)}}
            self.write({"jsonrpc": "2.0", "id": id, **result})
        else:
            self._unanswered.append(id)

    def answer(self, result: Any) -> None:
        """Answer now what was asked last, and has no answer yet."""
        self.write({"jsonrpc": "2.0", "id": self._unanswered.pop(), "result": result})

    def write(self, line: object) -> None:
        text = line if isinstance(line, str) else json.dumps(line)
        os.write(self._target, f"{text}\n".encode())

    def begin(self, method: str, /, **params: Any) -> asyncio.Future[Any]:
        self._last += 1
        return self.expect(
            f"e{self._last}", {"jsonrpc": "2.0", "id": f"e{self._last}", "method": method, "params": params}
        )

    def expect(self, id: Any, line: object) -> asyncio.Future[Any]:
        """Write it; the answer with that id."""
        future = self._pending[id] = asyncio.get_running_loop().create_future()
        self.write(line)
        return future

    async def call(self, method: str, /, **params: Any) -> Any:
        async with asyncio.timeout(PATIENCE):
            return await self.begin(method, **params)

    def note(self, method: str, /, **params: Any) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await self.changed.wait()

    async def told(self, kind: str) -> Any:
        """The first update of this kind, from now or before."""
        await self.until(lambda: any(update["sessionUpdate"] == kind for update in self.updates))
        return next(update for update in self.updates if update["sessionUpdate"] == kind)

    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.updates]

    async def session(self, folder: Path, **offers: Any) -> str:
        """A new one, of an editor that offers this."""
        await self.call("initialize", protocolVersion=1, clientCapabilities=offers)
        return (await self.call("session/new", cwd=str(folder), mcpServers=[]))["result"]["sessionId"]

    def say(self, session: str, text: str) -> asyncio.Future[Any]:
        return self.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    async def turn(self, session: str, text: str) -> Any:
        async with asyncio.timeout(PATIENCE):
            return await self.say(session, text)

    def leave(self) -> None:
        if not self.is_over:
            self.is_over = True
            os.close(self._target)


def selected(option: str) -> Any:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def _model(vendor: Vendor | None) -> dict[str, Any]:
    if vendor is None:
        return {}
    return {"llm_model": "openai:small", "llm_base_url": vendor.url, "llm_api_key": "sk-test-0000", "llm_price": "1/1"}


@asynccontextmanager
async def editor(folder: Path, vendor: Vendor | None = None) -> AsyncGenerator[EditorPeer]:
    """An editor whose agent is in its process, and whose model is the vendor's, else the librarian."""
    settings = Settings(home=folder / "home", embedder="none", **_model(vendor))
    async with open_agent(settings) as opened:
        partner = Partner(agent=opened.agent, memory=opened.memory, model=None, place="here", local=opened.agent)
        async with _attached(partner) as peer:
            yield peer


@asynccontextmanager
async def editor_of_daemon(folder: Path, vendor: Vendor) -> AsyncGenerator[EditorPeer]:
    """The same through a daemon, over a real socket."""
    async with (
        served(folder / "home", **_model(vendor)) as running,
        on_socket(running) as url,
        editor_at(url, TOKEN) as peer,
    ):
        yield peer


@asynccontextmanager
async def editor_at(url: str, secret: str) -> AsyncGenerator[EditorPeer]:
    """An editor of whoever has this key, at a daemon that runs."""
    async with (
        AsyncClient(url, secret, timeout=PATIENCE) as client,
        _attached(Partner(agent=client, memory=client, model=None, place=url)) as peer,
    ):
        yield peer


@asynccontextmanager
async def _attached(partner: Partner) -> AsyncGenerator[EditorPeer]:
    @asynccontextmanager
    async def open_partner() -> AsyncGenerator[Partner]:
        yield partner

    (source, target), (begin, end) = os.pipe(), os.pipe()
    reader = asyncio.StreamReader(limit=1 << 24)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(begin, "rb", buffering=0)
    )
    peer = EditorPeer(partner, reader, target)
    listening = asyncio.create_task(peer.listen())
    server = AcpServer(open_partner, "0", remote=partner.local is None)
    serving = asyncio.create_task(server.serve(LineTransport(source, end, longest=1 << 20)))
    try:
        yield peer
    finally:
        peer.leave()
        async with asyncio.timeout(PATIENCE):
            await serving
        listening.cancel()
        pipe.close()
