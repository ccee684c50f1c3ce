"""
Our agent in an editor, by the Agent Client Protocol: its sessions are ours, and outlive the editor.

The agent is opened behind the greeting, so that an editor has that at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import BaseModel

from commonplace.agent.acp.connection import METHOD_NOT_FOUND, RequestRefused, RpcConnection
from commonplace.agent.acp.lines import INVALID_REQUEST, LineTransport
from commonplace.agent.acp.serve.editor_session import EditorSession
from commonplace.agent.acp.serve.requests import (
    AuthenticateParams,
    CancelParams,
    ConfigOptionParams,
    EditorCapabilities,
    EditorServer,
    InitializeParams,
    ListSessionsParams,
    LogoutParams,
    ModeParams,
    NamedSessionParams,
    NewSessionParams,
    OpenSessionParams,
    PromptBlock,
    PromptParams,
)
from commonplace.agent.acp.serve.servers import servers_of
from commonplace.agent.acp.serve.supply import supplies_of
from commonplace.agent.acp.serve.updates import MODE, MODEL, config_of, modes_of, usage_of
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.ports.agent_client import AgentClient
from commonplace.ports.memory_client import MemoryClient
from commonplace.values.moment import to_iso
from commonplace.values.session import Session
from commonplace.values.turn_event import TurnEnded, TurnFailed

if TYPE_CHECKING:
    # Slow to load: after the greeting.
    from commonplace.agent.local_agent import LocalAgent

LOGGER: Final = logging.getLogger("commonplace")
PROTOCOL: Final = 1
MOST_OPEN: Final = 64
"""Sessions that are heard at the same time; the one opened first is let go for another."""
_LAST_SECONDS: Final = 10.0


class EditorPartner(Protocol):
    """Whom the editor talks to. `here`: they see the folders of this machine. `local`: the agent, if it is in this process."""

    @property
    def agent(self) -> AgentClient: ...
    @property
    def memory(self) -> MemoryClient: ...
    @property
    def here(self) -> bool: ...
    @property
    def local(self) -> LocalAgent | None: ...


OpenPartner = Callable[[], AbstractAsyncContextManager[EditorPartner]]
Answer = dict[str, Any]
Route = tuple[type[BaseModel], Callable[[Any], Awaitable[Answer]]]


class AcpServer:
    def __init__(self, open_partner: OpenPartner, version: str, *, remote: bool = False) -> None:
        """`remote`: the agent is a daemon's, to which an editor cannot lend anything."""
        self._open = open_partner
        self._version = version
        self._remote = remote
        self._keeper: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[EditorPartner] | None = None
        self._over = asyncio.Event()
        self._offers = EditorCapabilities()
        self._sessions: dict[str, EditorSession] = {}
        self._servers: dict[str, tuple[EditorServer, ...]] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._connection: RpcConnection
        self._routes: dict[str, Route] = {
            "initialize": (InitializeParams, self._initialize),
            "authenticate": (AuthenticateParams, self._authenticate),
            "logout": (LogoutParams, self._logout),
            "session/new": (NewSessionParams, self._new),
            "session/load": (OpenSessionParams, partial(self._reopen, tell=True)),
            "session/resume": (OpenSessionParams, partial(self._reopen, tell=False)),
            "session/list": (ListSessionsParams, self._list),
            "session/close": (NamedSessionParams, self._close),
            "session/delete": (NamedSessionParams, self._delete),
            "session/set_mode": (ModeParams, self._set_mode),
            "session/set_config_option": (ConfigOptionParams, self._set_config_option),
            "session/prompt": (PromptParams, self._prompt),
            "session/cancel": (NamedSessionParams, self._cancel),
        }

    async def serve(self, transport: LineTransport) -> None:
        """Until the editor goes away. What it left running is stopped."""
        self._connection = RpcConnection(transport, self._answer, self._hear)
        try:
            await self._connection.run()
            for stop in self._stops.values():
                stop.set()
            if self._sessions:
                closing = [asyncio.create_task(session.close()) for session in self._sessions.values()]
                await asyncio.wait(closing, timeout=_LAST_SECONDS)
            await self._connection.close()
        finally:
            self._over.set()
            if self._keeper is not None:
                # Whoever needed it was told.
                with suppress(CommonplaceError):
                    await self._keeper

    async def _answer(self, method: str, params: Any) -> Answer:
        if method not in self._routes:
            raise RequestRefused("There is no such method.", number=METHOD_NOT_FOUND)
        model, answer = self._routes[method]
        return await answer(model.model_validate({} if params is None else params))

    async def _hear(self, method: str, params: Any) -> None:
        """A request without an id is none, since nobody could be answered."""
        if method == "session/cancel":
            await self._cancel(NamedSessionParams.model_validate(params))
        elif method == "$/cancel_request":
            self._connection.cancel(CancelParams.model_validate(params).request_id)

    # ---- the partner

    async def _partner(self) -> EditorPartner:
        """Opened once; if that fails, tried again with the next request."""
        if self._keeper is None or (self._keeper.done() and not self._over.is_set()):
            self._begin()
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    def _begin(self) -> None:
        self._ready = asyncio.get_running_loop().create_future()
        # Whatever was entered by a task has to be left by the same one.
        self._keeper = asyncio.create_task(self._keep(self._ready))

    async def _keep(self, ready: asyncio.Future[EditorPartner]) -> None:
        # Asked for, or asyncio complains that nobody did.
        ready.add_done_callback(lambda future: future.cancelled() or future.exception())
        try:
            async with self._open() as partner:
                ready.set_result(partner)
                await self._over.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    # ---- the greeting

    async def _initialize(self, params: InitializeParams) -> Answer:
        self._offers = params.client_capabilities or EditorCapabilities()
        sessions: Answer = {"list": {}, "resume": {}, "close": {}, "delete": {}}
        capabilities: Answer = {
            "loadSession": True,
            "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": not self._remote, "sse": False},
            "sessionCapabilities": sessions,
            "auth": {"logout": {}},
        }
        # What comes next needs it.
        asyncio.get_running_loop().call_soon(self._warm)
        return {
            "protocolVersion": PROTOCOL,
            "agentCapabilities": capabilities,
            "agentInfo": {"name": "commonplace", "title": "Commonplace", "version": self._version},
            "authMethods": [],
        }

    def _warm(self) -> None:
        if self._keeper is None and not self._over.is_set():
            self._begin()

    async def _authenticate(self, params: AuthenticateParams) -> Answer:
        raise InvalidInput(
            f"There is no method {params.method_id[:40]!a} of authentication: whoever starts this program may use it. Begin a session."
        )

    async def _logout(self, params: LogoutParams) -> Answer:
        """Nobody is logged in."""
        del params
        return {}

    # ---- sessions

    async def _new(self, params: NewSessionParams) -> Answer:
        if not params.cwd.startswith("/") or "\0" in params.cwd:
            raise InvalidInput("cwd is the path of a folder from the root on.")
        self._check(params.mcp_servers)
        partner = await self._partner()
        # A folder of this machine means nothing to a daemon elsewhere.
        if partner.here and (await partner.memory.me()).operator:
            session = await partner.memory.create_session(source="acp", folder=params.cwd)
        else:
            session = await partner.memory.create_session(source="acp")
        return {"sessionId": session.id, **await self._opened(partner, session, params.mcp_servers, tell=False)}

    async def _reopen(self, params: OpenSessionParams, *, tell: bool) -> Answer:
        self._check(params.mcp_servers)
        partner = await self._partner()
        session = await partner.memory.session(params.session_id)
        return await self._opened(partner, session, params.mcp_servers, tell=tell)

    async def _opened(
        self, partner: EditorPartner, session: Session, servers: tuple[EditorServer, ...], *, tell: bool
    ) -> Answer:
        opened = self._sessions.pop(session.id, None)
        if opened is None:
            opened = EditorSession(session, partner.agent, partner.memory, self._connection)
        await self._make_room()
        self._sessions[session.id] = opened
        self._servers[session.id] = servers
        unused = [server.name for server in servers] if partner.local is None else []
        if unused:
            LOGGER.warning("acp", extra={"told": {"session": session.id, "mcp_servers_not_used": unused}})
        await self._supply(partner, session.id)
        try:
            options = await opened.open(tell=tell)
        except CommonplaceError:
            self._forget(session.id)
            raise
        notes = {"_meta": {"commonplace": {"mcpServersNotUsed": unused}}} if unused else {}
        return {**modes_of(options), **config_of(options), **notes}

    async def _supply(self, partner: EditorPartner, id: str) -> None:
        """What the editor offers, if the agent is in its process."""
        if partner.local is None:
            return
        session = self._sessions[id]
        supplies = supplies_of(self._connection, session, self._offers, self._servers.get(id, ()))
        await partner.local.supply(id, supplies)

    def _check(self, servers: tuple[EditorServer, ...]) -> None:
        servers_of(servers)

    async def _session(self, id: str) -> EditorSession:
        """As it is open; one that the editor has not opened is, if it is there."""
        if (session := self._sessions.get(id)) is None:
            await self._reopen(OpenSessionParams.model_validate({"sessionId": id}), tell=False)
            session = self._sessions[id]
        return session

    async def _make_room(self) -> None:
        idle = [id for id, session in self._sessions.items() if not session.is_busy]
        for id in idle[: max(0, len(self._sessions) + 1 - MOST_OPEN)]:
            session = self._sessions[id]
            self._forget(id)
            await session.close()

    def _forget(self, id: str) -> None:
        self._sessions.pop(id, None)
        self._servers.pop(id, None)

    async def _list(self, params: ListSessionsParams) -> Answer:
        page = await (await self._partner()).memory.sessions(cursor=params.cursor)
        sessions = [
            {
                "sessionId": session.id,
                "cwd": session.folder or "/",
                "updatedAt": to_iso(session.updated_at),
                **({"title": session.title} if session.title else {}),
            }
            for session in page.sessions
            if params.cwd is None or session.folder == params.cwd
        ]
        return {"sessions": sessions, **({"nextCursor": page.cursor} if page.cursor else {})}

    async def _close(self, params: NamedSessionParams) -> Answer:
        await self._leave(params.session_id, forget=False)
        return {}

    async def _delete(self, params: NamedSessionParams) -> Answer:
        partner = await self._partner()
        await partner.memory.session(params.session_id)
        await self._leave(params.session_id, forget=True)
        await partner.memory.delete_session(params.session_id)
        return {}

    async def _leave(self, id: str, *, forget: bool) -> None:
        if (session := self._sessions.get(id)) is not None:
            await session.close()
            self._forget(id)
        local = (await self._partner()).local
        if local is not None:
            await local.let_go(id, forget=forget)

    # ---- how a session works

    async def _set_mode(self, params: ModeParams) -> Answer:
        session = await self._session(params.session_id)
        await session.configure(mode=params.mode_id)
        await session.tell_config()
        return {}

    async def _set_config_option(self, params: ConfigOptionParams) -> Answer:
        if params.config_id not in (MODE, MODEL) or not isinstance(params.value, str):
            raise InvalidInput(f"The options of a session are {MODE} and {MODEL}, each with one of its values.")
        session = await self._session(params.session_id)
        if params.config_id == MODEL:
            return config_of(await session.configure(model=params.value))
        options = await session.configure(mode=params.value)
        await session.tell_mode()
        return config_of(options)

    # ---- turns

    async def _prompt(self, params: PromptParams) -> Answer:
        text = "\n\n".join(_text(block) for block in params.prompt)
        if params.session_id in self._stops:
            raise RequestRefused(
                "A turn of this session is played. Cancel it, or wait for its end.", number=INVALID_REQUEST
            )
        # At once: a cancel may be the next message.
        stop = self._stops[params.session_id] = asyncio.Event()
        try:
            end = await self._played(params.session_id, text, stop)
        finally:
            del self._stops[params.session_id]
        if isinstance(end, TurnFailed):
            raise RequestRefused(end.message, turn=end.code)
        return {"stopReason": end.stop_reason, "usage": usage_of(end.usage)}

    async def _played(self, id: str, text: str, stop: asyncio.Event) -> TurnEnded | TurnFailed:
        session = await self._session(id)
        await self._supply(await self._partner(), id)
        work = asyncio.ensure_future(session.prompt(text, stop))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # Taken back by `$/cancel_request`, which is as good as a cancel; or the program ends, and does not wait.
            stop.set()
            return await work

    async def _cancel(self, params: NamedSessionParams) -> Answer:
        if (stop := self._stops.get(params.session_id)) is not None:
            stop.set()
        return {}


def _text(block: PromptBlock) -> str:
    match block:
        case PromptBlock(type="text", text=str(text)):
            return text
        case PromptBlock(type="resource_link", uri=str(uri)):
            return f"[{block.name or uri}]({uri})"
        case PromptBlock(type="resource", resource=resource) if resource is not None and resource.text is not None:
            return f"{resource.uri}:\n{resource.text}"
        case _:
            raise InvalidInput("Only text, links and embedded texts can be said. Leave images, sounds and files out.")
