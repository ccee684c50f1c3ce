"""The part of the client that talks to an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from commonplace.ports.agent_client import AgentClient
from commonplace.sdk.async_connection import AsyncDaemonConnection
from commonplace.sdk.documents import changed, part, written
from commonplace.sdk.talk import Call, asked
from commonplace.sdk.turn_listener import TurnListener
from commonplace.values.permission import PermissionAnswer, PermissionChoice, PermissionRequest
from commonplace.values.record import Json
from commonplace.values.turn_event import SessionEvent, TurnTicket
from commonplace.wire.shapes import reader
from commonplace.wire.turns import CancelAnswer, PermissionsAnswer

T = TypeVar("T")


class AsyncAgent(AgentClient):
    """Turns of a session over a connection to a daemon."""

    _daemon: AsyncDaemonConnection

    async def say(self, session: str, text: str, *, model: str | None = None) -> TurnTicket:
        return await self._to_session(session, "turns", TurnTicket, changed({"text": text, "model": model}))

    async def hear(self, session: str, *, after: int | None = None) -> AsyncIterator[SessionEvent]:
        async for event in self._daemon.listen(TurnListener(session, after)):
            yield event

    async def cancel_turn(self, session: str) -> bool:
        return (await self._to_session(session, "cancel", CancelAnswer, {})).cancelled

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        path = f"/v1/sessions/{part(session)}/permissions"
        call = Call(method="GET", path=path, decode=reader(PermissionsAnswer), reads=True)
        return (await self._daemon.ask(asked(call))).permissions

    async def answer_permission(self, session: str, request: str, choice: PermissionChoice) -> PermissionAnswer:
        return await self._to_session(session, f"permissions/{part(request)}", PermissionAnswer, {"choice": choice})

    async def _to_session(self, session: str, what: str, answer: type[T], body: dict[str, Json]) -> T:
        path = f"/v1/sessions/{part(session)}/{what}"
        call = Call(method="POST", path=path, body=written(body), decode=reader(answer))
        return await self._daemon.ask(asked(call))
