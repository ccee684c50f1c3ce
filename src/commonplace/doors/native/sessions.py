"""
Sessions of an agent at the native door: what was said. Nothing here is memory: `/v1/search` finds none of it.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import TypeAdapter

from commonplace.agent.live_sessions import LiveSessions, by_urgency
from commonplace.doors.native.conditions import problems
from commonplace.server.auth import Caller, Served, use_case
from commonplace.server.siblings import beside
from commonplace.values.session import MessagePage, Session, SessionPage
from commonplace.wire.sessions import (
    LiveSessionsAnswer,
    LiveSessionsQuery,
    MessagesQuery,
    SessionBody,
    SessionChangeBody,
    SessionDeletedAnswer,
    SessionHitsAnswer,
    SessionSearchQuery,
    SessionsQuery,
)
from commonplace.wire.shapes import Label

router = APIRouter(prefix="/v1/sessions", tags=["native"])

SessionId = Annotated[Label, Path(description="The session's id.")]
_LIVE: Final = TypeAdapter(LiveSessionsAnswer)
Live = Annotated[LiveSessions, use_case(LiveSessions)]


@router.post("", status_code=201, summary="Begin a session with an agent", responses=problems(409))
async def create(body: SessionBody, who: Caller, served: Served) -> Session:
    """It is yours. If it is `shared`, whoever reaches its workspace reads it and speaks in it."""
    return await served.history.create(who, body.agent, body.fields())


@router.get("", summary="List sessions, the one used last first", responses=problems())
async def sessions(query: Annotated[SessionsQuery, Query()], who: Caller, served: Served) -> SessionPage:
    """Yours, and those shared with you. Archived ones only if `archived` is `yes` or `any`."""
    filters = query.filters(query.archived)
    return await served.history.sessions(who, filters, limit=query.limit, cursor=query.cursor)


@router.get("/search", summary="Search what was said", responses=problems(404))
async def search(query: Annotated[SessionSearchQuery, Query()], who: Caller, served: Served) -> SessionHitsAnswer:
    """
    By words, in what users and assistants said: the best of each session first. Hidden events, thoughts and the traffic of tools are never
    found, nor sessions of others.
    """
    filters = query.filters(query.archived)
    hits = await served.history.search(who, query.q, filters, session=query.session, limit=query.limit)
    return SessionHitsAnswer(tuple(hits))


@router.get("/live", summary="List the sessions that are in use, and what each does now", responses=problems())
async def live_sessions(
    request: Request, query: Annotated[LiveSessionsQuery, Query()], who: Caller, sessions: Live
) -> LiveSessionsAnswer:
    """
    Yours, and those shared with you, whoever opened them and with which program: first those that wait for a permission, then those that play a
    turn. `session.activity` at `/v1/events` says when to look again.
    """
    summaries = [*await sessions.activities(who, everyone=query.everyone)]
    # Each worker knows those that it leads.
    for answer in await beside(request):
        summaries += _LIVE.validate_python(answer).sessions
    return LiveSessionsAnswer(by_urgency(summaries))


@router.get("/{id}", summary="Look at a session", responses=problems(404))
async def session(id: SessionId, who: Caller, served: Served) -> Session:
    return await served.history.session(who, id)


@router.patch("/{id}", summary="Rename, archive or share a session", responses=problems(404, 409, 421))
async def change(id: SessionId, body: SessionChangeBody, who: Caller, served: Served, live: Live) -> Session:
    """For its owner, and for admins. One that is archived ends its turn."""
    if body.archived:
        await live.require_here(who, id)
    changed = await served.history.change(who, id, body.changes())
    if body.archived:
        await live.let_go(who.tenant, changed.id)
    else:
        live.doubt(who.tenant, changed.id)
    return changed


@router.delete(
    "/{id}", summary="Delete a session with all that was said in it, for good", responses=problems(404, 409, 421)
)
async def delete(id: SessionId, who: Caller, served: Served, live: Live) -> SessionDeletedAnswer:
    """For its owner, and for admins. Its turn ends; it cannot be undone."""
    # First: a turn that is played would write behind what is removed.
    session = await served.history.own(who, id)
    await live.require_here(who, session.id)
    await live.let_go(who.tenant, session.id, forget=True)
    return SessionDeletedAnswer(id, await served.history.delete(who, id))


@router.get("/{id}/messages", summary="Read what was said", responses=problems(404))
async def messages(id: SessionId, query: Annotated[MessagesQuery, Query()], who: Caller, served: Served) -> MessagePage:
    """In order. Without `after` and `before` the last ones; hidden events are left out."""
    return await served.history.messages(who, id, after=query.after, before=query.before, limit=query.limit)
