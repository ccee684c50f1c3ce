"""
A session of a hosted agent: its program, the greeting, and the conversation that the program knows.

The program is started when a turn first needs it, and again after it has died; then it is asked to take the conversation up where it was,
if it can. What it tells during a turn is put in a queue in the order it was said, and taken out by whoever plays the turn; what
it tells outside of one is nobody's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from acp import PROTOCOL_VERSION, RequestError

from commonplace.agent.acp.host.child import AcpChild, HostedCommand, Message, refusal
from commonplace.agent.acp.host.updates import Fields, HostedOptions, entries, fields, read_options, text
from commonplace.agent.tools.tool import one_line
from commonplace.errors import CommonplaceError, InvalidInput, NotFound
from commonplace.values.agent_errors import HostedAgentFailed, HostedAgentSignIn

STOP_SECONDS: Final = 5.0
"""How long a turn that was cancelled may take to end, before its program is."""
_SET_SECONDS: Final = 20.0
_MOST_ITEMS: Final = 1_000
_AUTH_REQUIRED: Final = -32000
_CANCELLED: Final = {"outcome": {"outcome": "cancelled"}}


@dataclass(frozen=True, kw_only=True, slots=True)
class AcpUpdate:
    """Something that the agent tells."""

    fields: Fields


@dataclass(frozen=True, kw_only=True, slots=True)
class AcpQuestion:
    """A permission that the agent asks for, and where the answer goes."""

    params: Fields
    answer: asyncio.Future[Message]


Item: TypeAlias = AcpUpdate | AcpQuestion


class ClientSide(Protocol):
    """Who answers what an agent asks of its client beside permissions: files, terminals."""

    async def serve(self, method: str, params: Fields) -> Message:
        """Raises acp.RequestError, CommonplaceError."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionPlace:
    """Where the agent works and with which MCP servers; `knows` is the id of the conversation that it may know; `files` and `terminal` are offered to it."""

    folder: Path
    servers: Sequence[Message] = ()
    knows: str | None = None
    files: bool = False
    terminal: bool = False


