"""
The door of the models: the Model Context Protocol over streamable HTTP, at `/mcp`.

Each request stands for itself, so that any daemon may answer it. It acts as the key that came with it, through the same
use cases as every other door.
"""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Final

import anyio
from fastapi import APIRouter, Query
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from commonplace.doors.mcp.places import Asker, Place
from commonplace.errors import RouteNotFound, TokenRequired
from commonplace.jobs.waiter import Wait
from commonplace.server.auth import Asking, Served, Told
from commonplace.server.door import ApiDoor
from commonplace.server.options import Options
from commonplace.service.records import Change
from commonplace.service.services import Services
from commonplace.values import scope as places
from commonplace.values.context import ContextBlock
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.query import Filter, Hit, Page
from commonplace.values.query import Query as Question
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scopes, scopes_of
from commonplace.values.task import ContextMode, MemoryTask, TargetScope

Answering = Callable[[Scope, Receive, Send], Awaitable[None]]
Name = Annotated[str | None, Query(min_length=1, max_length=255)]

router = APIRouter(tags=["mcp"])
DOOR: Final = ApiDoor(routers=(router,))


class ServedMemory:
    """Satisfies `MemoryClient`: the use cases, as one caller."""

    def __init__(self, services: Services, who: Principal, token_budget: int) -> None:
        self._services = services
        self._who = who
        self._token_budget = token_budget

    async def put(
        self,
        text: str,
        /,
        *,
        scope: places.Scope | str = "global",
        key: str | None = None,
        source: str = "manual",
        metadata: Mapping[str, Json] | None = None,
        session: str | None = None,
    ) -> Record:
        note = Note(text=text, scope=scope, key=key, source=source, metadata=metadata or {}, session=session)
        [written] = await self._services.records.put(self._who, [note])
        return written.record

    async def search(self, text: str, /, *, scopes: Scopes = None, limit: int = 10) -> builtins.list[Hit]:
        question = Question(text=text, filter=Filter(scopes=scopes_of(scopes)), limit=limit)
        return await self._services.recall.search(self._who, question)

    async def get(self, id: str, /) -> Record:
        return await self._services.records.get(self._who, id)

    async def list(self, *, scopes: Scopes = None, limit: int = 100, cursor: str | None = None) -> Page:
        wanted = Filter(scopes=scopes_of(scopes))
        return await self._services.records.list(self._who, wanted, limit=limit, cursor=cursor)

    async def delete(self, id: str, /, *, expected: int | None = None, reason: str | None = None) -> Record:
        return await self._services.records.delete(self._who, id, change=Change(expected=expected, reason=reason))

    async def context(
        self, query: str, /, *, scopes: Scopes = None, session: str | None = None, budget: int | None = None
    ) -> ContextBlock:
        room = self._token_budget if budget is None else budget
        return await self._services.recall.context(
            self._who, query, scopes=scopes_of(scopes), session=session, budget=room
        )

    async def remember_workspace_memory(
        self, content: str, /, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        return await self._services.lanes.remember(self._known(), content, context_mode=context_mode, scope=scope)

    async def get_workspace_memory_remember_task(self, id: str, /, *, wait: float = 0.0) -> MemoryTask:
        who = self._known()
        look = partial(self._services.lanes.task, who, "remember", id)
        return await self._services.endings.until(who, id, Wait(seconds=wait), look)

    def _known(self) -> Principal:
        """Files need a key, also where the daemon is open otherwise."""
        if self._who.key is None and not self._who.operator:
            raise TokenRequired
        return self._who


class Answered(Response):
    """An answer that another application gives, with the request in its hands."""

    def __init__(self, answering: Answering) -> None:
        super().__init__()
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answering(scope, receive, send)


@router.post("/mcp", include_in_schema=False)
async def exchange(
    who: Asking, services: Served, options: Told, project: Name = None, session: Name = None
) -> Response:
    """One message of the protocol. `project` and `session` in the address are meant where the model names none."""
    place = Place(project=project, session=session).of(who)
    memory = ServedMemory(services, who, options.token_budget)
    return Answered(await anyio.to_thread.run_sync(_answering, Asker(memory, place), options))


def _answering(asker: Asker, options: Options) -> Answering:
    try:
        # The SDK of the protocol is an extra, and slow to load: a daemon without models does without it.
        from commonplace.doors.mcp.server import answer_http, make_server  # noqa: PLC0415
    except ImportError as missing:
        raise RouteNotFound("MCP is not installed. Run `pip install 'commonplace[mcp]'`.") from missing
    return partial(answer_http, make_server(asker, allow_delete=options.mcp_allow_delete), options.max_body)
