"""The agent, as rooms use it: what `agent/live_sessions.LiveSessions` and `service/history.History` do for a principal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from commonplace.events.ring import Ring
from commonplace.values.permission import PermissionRequest, PermissionVote, PermissionVoteChoice
from commonplace.values.principal import Principal
from commonplace.values.session import MessagePage, Session, SessionFields
from commonplace.values.session_state import SessionState
from commonplace.values.turn_event import TurnEvent, TurnTicket


class RoomAgent(Protocol):
    async def say(
        self, who: Principal, id: str, text: str, *, model: str | None = None, run: str | None = None
    ) -> TurnTicket: ...

    async def ring(self, who: Principal, id: str) -> Ring[TurnEvent]: ...

    async def live_ring(self, who: Principal, id: str) -> Ring[TurnEvent] | None: ...

    async def cancel(self, who: Principal, id: str, *, run: str | None = None) -> bool: ...

    async def state(self, who: Principal, id: str) -> SessionState: ...

    async def permission_requests(self, who: Principal, id: str) -> Sequence[PermissionRequest]: ...

    async def answer(self, who: Principal, id: str, request: str, choice: PermissionVoteChoice) -> PermissionVote: ...

    async def let_go(self, tenant: str, id: str, *, forget: bool = False) -> None: ...

    async def leave(self, tenant: str, id: str, *, seconds: float) -> None: ...

    async def release(self, tenant: str, id: str) -> None: ...


class RoomHistory(Protocol):
    async def create(self, who: Principal, agent: str, fields: SessionFields) -> Session: ...

    async def session(self, who: Principal, id: str) -> Session: ...

    async def delete(self, who: Principal, id: str) -> int: ...

    async def messages(
        self,
        who: Principal,
        session: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        hidden: bool = False,
    ) -> MessagePage: ...
