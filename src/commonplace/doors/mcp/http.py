"""
The door of the models: the Model Context Protocol over streamable HTTP, at `/mcp`.

Each request stands for itself, so that any daemon may answer it. It acts as the key that came with it, through the same
use cases as every other door.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Final

import anyio
from fastapi import APIRouter, Query
from fastapi.responses import Response
from starlette.types import Message, Receive, Scope, Send

from commonplace.agent.tools.memory.places import Asker, ModelPlace
from commonplace.errors import RouteNotFound
from commonplace.server.auth import Caller, Served, Told
from commonplace.server.cancellation import watched
from commonplace.server.door import ApiDoor
from commonplace.server.options import Options
from commonplace.service.local import LocalMemory

Answering = Callable[[Scope, Receive, Send], Awaitable[None]]
Name = Annotated[str | None, Query(min_length=1, max_length=255)]

router = APIRouter(tags=["mcp"])
DOOR: Final = ApiDoor(routers=(router,))


class AppResponse(Response):
    """
    An answer that another application gives, with the request in its hands. If the body `only_reads`, it is given up when the caller
    hangs up, as at every other door.
    """

    def __init__(self, answering: Answering, only_reads: Callable[[bytes], bool]) -> None:
        super().__init__()
        self._answering = answering
        self._only_reads = only_reads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()
        messages = [first]

        async def replayed() -> Message:
            return messages.pop() if messages else await receive()

        # Bodies come whole: `server.bodies` has read this one.
        if not first.get("more_body", False) and self._only_reads(first.get("body", b"")):
            await watched(self._answering, scope, replayed, send)
        else:
            await self._answering(scope, replayed, send)


@router.post("/mcp", include_in_schema=False)
async def exchange(
    who: Caller, services: Served, options: Told, project: Name = None, session: Name = None
) -> Response:
    """One message of the protocol. `project` and `session` in the address are meant where the model names none."""
    place = ModelPlace(project=project, session=session).of(who)
    memory = LocalMemory(services, who, token_budget=options.token_budget)
    return await anyio.to_thread.run_sync(_response, Asker(memory, place), options)


def _response(asker: Asker, options: Options) -> AppResponse:
    try:
        # The SDK of the protocol is an extra, and slow to load: a daemon without models does without it.
        from commonplace.doors.mcp.server import answer_http, make_server, only_reads  # noqa: PLC0415
    except ImportError as missing:
        raise RouteNotFound("MCP is not installed. Run `pip install 'commonplace[mcp]'`.") from missing
    server = make_server(asker, allow_delete=options.mcp_allow_delete)
    return AppResponse(partial(answer_http, server, options.max_body), only_reads)
