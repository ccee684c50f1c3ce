"""An agent in this process, as one person talks to it: `AgentClient` over the live sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.supplies import SessionSupplies
from commonplace.ports.agent_client import AgentClient
from commonplace.values.permission import PermissionRequest, PermissionVote, PermissionVoteChoice
from commonplace.values.principal import Principal
from commonplace.values.session_state import LiveSessionSummary, SessionState
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

    async def withdraw_turn(self, session: str, run: str) -> bool:
        return await self._sessions.withdraw(self._principal, session, run)

    async def live_sessions(self, *, everyone: bool = False) -> Sequence[LiveSessionSummary]:
        return await self._sessions.activities(self._principal, everyone=everyone)

    async def session_state(self, session: str) -> SessionState:
        return await self._sessions.state(self._principal, session)

    async def configure_session(
        self, session: str, *, mode: str | None = None, model: str | None = None
    ) -> SessionState:
        return await self._sessions.configure(self._principal, session, mode=mode, model=model)

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        return await self._sessions.permission_requests(self._principal, session)

    async def answer_permission(self, session: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        return await self._sessions.answer(self._principal, session, request, choice)

    async def supply(self, session: str, supplies: SessionSupplies) -> None:
        """Lend the next turns of a session something of this process. To be said again before each: it is not kept."""
        await self._sessions.supply(self._principal, session, supplies)

    async def let_go(self, session: str, *, forget: bool = False) -> None:
        """End the use of a session here, and what was started for it. `forget`: it is about to be deleted."""
        await self._sessions.let_go(self._principal.tenant, session, forget=forget)

    async def settle(self, session: str) -> None:
        """Wait until what the turns of a session leave behind is kept."""
        await self._sessions.settle(self._principal, session)
