"""The part of the client that talks to an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from commonplace.ports.agent_client import AgentClient
from commonplace.sdk.async_connection import AsyncDaemonConnection
from commonplace.sdk.documents import changed, part, written
from commonplace.sdk.talk import Call, asked
from commonplace.sdk.turn_listener import TurnListener
from commonplace.values.permission import PermissionRequest, PermissionVote, PermissionVoteChoice
from commonplace.values.record import Json
from commonplace.values.session_state import LiveSessionSummary, SessionState
from commonplace.values.turn_event import SessionEvent, TurnTicket
from commonplace.wire.sessions import LiveSessionsAnswer
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

    async def withdraw_turn(self, session: str, run: str) -> bool:
        path = f"/v1/sessions/{part(session)}/turns/{part(run)}"
        return (await self._daemon.ask(asked(Call(method="DELETE", path=path, decode=reader(CancelAnswer))))).cancelled

    async def live_sessions(self, *, everyone: bool = False) -> Sequence[LiveSessionSummary]:
        query = (("everyone", "true"),) if everyone else ()
        decode = reader(LiveSessionsAnswer)
        call = Call(method="GET", path="/v1/sessions/live", query=query, decode=decode, reads=True)
        return (await self._daemon.ask(asked(call))).sessions

    async def session_state(self, session: str) -> SessionState:
        path = f"/v1/sessions/{part(session)}/state"
        return await self._daemon.ask(asked(Call(method="GET", path=path, decode=reader(SessionState), reads=True)))

    async def configure_session(
        self, session: str, *, mode: str | None = None, model: str | None = None
    ) -> SessionState:
        path, body = f"/v1/sessions/{part(session)}/state", changed({"mode": mode, "model": model})
        call = Call(method="PATCH", path=path, body=written(body), decode=reader(SessionState))
        return await self._daemon.ask(asked(call))

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        path = f"/v1/sessions/{part(session)}/permissions"
        call = Call(method="GET", path=path, decode=reader(PermissionsAnswer), reads=True)
        return (await self._daemon.ask(asked(call))).permissions

    async def answer_permission(self, session: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        return await self._to_session(session, f"permissions/{part(request)}", PermissionVote, {"choice": choice})

    async def _to_session(self, session: str, what: str, answer: type[T], body: dict[str, Json]) -> T:
        path = f"/v1/sessions/{part(session)}/{what}"
        call = Call(method="POST", path=path, body=written(body), decode=reader(answer))
        return await self._daemon.ask(asked(call))
