"""Where sessions and their messages are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from commonplace.ports.journal import Entries
from commonplace.values.session import (
    MessageDraft,
    MessagePage,
    Session,
    SessionChanges,
    SessionHit,
    SessionMessage,
    SessionPage,
)

BesideExpiry: TypeAlias = Callable[[Sequence[tuple[str, str]]], Entries]
"""What is kept together with the end of sessions, given as tenant and id each. Pure, and quick."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionFilter:
    """
    Whose sessions: those of `owner` (None: of everybody), of the workspaces `own_in` alone if that is given, and shared ones of the
    workspaces `shared_in`. `archived` None: whether they are or not. What else is None narrows nothing.
    """

    owner: str | None
    own_in: tuple[str, ...] | None = None
    shared_in: tuple[str, ...] = ()
    agent: str | None = None
    workspace: str | None = None
    archived: bool | None = False
    session: str | None = None


class HistoryStore(Protocol):
    """
    A write that returned survives a killed process. `tests/contracts/test_history.py` holds each implementation to this.
    """

    async def create_session(self, tenant: str, session: Session, entries: Entries) -> Session:
        """Raises Conflict: there is one with this id."""
        ...

    async def session(self, tenant: str, id: str) -> Session:
        """Raises NotFound."""
        ...

    async def sessions(self, tenant: str, filter: SessionFilter, limit: int, cursor: str | None = None) -> SessionPage:
        """Those used last first. Raises InvalidQuery: the cursor is not one of ours."""
        ...

    async def session_ids(self, tenant: str, filter: SessionFilter) -> list[str]:
        """All of them, by their ids: for who needs every session while others are used."""
        ...

    async def session_workspaces(self, tenant: str) -> list[str]:
        """The workspaces that sessions are about."""
        ...

    async def change_session(
        self, tenant: str, id: str, changes: SessionChanges, at: datetime, entries: Entries
    ) -> Session:
        """
        Change what `changes` names and nothing else, so that of two who change different things both do. One that is archived is so since
        `at`, or since it was. Raises NotFound.
        """
        ...

    async def append_messages(
        self,
        tenant: str,
        session: str,
        drafts: Sequence[MessageDraft],
        at: datetime,
        title: str | None = None,
        *,
        claim: str | None = None,
    ) -> list[SessionMessage]:
        """
        Keep them at the end, in order, all or none; of two writers each has places of its own. One whose id is there already is
        answered as it is. The session has been used `at`, and bears `title` if it bore none.

        Raises:
            NotFound: there is no such session.
            SessionLost: `claim` is given, and is not the one that holds the session: another process has taken it over.
        """
        ...

    async def messages(
        self,
        tenant: str,
        session: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        hidden: bool = False,
    ) -> MessagePage:
        """
        Those behind the position `after` (the first `limit` of them), or before the position `before` (the last `limit`); with
        neither, the last ones. Hidden events only if asked for. Raises NotFound.
        """
        ...

    async def search_messages(
        self, tenant: str, terms: Sequence[str], filter: SessionFilter, limit: int
    ) -> list[SessionHit]:
        """
        Texts of users and assistants that are not hidden and have some of the analysed `terms`: the best of each session, the best
        session first, then the second of each, and so on.
        """
        ...

    async def delete_session(self, tenant: str, id: str, entries: Entries) -> int:
        """
        Remove it with every message, for good; answers how many messages. An index of words may hold hashes of them until it is merged.
        Raises NotFound.
        """
        ...

    async def purge_person(self, tenant: str, owner: str, entries: Entries) -> int:
        """
        Remove the sessions of `owner`, and empty what they said in those of others, for good; answers how many sessions it removed.
        """
        ...

    async def expire_sessions(self, before: datetime, limit: int, beside: BesideExpiry) -> list[tuple[str, str]]:
        """
        Remove sessions of every tenant that nobody used since before that moment, those unused for longest first, with their messages,
        and keep what `beside` makes of them. Answers their tenants and ids.
        """
        ...

    async def load_session(self, tenant: str, session: Session, entries: Entries) -> bool:
        """Keep a session as it is, without messages. False: there is one with this id, which stays as it is."""
        ...

    async def load_messages(self, tenant: str, session: str, messages: Sequence[SessionMessage]) -> int:
        """
        Keep messages as they are, at their positions; those that are there already stay. How many were new. When the session was used
        last stays as it is. Raises NotFound, and Conflict: a position is taken by another message.
        """
        ...

    async def index_messages(self) -> int:
        """Make the words of every tenant's messages anew; answers of how many."""
        ...
