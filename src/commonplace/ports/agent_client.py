"""How an agent is talked to: in this process, or over HTTP, the same. Sessions themselves are of `ports/history_client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from commonplace.values.permission import PermissionAnswer, PermissionChoice, PermissionRequest
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

    async def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        """What waits for an answer."""
        ...

    async def answer_permission(self, session: str, request: str, choice: PermissionChoice) -> PermissionAnswer:
        """
        Raises:
            NotFound: nothing of that id waits.
            PermissionResolved: somebody was first.
        """
        ...
