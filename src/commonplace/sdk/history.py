# Generated from async_history.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""The part of the client that is about sessions of an agent, and what was said in them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TypeVar, Unpack

from commonplace.sdk.connection import DaemonConnection
from commonplace.sdk.documents import changed, part, query, written
from commonplace.sdk.talk import Call, asked
from commonplace.values.session import (
    MessagePage,
    Session,
    SessionChanges,
    SessionFields,
    SessionFilters,
    SessionHit,
    SessionPage,
)
from commonplace.wire.sessions import SessionDeletedAnswer, SessionHitsAnswer
from commonplace.wire.shapes import reader

T = TypeVar("T")


class DaemonHistory:
    """Sessions over a connection to a daemon."""

    _daemon: DaemonConnection

    def create_session(self, agent: str = "assistant", **fields: Unpack[SessionFields]) -> Session:
        """Begin a session with an agent. Its first message gives it a title, if it has none. Raises Conflict: the `id` is taken."""
        body = written(changed({**fields, "agent": agent}))
        return self._ask(Call(method="POST", path="/v1/sessions", body=body, decode=reader(Session)))

    def sessions(self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[SessionFilters]) -> SessionPage:
        """
        The caller's sessions and those shared with them, the one used last first. `archived`: `no` (those that are not), `yes` or `any`;
        for an admin, `everyone` lists other people's, too.
        """
        return self._look("/v1/sessions", SessionPage, {**_conditions(filters), "limit": limit, "cursor": cursor})

    def session(self, id: str) -> Session:
        """One session. Raises NotFound."""
        return self._look(f"/v1/sessions/{part(id)}", Session, {})

    def change_session(self, id: str, **changes: Unpack[SessionChanges]) -> Session:
        """Rename a session (`title`), archive it or bring it back (`archived`), share it. For its owner, and for admins."""
        path, body = f"/v1/sessions/{part(id)}", written(changed(changes))
        return self._ask(Call(method="PATCH", path=path, body=body, decode=reader(Session)))

    def delete_session(self, id: str) -> int:
        """Remove a session with every message, for good; answers how many messages. For its owner, and for admins."""
        call = Call(method="DELETE", path=f"/v1/sessions/{part(id)}", decode=reader(SessionDeletedAnswer), endless=True)
        return (self._ask(call)).messages

    def session_messages(
        self, id: str, *, after: int | None = None, before: int | None = None, limit: int = 100
    ) -> MessagePage:
        """
        What was said, in order: the first messages behind the position `after`, or the last before `before`; with neither, the last ones.
        Hidden events are left out. Raises NotFound.
        """
        parameters = {"after": after, "before": before, "limit": limit}
        return self._look(f"/v1/sessions/{part(id)}/messages", MessagePage, parameters)

    def search_sessions(
        self, query: str, *, session: str | None = None, limit: int = 10, **filters: Unpack[SessionFilters]
    ) -> builtins.list[SessionHit]:
        """
        What users and assistants said, by its words: the best of each session first. Archived sessions are searched, too, unless
        `archived` says otherwise; with `session`, that one alone.
        """
        parameters = {**_conditions(filters), "q": query, "session": session, "limit": limit}
        return [*(self._look("/v1/sessions/search", SessionHitsAnswer, parameters)).hits]

    def _look(self, path: str, answer: type[T], parameters: Mapping[str, object]) -> T:
        return self._ask(Call(method="GET", path=path, query=query(parameters), decode=reader(answer), reads=True))

    def _ask(self, call: Call[T]) -> T:
        return self._daemon.ask(asked(call))


def _conditions(filters: SessionFilters) -> dict[str, object]:
    return {**filters, "everyone": filters.get("everyone") or None}
