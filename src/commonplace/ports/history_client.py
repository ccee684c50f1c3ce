"""How the history is used: sessions of an agent, and what was said in them. See `memory_client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Whoever only searches memory needs none of them.
    import builtins
    from typing import Unpack

    from commonplace.values.session import (
        MessagePage,
        Session,
        SessionChanges,
        SessionFields,
        SessionFilters,
        SessionHit,
        SessionPage,
    )


class HistoryClient(Protocol):
    """What was said. A session is whose it is; if it is shared, whoever reaches its workspace reads it and speaks in it."""

    async def create_session(self, agent: str = "assistant", **fields: Unpack[SessionFields]) -> Session:
        """Begin a session with an agent. Its first message gives it a title, if it has none. Raises Conflict: the `id` is taken."""
        ...

    async def sessions(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[SessionFilters]
    ) -> SessionPage:
        """
        The caller's sessions and those shared with them, the one used last first. `archived`: `no` (those that are not), `yes` or `any`;
        for an admin, `everyone` lists other people's, too.
        """
        ...

    async def session(self, id: str) -> Session:
        """One session. Raises NotFound."""
        ...

    async def change_session(self, id: str, **changes: Unpack[SessionChanges]) -> Session:
        """Rename a session (`title`), archive it or bring it back (`archived`), share it. For its owner, and for admins."""
        ...

    async def delete_session(self, id: str) -> int:
        """Remove a session with every message, for good; answers how many messages. For its owner, and for admins."""
        ...

    async def session_messages(
        self, id: str, *, after: int | None = None, before: int | None = None, limit: int = 100
    ) -> MessagePage:
        """
        What was said, in order: the first messages behind the position `after`, or the last before `before`; with neither, the last ones.
        Hidden events are left out. Raises NotFound.
        """
        ...

    async def search_sessions(
        self, query: str, *, session: str | None = None, limit: int = 10, **filters: Unpack[SessionFilters]
    ) -> builtins.list[SessionHit]:
        """
        What users and assistants said, by its words: the best of each session first. Archived sessions are searched, too, unless
        `archived` says otherwise; with `session`, that one alone.
        """
        ...
