"""The part of the client that is about sessions of an agent, and what was said in them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TypeVar, Unpack

from commonplace.ports.memory_client import HistoryClient
from commonplace.sdk.async_connection import AsyncDaemonConnection
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


class AsyncHistory(HistoryClient):
    """Sessions over a connection to a daemon."""

    _daemon: AsyncDaemonConnection

    async def create_session(self, agent: str = "assistant", **fields: Unpack[SessionFields]) -> Session:
        body = written(changed({**fields, "agent": agent}))
        return await self._ask(Call(method="POST", path="/v1/sessions", body=body, decode=reader(Session)))

    async def sessions(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[SessionFilters]
    ) -> SessionPage:
        return await self._look("/v1/sessions", SessionPage, {**_conditions(filters), "limit": limit, "cursor": cursor})

    async def session(self, id: str) -> Session:
        return await self._look(f"/v1/sessions/{part(id)}", Session, {})

    async def change_session(self, id: str, **changes: Unpack[SessionChanges]) -> Session:
        path, body = f"/v1/sessions/{part(id)}", written(changed(changes))
        return await self._ask(Call(method="PATCH", path=path, body=body, decode=reader(Session)))

    async def delete_session(self, id: str) -> int:
        call = Call(method="DELETE", path=f"/v1/sessions/{part(id)}", decode=reader(SessionDeletedAnswer), endless=True)
        return (await self._ask(call)).messages

    async def session_messages(
        self, id: str, *, after: int | None = None, before: int | None = None, limit: int = 100
    ) -> MessagePage:
        parameters = {"after": after, "before": before, "limit": limit}
        return await self._look(f"/v1/sessions/{part(id)}/messages", MessagePage, parameters)

    async def search_sessions(
        self, query: str, *, session: str | None = None, limit: int = 10, **filters: Unpack[SessionFilters]
    ) -> builtins.list[SessionHit]:
        parameters = {**_conditions(filters), "q": query, "session": session, "limit": limit}
        return [*(await self._look("/v1/sessions/search", SessionHitsAnswer, parameters)).hits]

    async def _look(self, path: str, answer: type[T], parameters: Mapping[str, object]) -> T:
        return await self._ask(
            Call(method="GET", path=path, query=query(parameters), decode=reader(answer), reads=True)
        )

    async def _ask(self, call: Call[T]) -> T:
        return await self._daemon.ask(asked(call))


def _conditions(filters: SessionFilters) -> dict[str, object]:
    return {**filters, "everyone": filters.get("everyone") or None}
