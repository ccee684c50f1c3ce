"""How an agent is talked to: in this process, or over HTTP, the same. Sessions themselves are of `ports/history_client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from commonplace.values.permission import PermissionRequest, PermissionVote, PermissionVoteChoice
from commonplace.values.session_state import LiveSessionSummary, SessionState
from commonplace.values.turn_event import SessionEvent, TurnTicket


class AgentClient(Protocol):
    async def say(self, session: str, text: str, *, model: str | None = None) -> TurnTicket:
        """
        Say something in a session; it is kept when this returns. Turns of a session are played one after the other.

        Raises:
            NotFound: there is no such session in reach.
            TurnQueueFull: too many wait already.
        """
        ...

    def hear(self, session: str, *, after: int | None = None) -> AsyncIterator[SessionEvent]:
        """What happens in a session from now on, or from behind the event `after`, for as long as somebody listens."""
        ...

    async def cancel_turn(self, session: str) -> bool:
        """End the turn that is played, its tools included. False: none was."""
        ...

    async def withdraw_turn(self, session: str, run: str) -> bool:
        """
        Take back what waits for its turn. False: it does not wait any more.

        Raises:
            Forbidden: somebody else said it.
        """
        ...

    async def live_sessions(self, *, everyone: bool = False) -> Sequence[LiveSessionSummary]:
        """
        The sessions in use that one's own list would show, and what each does now: first those that wait for a permission.

        Raises:
            Forbidden: `everyone` is for admins.
        """
        ...

    async def session_state(self, session: str) -> SessionState:
        """How a session is set, and what it does now."""
        ...

    async def configure_session(
        self, session: str, *, mode: str | None = None, model: str | None = None
    ) -> SessionState:
        """
        Have the next turns played in this mode or by this model, each one of its options; what is None stays.

        Raises:
            InvalidInput: the session does not offer it.
            Forbidden: only the owner and admins may, or the operator has not allowed it.
        """
        ...

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        """What waits for an answer."""
        ...

    async def answer_permission(self, session: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        """
        Vote on it, with one of its choices or `cancel`. The answer says whether that decided it, or was only counted.

        Raises:
            NotFound: nothing of that id waits.
            PermissionResolved: it is decided already.
            PermissionForbidden: the session's policy does not let this person decide.
            Conflict: the request has no such choice.
        """
        ...
