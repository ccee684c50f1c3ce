# Generated from async_agent.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""The part of the client that talks to an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from commonplace.sdk.connection import DaemonConnection
from commonplace.sdk.documents import changed, part, written
from commonplace.sdk.talk import Call, asked
from commonplace.sdk.turn_listener import TurnListener
from commonplace.values.permission import PermissionAnswer, PermissionChoice, PermissionRequest
from commonplace.values.record import Json
from commonplace.values.turn_event import SessionEvent, TurnTicket
from commonplace.wire.shapes import reader
from commonplace.wire.turns import CancelAnswer, PermissionsAnswer

T = TypeVar("T")


class DaemonAgent:
    """Turns of a session over a connection to a daemon."""

    _daemon: DaemonConnection

    def say(self, session: str, text: str, *, model: str | None = None) -> TurnTicket:
        """
        Say something in a session; it is kept when this returns. Turns of a session are played one after the other.

        Raises:
            NotFound: there is no such session in reach.
            TurnQueueFull: too many wait already.
        """
        return self._to_session(session, "turns", TurnTicket, changed({"text": text, "model": model}))

    def hear(self, session: str, *, after: int | None = None) -> Iterator[SessionEvent]:
        """What happens in a session from now on, or from behind the event `after`, for as long as somebody listens."""
        for event in self._daemon.listen(TurnListener(session, after)):
            yield event

    def cancel_turn(self, session: str) -> bool:
        """End the turn that is played, its tools included. False: none was."""
        return (self._to_session(session, "cancel", CancelAnswer, {})).cancelled

    def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        """What waits for an answer."""
        path = f"/v1/sessions/{part(session)}/permissions"
        call = Call(method="GET", path=path, decode=reader(PermissionsAnswer), reads=True)
        return (self._daemon.ask(asked(call))).permissions

    def answer_permission(self, session: str, request: str, choice: PermissionChoice) -> PermissionAnswer:
        """
        Raises:
            NotFound: nothing of that id waits.
            PermissionResolved: somebody was first.
        """
        return self._to_session(session, f"permissions/{part(request)}", PermissionAnswer, {"choice": choice})

    def _to_session(self, session: str, what: str, answer: type[T], body: dict[str, Json]) -> T:
        path = f"/v1/sessions/{part(session)}/{what}"
        call = Call(method="POST", path=path, body=written(body), decode=reader(answer))
        return self._daemon.ask(asked(call))
