"""
An agent of the protocol over an `AgentClient` and a memory: its sessions are ours, and outlive the editor.

The agent is opened at the first request that needs it, so that an editor has its greeting at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any, Final, Protocol

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.connection import Connection
from pydantic import BaseModel

from commonplace.agent.acp.serve.lines import LineTransport
from commonplace.agent.acp.serve.updates import OPTIONS, asked, update_of, update_of_message, usage_of
from commonplace.errors import CommonplaceError, InvalidInput, NotFound
from commonplace.ports.agent_client import AgentClient
from commonplace.ports.memory_client import MemoryClient
from commonplace.values.moment import to_iso
from commonplace.values.permission import PermissionChoice, PermissionRequest
from commonplace.values.turn_event import PermissionAsked, TurnEnded, TurnFailed, TurnTicket

_LAST_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 0.3
_PAGE: Final = 100


class EditorPartner(Protocol):
    """Whom the editor talks to. `here`: they see the folders of this machine."""

    @property
    def agent(self) -> AgentClient: ...
    @property
    def memory(self) -> MemoryClient: ...
    @property
    def here(self) -> bool: ...


Answer = dict[str, Any]
Route = tuple[type[BaseModel], Callable[[Any], Awaitable[Answer]]]


class AcpServer:
    def __init__(self, open_partner: Callable[[], AbstractAsyncContextManager[EditorPartner]], version: str) -> None:
        self._open = open_partner
        self._version = version
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._partner_in_use: EditorPartner | None = None
        self._turns: dict[str, asyncio.Event] = {}
        self._busy: set[asyncio.Task[Any]] = set()
        self._connection: Connection
        self._routes: dict[str, Route] = {
            "initialize": (schema.InitializeRequest, self._initialize),
            "session/new": (schema.NewSessionRequest, self._new),
            "session/load": (schema.LoadSessionRequest, self._load),
            "session/resume": (schema.ResumeSessionRequest, self._resume),
            "session/list": (schema.ListSessionsRequest, self._list),
            "session/close": (schema.CloseSessionRequest, self._cancel),
            "session/delete": (schema.DeleteSessionRequest, self._delete),
            "session/prompt": (schema.PromptRequest, self._prompt),
            "session/cancel": (schema.CancelNotification, self._cancel),
        }

    async def serve(self, transport: LineTransport) -> None:
        """Until the editor goes away. What it left running is stopped."""
        async with self._stack:
            self._connection = Connection(self._handle, transport, listening=False)
            await self._connection.main_loop()
            for session in list(self._turns):
                self._turns[session].set()
            if self._busy:
                await asyncio.wait(self._busy, timeout=_LAST_SECONDS)
            await self._connection.close()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        task = asyncio.current_task()
        if task is not None:
            self._busy.add(task)
            task.add_done_callback(self._busy.discard)
        if method not in self._routes:
            if is_notification:
                return None
            raise RequestError.method_not_found(method)
        model, answer = self._routes[method]
        request = model.model_validate(params or {})
        try:
            return await answer(request)
        except CommonplaceError as error:
            code = -32002 if isinstance(error, NotFound) else -32602 if isinstance(error, InvalidInput) else -32603
            raise RequestError(code, error.message, {"code": error.code}) from error

    async def _partner(self) -> EditorPartner:
        async with self._opening:
            if self._partner_in_use is None:
                self._partner_in_use = await self._stack.enter_async_context(self._open())
            return self._partner_in_use

    # ---- sessions

    async def _initialize(self, request: schema.InitializeRequest) -> Answer:
        del request
        sessions: Answer = {"list": {}, "resume": {}, "close": {}, "delete": {}}
        capabilities = {
            "loadSession": True,
            "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
            "sessionCapabilities": sessions,
        }
        info = {"name": "commonplace", "title": "Commonplace", "version": self._version}
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": capabilities,
            "agentInfo": info,
            "authMethods": [],
        }

    async def _new(self, request: schema.NewSessionRequest) -> Answer:
        if not request.cwd.startswith("/"):
            raise InvalidInput("cwd is the path of a folder from the root on.")
        partner = await self._partner()
        # A folder of this machine means nothing to a daemon elsewhere.
        if partner.here and (await partner.memory.me()).operator:
            session = await partner.memory.create_session(source="acp", folder=request.cwd)
        else:
            session = await partner.memory.create_session(source="acp")
        return {"sessionId": session.id}

    async def _load(self, request: schema.LoadSessionRequest) -> Answer:
        memory = (await self._partner()).memory
        after, more = 0, True
        while more:
            page = await memory.session_messages(request.session_id, after=after, limit=_PAGE)
            for message in page.messages:
                await self._tell(request.session_id, update_of_message(message))
            more = page.after and bool(page.messages)
            after = page.messages[-1].position if page.messages else after
        return {}

    async def _resume(self, request: schema.ResumeSessionRequest) -> Answer:
        await (await self._partner()).memory.session(request.session_id)
        return {}

    async def _list(self, request: schema.ListSessionsRequest) -> Answer:
        page = await (await self._partner()).memory.sessions(cursor=request.cursor)
        sessions = [
            {
                "sessionId": session.id,
                "cwd": session.folder or "/",
                "updatedAt": to_iso(session.updated_at),
                **({"title": session.title} if session.title else {}),
            }
            for session in page.sessions
            if request.cwd is None or session.folder == request.cwd
        ]
        return {"sessions": sessions, **({"nextCursor": page.cursor} if page.cursor else {})}

    async def _delete(self, request: schema.DeleteSessionRequest) -> Answer:
        await (await self._partner()).memory.delete_session(request.session_id)
        return {}

    async def _cancel(self, request: schema.CancelNotification | schema.CloseSessionRequest) -> Answer:
        if (stop := self._turns.get(request.session_id)) is not None:
            stop.set()
        return {}

    # ---- turns

    async def _prompt(self, request: schema.PromptRequest) -> Answer:
        session = request.session_id
        text = "\n\n".join(_text(block) for block in request.prompt)
        if session in self._turns:
            raise InvalidInput("A turn of this session is played. Cancel it, or wait for its end.")
        stop = self._turns[session] = asyncio.Event()
        try:
            agent = (await self._partner()).agent
            ticket = await agent.say(session, text)
            tasks = [asyncio.create_task(self._stop(agent, session, stop))]
            try:
                end = await self._follow(agent, session, ticket, tasks)
            finally:
                # A question that is still open is about nothing any more.
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        finally:
            del self._turns[session]
        if isinstance(end, TurnFailed):
            raise RequestError(-32603, end.message, {"code": end.code})
        return {"stopReason": end.stop_reason, "usage": usage_of(end.usage)}

    async def _follow(
        self, agent: AgentClient, session: str, ticket: TurnTicket, tasks: list[asyncio.Task[None]]
    ) -> TurnEnded | TurnFailed:
        async for entry in agent.hear(session, after=ticket.last_event):
            event = entry.event
            if isinstance(event, TurnEnded | TurnFailed) and event.run == ticket.run:
                return event
            if isinstance(event, PermissionAsked):
                tasks.append(asyncio.create_task(self._ask(agent, session, event.request)))
            await self._tell(session, update_of(event))
        raise NotFound("The session was closed.")

    async def _stop(self, agent: AgentClient, session: str, stop: asyncio.Event) -> None:
        """Again and again: a turn that is about to begin cannot be stopped yet."""
        await stop.wait()
        while True:
            await agent.cancel_turn(session)
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _ask(self, agent: AgentClient, session: str, request: PermissionRequest) -> None:
        choice: PermissionChoice = "reject_once"
        params = {"sessionId": session, "toolCall": asked(request), "options": list(OPTIONS)}
        # Whoever cannot be asked has not permitted it.
        with suppress(RequestError, ConnectionError, KeyError, TypeError):
            outcome = (await self._connection.send_request("session/request_permission", params))["outcome"]
            option = outcome.get("optionId") if outcome["outcome"] == "selected" else None
            choice = option if option in ("allow_once", "allow_session") else "reject_once"
        with suppress(CommonplaceError):
            await agent.answer_permission(session, request.id, choice)

    async def _tell(self, session: str, update: Answer | None) -> None:
        if update is not None:
            with suppress(ConnectionError, OSError):
                await self._connection.send_notification("session/update", {"sessionId": session, "update": update})


def _text(block: Any) -> str:
    match block:
        case schema.TextContentBlock():
            return block.text
        case schema.ResourceContentBlock():
            return f"[{block.name}]({block.uri})"
        case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as resource):
            return f"{resource.uri}:\n{resource.text}"
        case _:
            raise InvalidInput("Only text, links and embedded texts can be said. Leave images, sounds and files out.")
