"""
What an agent may look up of earlier sessions: `session_search`, whatever memory it has.

Four forms, by what is given: a question discovers sessions in which its words were said; a session and a message scroll around that
message; a session alone is read from its end; nothing browses the sessions used last. All of it is in the reach of who speaks, since the
history is asked in their name. What is hidden never comes, nor what the agent thought; calls of tools and their results are cut short.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from commonplace.errors import InvalidInput
from commonplace.ports.history_client import HistoryClient
from commonplace.values.json import JsonObject
from commonplace.values.session import MessagePage, Session, SessionHit, SessionMessage

SearchForm = Literal["discover", "scroll", "read", "browse"]
MOST: Final = 50
CONTEXT: Final = 5
"""So many messages are shown on each side of the one that is scrolled to."""
LONGEST: Final = 2_000
"""Characters of what somebody said that are shown; of a tool's traffic fewer."""
LONGEST_CALL: Final = 300
_SHOWN: Final = frozenset({"text", "tool_call", "tool_result"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSearchRequest:
    """
    `query`: discover. `session` and `message` (a position): scroll. `session` alone: read, backwards from `before` if that is given. Nothing:
    browse. `limit` is of sessions, hits or messages; scrolling shows so many on each side.
    """

    query: str | None = None
    session: str | None = None
    message: int | None = None
    before: int | None = None
    limit: int | None = None

    @property
    def form(self) -> SearchForm:
        """Raises InvalidInput: what is given does not go together."""
        if self.query is not None and self.query.strip():
            if self.message is not None or self.before is not None:
                raise InvalidInput("Give a query, or a session and a message, not both.")
            return "discover"
        if self.session is None:
            if self.message is not None or self.before is not None:
                raise InvalidInput("A message stands in a session. Name the session, too.")
            return "browse"
        if self.message is not None and self.before is not None:
            raise InvalidInput("Give message to look around it, or before to read backwards, not both.")
        return "read" if self.message is None else "scroll"


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSearchAnswer(JsonObject):
    """
    `hits` of a question, `sessions` to browse, or the `messages` of a `session`. `before` and `after`: whether there are more messages on
    that side; `has_more`: whether there are more sessions.
    """

    form: SearchForm
    hits: tuple[SessionHit, ...] = ()
    sessions: tuple[Session, ...] = ()
    session: Session | None = None
    messages: tuple[SessionMessage, ...] = ()
    before: bool = False
    after: bool = False
    has_more: bool = False


class SessionSearch:
    """`current`: the session that asks; it is not among those that are discovered or browsed, since its agent knows it."""

    def __init__(self, history: HistoryClient, *, current: str | None = None) -> None:
        self._history = history
        self._current = current

    async def __call__(self, request: SessionSearchRequest) -> SessionSearchAnswer:
        """
        Raises:
            InvalidInput: what is given does not go together, or the limit is out of bounds.
            NotFound: there is no such session, or it is out of reach.
        """
        form = request.form
        if request.limit is not None and not 1 <= request.limit <= MOST:
            raise InvalidInput(f"The limit is a number from 1 to {MOST}.")
        if form == "discover":
            return await self._discover(request)
        if form == "scroll":
            return await self._scroll(request)
        if form == "read":
            return await self._read(request)
        return await self._browse(request)

    async def _discover(self, request: SessionSearchRequest) -> SessionSearchAnswer:
        limit = request.limit or 10
        hits = await self._history.search_sessions(
            request.query or "", session=request.session, limit=limit + (request.session is None) * limit
        )
        others = [hit for hit in hits if request.session is not None or hit.session.id != self._current]
        best = [replace(hit, message=_shortened(hit.message)) for hit in others[:limit]]
        return SessionSearchAnswer(form="discover", hits=tuple(best))

    async def _scroll(self, request: SessionSearchRequest) -> SessionSearchAnswer:
        id, message, around = request.session or "", request.message or 0, request.limit or CONTEXT
        session = await self._history.session(id)
        earlier = await self._history.session_messages(id, before=message, limit=around)
        later = await self._history.session_messages(id, after=max(message - 1, 0), limit=around + 1)
        messages = _shown(earlier) + _shown(later)
        return SessionSearchAnswer(
            form="scroll", session=session, messages=messages, before=earlier.before, after=later.after
        )

    async def _read(self, request: SessionSearchRequest) -> SessionSearchAnswer:
        id = request.session or ""
        session = await self._history.session(id)
        page = await self._history.session_messages(id, before=request.before, limit=request.limit or MOST)
        return SessionSearchAnswer(
            form="read", session=session, messages=_shown(page), before=page.before, after=page.after
        )

    async def _browse(self, request: SessionSearchRequest) -> SessionSearchAnswer:
        limit = request.limit or 10
        page = await self._history.sessions(limit=limit + 1, archived="any")
        others = tuple(session for session in page.sessions if session.id != self._current)
        more = page.cursor is not None or len(others) > limit
        return SessionSearchAnswer(form="browse", sessions=others[:limit], has_more=more)


def _shown(page: MessagePage) -> tuple[SessionMessage, ...]:
    visible = (message for message in page.messages if message.context_visible and message.kind in _SHOWN)
    return tuple(_shortened(message) for message in visible)


def _shortened(message: SessionMessage) -> SessionMessage:
    """The text cut, and of the data only which tool it was."""
    longest = LONGEST if message.kind == "text" else LONGEST_CALL
    text = message.text if len(message.text) <= longest else message.text[:longest] + "…"
    name = message.data.get("name")
    return replace(message, text=text, data={"name": name[:100]} if isinstance(name, str) else {})
