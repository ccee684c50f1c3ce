"""An agent in this process, as one person talks to it: `AgentClient` over the live sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from commonplace.agent.live_sessions import LiveSessions
from commonplace.ports.agent_client import AgentClient
from commonplace.values.permission import PermissionAnswer, PermissionChoice, PermissionRequest
from commonplace.values.principal import Principal
from commonplace.values.turn_event import SessionEvent, TurnTicket


class LocalAgent(AgentClient):
    def __init__(self, sessions: LiveSessions, principal: Principal) -> None:
        self._sessions = sessions
        self._principal = principal

    async def say(self, session: str, text: str, *, model: str | None = None) -> TurnTicket:
        return await self._sessions.say(self._principal, session, text, model=model)

    def hear(self, session: str, *, after: int | None = None) -> AsyncIterator[SessionEvent]:
        return self._sessions.hear(self._principal, session, after=after)

    async def cancel_turn(self, session: str) -> bool:
        return await self._sessions.cancel(self._principal, session)

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        return await self._sessions.permission_requests(self._principal, session)

    async def answer_permission(self, session: str, request: str, choice: PermissionChoice) -> PermissionAnswer:
        return await self._sessions.answer(self._principal, session, request, choice)

    async def settle(self, session: str) -> None:
        """Wait until what the turns of a session leave behind is kept."""
        await self._sessions.settle(self._principal, session)