class AcpSession:
    """`id` is the agent's own for the conversation, None before there is one."""

    def __init__(self, command: HostedCommand, version: str) -> None:
        self.command = command
        self.id: str | None = None
        self.options = HostedOptions()
        self.cost_micro_usd = 0
        """What the agent says that the conversation has cost."""
        self._version = version
        self._child: AcpChild | None = None
        self._items: deque[Item] = deque()
        self._news = asyncio.Event()
        self._less = asyncio.Event()
        self._client: ClientSide | None = None
        self._answer: asyncio.Task[Message] | None = None
        self._end: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._child is not None and self._child.is_alive and self.id is not None

    async def open(self, place: SessionPlace) -> bool:
        """
        Start the program and greet it. Whether the agent knows the conversation `place.knows`.

        Raises:
            HostedAgentFailed: it could not be started, died, or does not do what the protocol says; `HostedAgentMissing`, `HostedAgentSignIn`.
            HostedAgentSilent: it took too long.
        """
        await self.aclose()
        child = self._child = AcpChild(self.command, self._handle, self._ready)
        try:
            await child.start(place.folder)
            return await self._greet(child, place)
        except BaseException:
            await self.aclose()
            raise

    async def _greet(self, child: AcpChild, place: SessionPlace) -> bool:
        name, seconds = self.command.name, self.command.start_seconds
        files = {"readTextFile": place.files, "writeTextFile": place.files}
        greeting = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {"fs": files, "terminal": place.terminal},
            "clientInfo": {"name": "commonplace", "title": "Commonplace", "version": self._version},
        }
        try:
            answer = await child.request("initialize", greeting, seconds)
        except RequestError as error:
            raise HostedAgentFailed(f"{name} refuses to begin: {refusal(error)}.{child.last_words}") from error
        if answer.get("protocolVersion") != PROTOCOL_VERSION:
            version = one_line(str(answer.get("protocolVersion")), 20)
            raise HostedAgentFailed(
                f"{name} speaks version {version} of the Agent Client Protocol, and this is version {PROTOCOL_VERSION}. The operator has to "
                "install a version of it that fits."
            )
        about = {"cwd": str(place.folder), "mcpServers": _servers(answer, place.servers)}
        if place.knows is not None and await self._take_up(child, answer, place.knows, about):
            return True
        try:
            session = await child.request("session/new", about, seconds)
        except RequestError as error:
            raise self._unopened(child, answer, error) from error
        if not (id_ := text(session.get("sessionId"))):
            raise HostedAgentFailed(f"{name} opened a session without an id. It does not keep to the protocol.")
        self.id, self.options, self.cost_micro_usd = id_, read_options(session), 0
        return False

    async def _take_up(self, child: AcpChild, greeting: Fields, id_: str, about: Message) -> bool:
        """Whether it could take the conversation up. What it tells of it meanwhile is in our history already."""
        able = fields(greeting.get("agentCapabilities"))
        sessions = fields(able.get("sessionCapabilities"))
        methods = [("session/resume", "resume" in sessions), ("session/load", able.get("loadSession") is True)]
        for method in [method for method, is_offered in methods if is_offered]:
            with suppress(RequestError):
                answer = await child.request(method, {"sessionId": id_, **about}, self.command.start_seconds)
                self.id, self.options = id_, read_options(answer)
                return True
        return False

    def _unopened(self, child: AcpChild, greeting: Fields, error: RequestError) -> HostedAgentFailed:
        name = self.command.name
        if error.code == _AUTH_REQUIRED:
            ways = ", ".join(one_line(text(way.get("name")), 80) for way in entries(greeting.get("authMethods"))[:8])
            return HostedAgentSignIn(
                f"{name} wants somebody to sign in first. The operator has to run it once in a terminal and sign in there, or to name the "
                f"variable that holds its key in agent_environment.{f' It offers: {ways}.' if ways else ''}"
            )
        return HostedAgentFailed(f"{name} opens no session: {refusal(error)}.{child.last_words}")

    # ---- what it is set to

    async def set_mode(self, mode: str) -> None:
        """Raises InvalidInput: it has no such mode, or does not take it."""
        if mode not in (option.id for option in self.options.modes):
            raise InvalidInput(f"{self.command.name} has no mode {mode!r:.80}.")
        if (option := self.options.mode_option) is not None:
            answer = await self._set("session/set_config_option", {"configId": option, "value": mode})
        else:
            answer = await self._set("session/set_mode", {"modeId": mode})
        self.options = read_options(answer, replace(self.options, mode=mode))

    async def set_model(self, model: str) -> None:
        """Raises InvalidInput: it has no such model, or does not take it."""
        if model not in self.options.models:
            raise InvalidInput(f"{self.command.name} has no model {model!r:.80}.")
        if (option := self.options.model_option) is not None:
            answer = await self._set("session/set_config_option", {"configId": option, "value": model})
        else:
            answer = await self._set("session/set_model", {"modelId": model})
        self.options = read_options(answer, replace(self.options, model=model))

    async def _set(self, method: str, params: Message) -> Message:
        if self._child is None:
            raise HostedAgentFailed(f"{self.command.name} does not run. Say something first.")
        try:
            return await self._child.request(method, {"sessionId": self.id, **params}, _SET_SECONDS)
        except RequestError as error:
            raise InvalidInput(f"{self.command.name} does not take this setting: {refusal(error)}") from error

    # ---- a turn

    async def prompt(self, blocks: Sequence[Message], client: ClientSide) -> asyncio.Task[Message]:
        """Say it. `hear` has what comes of it, the task the answer. Whoever leaves before there is one calls `abandon`."""
        await self.settle()
        assert self._child is not None
        self._items.clear()
        self._client = client
        params = {"sessionId": self.id, "prompt": list(blocks)}
        self._answer = asyncio.create_task(self._child.request("session/prompt", params))
        self._answer.add_done_callback(self._ended)
        return self._answer

    async def hear(self, answer: asyncio.Task[Message]) -> AsyncGenerator[Item]:
        """Everything up to the answer, in order."""
        while True:
            if self._items:
                yield self._items.popleft()
                self._less.set()
            elif answer.done():
                return
            else:
                self._news.clear()
                await self._news.wait()

    def rest(self) -> list[Item]:
        """What it has told and nobody has heard yet."""
        items = [*self._items]
        self._items.clear()
        self._less.set()
        return items

    def abandon(self) -> None:
        """Have it stop its turn. If it does not in time, its program is ended."""
        answer = self._answer
        if answer is not None and not answer.done() and (self._end is None or self._end.done()):
            self._end = asyncio.create_task(self._abandoned(answer))
            self._less.set()

    async def settle(self, seconds: float | None = None) -> None:
        """Wait until a turn that was abandoned is over."""
        if self._end is not None:
            await asyncio.wait({self._end}, timeout=seconds)

    async def aclose(self) -> None:
        """End the program, and whatever it started."""
        child, self._child = self._child, None
        if child is not None:
            await child.stop()
        if self._answer is not None and not self._answer.done():
            await asyncio.wait({self._answer})
        self._refuse_questions()

    async def _abandoned(self, answer: asyncio.Task[Message]) -> None:
        if self._child is not None:
            await self._child.notify("session/cancel", {"sessionId": self.id})
        self._refuse_questions()
        await asyncio.wait({answer}, timeout=STOP_SECONDS)
        if not answer.done():
            await self.aclose()

    def _ended(self, answer: asyncio.Task[Message]) -> None:
        self._news.set()
        if not answer.cancelled():
            # Asked for, or asyncio complains that nobody did.
            answer.exception()

    def _refuse_questions(self) -> None:
        for item in self._items:
            if isinstance(item, AcpQuestion) and not item.answer.done():
                item.answer.set_result(dict(_CANCELLED))

    # ---- what it says

    @property
    def _is_playing(self) -> bool:
        return self._answer is not None and not self._answer.done()

    @property
    def _is_ending(self) -> bool:
        return self._end is not None and not self._end.done()

    async def _ready(self) -> None:
        while len(self._items) > _MOST_ITEMS and self._is_playing and not self._is_ending:
            self._less.clear()
            await self._less.wait()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        values = fields(params)
        if method == "session/update":
            # Nothing is awaited before it stands in the queue: each message is handled in a task of its own.
            update = fields(values.get("update"))
            if self._is_playing and values.get("sessionId") == self.id:
                # Some write what is of an update beside it.
                meta = {**fields(values.get("_meta")), **fields(update.get("_meta"))}
                self._put(AcpUpdate(fields={**update, "_meta": meta} if meta else update))
            elif update.get("sessionUpdate") == "config_option_update":
                self.options = read_options(update, self.options)
            return {}
        if is_notification:
            return None
        if not self._is_playing or values.get("sessionId") != self.id:
            if method == "session/request_permission":
                return dict(_CANCELLED)
            raise RequestError.invalid_params({"details": "No turn of this session is played."})
        if method == "session/request_permission":
            question = AcpQuestion(params=values, answer=asyncio.get_running_loop().create_future())
            self._put(question)
            return await question.answer
        if self._client is None or not method.startswith(("fs/", "terminal/")):
            raise RequestError.method_not_found(method)
        try:
            return await self._client.serve(method, values)
        except CommonplaceError as error:
            code = -32002 if isinstance(error, NotFound) else -32602
            raise RequestError(code, error.message, {"code": error.code}) from error

    def _put(self, item: Item) -> None:
        if self._is_ending and len(self._items) > _MOST_ITEMS:
            # Nobody takes them out any more, and the answer comes behind them.
            return
        self._items.append(item)
        self._news.set()


def _servers(greeting: Fields, servers: Sequence[Message]) -> list[Message]:
    """Those that the agent can use: every one can start a program."""
    able = fields(fields(greeting.get("agentCapabilities")).get("mcpCapabilities"))
    return [server for server in servers if server.get("type", "stdio") == "stdio" or able.get(server["type"]) is True]
