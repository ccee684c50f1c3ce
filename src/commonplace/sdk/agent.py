# Generated from async_agent.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""The part of the client that talks to an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from commonplace.sdk.connection import DaemonConnection
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

    def withdraw_turn(self, session: str, run: str) -> bool:
        """
        Take back what waits for its turn. False: it does not wait any more.

        Raises:
            Forbidden: somebody else said it.
        """
        path = f"/v1/sessions/{part(session)}/turns/{part(run)}"
        return (self._daemon.ask(asked(Call(method="DELETE", path=path, decode=reader(CancelAnswer))))).cancelled

    def live_sessions(self, *, everyone: bool = False) -> Sequence[LiveSessionSummary]:
        """
        The sessions in use that one's own list would show, and what each does now: first those that wait for a permission.

        Raises:
            Forbidden: `everyone` is for admins.
        """
        query = (("everyone", "true"),) if everyone else ()
        decode = reader(LiveSessionsAnswer)
        call = Call(method="GET", path="/v1/sessions/live", query=query, decode=decode, reads=True)
        return (self._daemon.ask(asked(call))).sessions

    def session_state(self, session: str) -> SessionState:
        """How a session is set, and what it does now."""
        path = f"/v1/sessions/{part(session)}/state"
        return self._daemon.ask(asked(Call(method="GET", path=path, decode=reader(SessionState), reads=True)))

    def configure_session(self, session: str, *, mode: str | None = None, model: str | None = None) -> SessionState:
        """
        Have the next turns played in this mode or by this model, each one of its options; what is None stays.

        Raises:
            InvalidInput: the session does not offer it.
            Forbidden: only the owner and admins may, or the operator has not allowed it.
        """
        path, body = f"/v1/sessions/{part(session)}/state", changed({"mode": mode, "model": model})
        call = Call(method="PATCH", path=path, body=written(body), decode=reader(SessionState))
        return self._daemon.ask(asked(call))

    def permission_requests(self, session: str) -> Sequence[PermissionRequest]:
        """What waits for an answer."""
        path = f"/v1/sessions/{part(session)}/permissions"
        call = Call(method="GET", path=path, decode=reader(PermissionsAnswer), reads=True)
        return (self._daemon.ask(asked(call))).permissions

    def answer_permission(self, session: str, request: str, choice: PermissionVoteChoice) -> PermissionVote:
        """
        Vote on it, with one of its choices or `cancel`. The answer says whether that decided it, or was only counted.

        Raises:
            NotFound: nothing of that id waits.
            PermissionResolved: it is decided already.
            PermissionForbidden: the session's policy does not let this person decide.
            Conflict: the request has no such choice.
        """
        return self._to_session(session, f"permissions/{part(request)}", PermissionVote, {"choice": choice})

    def _to_session(self, session: str, what: str, answer: type[T], body: dict[str, Json]) -> T:
        path = f"/v1/sessions/{part(session)}/{what}"
        call = Call(method="POST", path=path, body=written(body), decode=reader(answer))
        return self._daemon.ask(asked(call))
