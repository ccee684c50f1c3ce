"""
What there is to see of sessions at the session door: lists, how one is set and what it does, what was said in it, and the state of the
daemon; and what is done with several at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Path, Query, Request, Response

from commonplace.agent.live_sessions import LiveSessions
from commonplace.channels.admin import ChannelAdmin
from commonplace.doors.qwen.session_bridges import Bridges
from commonplace.doors.qwen.session_errors import InvalidCursor
from commonplace.doors.qwen.session_events import milliseconds, option_of, transcript_events
from commonplace.doors.qwen.session_features import SESSION_FEATURES, daemon_limits
from commonplace.doors.qwen.session_routes import Hears, Live, SessionId, Sessions
from commonplace.doors.qwen.session_shapes import (
    Archived,
    ListedSession,
    Removals,
    SessionFailure,
    SessionIdsBody,
    SessionList,
    SessionSummary,
    Transcript,
    Unarchived,
)
from commonplace.doors.qwen.session_state import state_document
from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, NotFound
from commonplace.governance.access import require_role
from commonplace.server.auth import Caller, Served, Told, use_case
from commonplace.server.door import only_conditions
from commonplace.server.options import Options
from commonplace.server.siblings import beside
from commonplace.service.services import Services
from commonplace.values.audit import ROOM_ACTIONS, AuditQuery, AuditRow
from commonplace.values.channel import RoomSpent
from commonplace.values.json import Json
from commonplace.values.moment import to_iso
from commonplace.values.permission import PermissionRequest
from commonplace.values.principal import Principal
from commonplace.values.session import Session
from commonplace.values.usage import to_usd

router = APIRouter(tags=["sessions"])
_PAGE: Final = 20
_LARGEST_PAGE: Final = 100
_MOST_IDS: Final = 100
_LARGEST_TRANSCRIPT: Final = 500
_AUDIT_ROWS: Final = 512
_STARTED: Final = time.time()
_ARCHIVED: Final = {"active": "no", "archived": "yes", "all": "any"}


# ---- lists


@router.get("/workspace/{cwd:path}/sessions", summary="Which sessions there are")
async def sessions(
    request: Request,
    cwd: Annotated[str, Path(max_length=4_096, description="The workspace, as /capabilities names it.")],
    who: Caller,
    served: Served,
    bridges: Sessions,
    live: Live,
    size: Annotated[str | None, Query(max_length=20, description="1 to 100; 20 unless you say so.")] = None,
    cursor: Annotated[str | None, Query(max_length=500, description="The `nextCursor` of the page before.")] = None,
    archive_state: Annotated[
        str | None, Query(alias="archiveState", max_length=20, description="`active` (default), `archived` or `all`.")
    ] = None,
) -> SessionList:
    """Yours, and those shared with you; the one used last comes first."""
    if cwd != bridges.workspace_id:
        bridges.require_workspace(cwd)
    archived = _ARCHIVED.get(archive_state or "active")
    if archived is None:
        raise InvalidInput("`archiveState` must be active, archived or all")
    page = await served.history.sessions(
        who,
        {"workspace": bridges.workspace_id, "archived": cast(Any, archived)},
        limit=_number(size, "size", default=_PAGE, most=_LARGEST_PAGE),
        cursor=cursor,
    )
    listed = [
        ListedSession(**_summary(bridges, live, who, session), is_archived=session.archived_at is not None)
        for session in page.sessions
    ]
    for answer in await beside(request):
        listed = _joined(listed, SessionList.model_validate(answer).sessions)
    return SessionList(sessions=listed, next_cursor=page.cursor)


def _joined(ours: Sequence[ListedSession], theirs: Sequence[ListedSession]) -> list[ListedSession]:
    """Each as the worker tells it that leads it: the others know nothing of what it does."""
    busy = {session.session_id: session for session in theirs if session.client_count or session.has_active_prompt}
    return [busy.get(session.session_id, session) for session in ours]


@router.get("/session/{id}/status", summary="What a session does")
async def status(speaker: Hears, bridges: Sessions, live: Live) -> SessionSummary:
    session = await bridges.session(speaker.who, speaker.session)
    return SessionSummary(**_summary(bridges, live, speaker.who, session))


# ---- one session


@router.get("/session/{id}/context", summary="How a session is set")
async def context(speaker: Hears, bridges: Sessions, live: Live) -> dict[str, Json]:
    state = await live.state(speaker.who, speaker.session)
    return {**_head(bridges, speaker.session), "state": state_document(state.options)}


@router.get("/session/{id}/context-usage", summary="How full a prompt of the session is")
async def context_usage(speaker: Hears, bridges: Sessions, live: Live) -> dict[str, Json]:
    """As the last turn told it. What the parts of a prompt take is not counted one by one."""
    state = await live.state(speaker.who, speaker.session)
    context = speaker.bridge.stats.context
    used, size = (0, state.options.context) if context is None else (context.used, context.size)
    free = max(size - used, 0)
    usage: dict[str, Json] = {
        "modelName": state.options.model,
        "totalTokens": used,
        "contextWindowSize": size,
        "breakdown": {
            "systemPrompt": 0,
            "builtinTools": 0,
            "mcpTools": 0,
            "memoryFiles": 0,
            "skills": 0,
            "messages": 0,
            "unattributed": used,
            "freeSpace": free,
            "autocompactBuffer": 0,
        },
        "builtinTools": [],
        "mcpTools": [],
        "memoryFiles": [],
        "skills": [],
        "isEstimated": context is None,
        "showDetails": False,
    }
    text = f"## Context Usage\n\nModel: {state.options.model}\n\nUsed {used:,} of {size:,} tokens; {free:,} are free."
    return {**_head(bridges, speaker.session), "usage": usage, "formattedText": text}


@router.get("/session/{id}/stats", summary="What the turns of a session took")
async def stats(speaker: Hears, bridges: Sessions, served: Served, response: Response) -> dict[str, Json]:
    """Since the session was taken up."""
    response.headers["Cache-Control"] = "no-store"
    return {**_head(bridges, speaker.session), **speaker.bridge.stats.document(served.desk.clock.now())}


@router.get("/session/{id}/transcript", summary="What was said in a session, page by page")
async def transcript(
    id: SessionId,
    who: Caller,
    served: Served,
    bridges: Sessions,
    response: Response,
    limit: Annotated[str | None, Query(max_length=20, description="1 to 500 messages.")] = None,
    cursor: Annotated[str | None, Query(max_length=500, description="The `nextCursor` of the page before.")] = None,
) -> Transcript:
    """Also of a session that nobody has loaded."""
    session = await bridges.session(who, id)
    page = await served.history.messages(
        who,
        session.id,
        after=_position(cursor),
        limit=_number(limit, "limit", default=_LARGEST_TRANSCRIPT, most=_LARGEST_TRANSCRIPT),
    )
    response.headers["Cache-Control"] = "no-store"
    return Transcript(
        session_id=session.id,
        events=transcript_events(session, page.messages),
        next_cursor=str(page.messages[-1].position) if page.after and page.messages else None,
        has_more=page.after,
        start_time=session.created_at,
        last_updated=session.updated_at,
    )


# ---- several at once


@router.post("/sessions/delete", summary="Delete sessions with all that was said in them, for good")
async def delete(who: Caller, bridges: Sessions, body: SessionIdsBody = SessionIdsBody()) -> Removals:  # noqa: B008 - frozen
    require_role(who, "writer")

    async def remove(id: str) -> bool:
        await bridges.remove(who, id)
        return True

    removed, _, lost, errors = await _each(body, remove)
    return Removals(removed=removed, not_found=lost, errors=errors)


@router.post("/sessions/archive", summary="Archive sessions")
async def archive(who: Caller, bridges: Sessions, body: SessionIdsBody = SessionIdsBody()) -> Archived:  # noqa: B008 - frozen
    """Their turns end. What was said is kept, and they are not listed unless somebody asks for archived ones."""

    require_role(who, "writer")

    async def put_away(id: str) -> bool:
        return await bridges.archive(who, id, archived=True)

    archived, already, lost, errors = await _each(body, put_away)
    return Archived(archived=archived, already_archived=already, not_found=lost, errors=errors)


@router.post("/sessions/unarchive", summary="Take sessions out of the archive")
async def unarchive(who: Caller, bridges: Sessions, body: SessionIdsBody = SessionIdsBody()) -> Unarchived:  # noqa: B008 - frozen
    require_role(who, "writer")

    async def bring_back(id: str) -> bool:
        return await bridges.archive(who, id, archived=False)

    unarchived, already, lost, errors = await _each(body, bring_back)
    return Unarchived(unarchived=unarchived, already_active=already, not_found=lost, errors=errors)


# ---- the daemon


@router.get("/daemon/status", summary="How the daemon is")
async def daemon_status(
    request: Request,
    who: Caller,
    served: Served,
    bridges: Sessions,
    live: Live,
    options: Told,
    admin: Annotated[ChannelAdmin, use_case(ChannelAdmin)],
) -> dict[str, Json]:
    """Counts are of the caller's tenant. Admins see what chat and rooms with a budget have cost, too."""
    open_here = [*bridges.of_tenant(who.tenant)]
    activities = [live.activity(who.tenant, bridge.session) for bridge in open_here]
    prompts = [prompt for activity in activities for prompt in activity.prompts]
    running = sum(prompt.state == "running" for prompt in prompts)
    now = served.desk.clock.now()
    document: dict[str, Json] = {
        "v": 1,
        "detail": "summary",
        "generatedAt": to_iso(now),
        "status": "ok",
        "issues": [],
        "daemon": {
            "pid": os.getpid(),
            "uptimeMs": round((time.time() - _STARTED) * 1000),
            "mode": "native",
            "workspaceCwd": str(bridges.workspace),
            "daemonId": f"daemon:{os.getpid()}",
        },
        "security": _security(options),
        "limits": dict[str, Json](daemon_limits(bridges.options)),
        "capabilities": {
            "protocolVersions": {"current": "v1", "supported": ["v1"]},
            "features": list[Json](SESSION_FEATURES),
        },
        "runtime": _sum(
            {
                "sessions": {"active": len(open_here)},
                "permissions": {
                    "pending": sum(len(activity.permissions) for activity in activities),
                    "policy": bridges.options.policy,
                },
                "transport": {"restSseActive": sum(bridge.ring.listeners for bridge in open_here)},
                "rateLimit": {"enabled": bool(options.rate_limits)},
                "activity": {
                    "activePrompts": running,
                    "pendingPrompts": len(prompts),
                    "queuedPrompts": len(prompts) - running,
                },
            },
            [answer["runtime"] for answer in await beside(request)],
        ),
    }
    with suppress(Forbidden):
        document["budget"] = await _budget(who, served, admin)
    return document


def _security(options: Options) -> dict[str, Json]:
    return {
        "tokenConfigured": True,
        "requireAuth": not options.open_to_all,
        "loopbackBind": options.is_local,
        "allowOriginConfigured": bool(options.allowed_origins),
        "sessionShellCommandEnabled": False,
    }


async def _budget(who: Principal, served: Services, admin: ChannelAdmin) -> dict[str, Json]:
    """Raises Forbidden."""
    budget = await served.budgets.read(who, limit=0)
    return {
        "chatDailyUsd": to_usd(budget.chat.daily),
        "chatSpentUsd": to_usd(budget.chat.spent),
        "resetsAt": to_iso(budget.resets_at),
        "rooms": [_room_budget(spent) for spent in await admin.budgets(who)],
    }


def _sum(counts: dict[str, Json], others: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """What all the workers count, together; the rest is the same for all."""
    result = dict(counts)
    for other in others:
        for name, value in other.items():
            before = result.get(name)
            if isinstance(value, dict) and isinstance(before, dict):
                result[name] = _sum(before, [value])
            elif isinstance(value, int) and isinstance(before, int) and not isinstance(value, bool):
                result[name] = before + value
    return result


@router.get(
    "/workspace/audit",
    summary="Who asked for what, what was permitted, and what rooms did by themselves",
    dependencies=[only_conditions()],
)
async def workspace_audit(who: Caller, served: Served, bridges: Sessions) -> dict[str, Json]:
    """The last 512 rows, newest first. For reviewers."""
    page = await served.keeping.audit(who, AuditQuery(actions=ROOM_ACTIONS), limit=_AUDIT_ROWS, cursor=None)
    return {"v": 1, "workspaceCwd": str(bridges.workspace), "rows": [_audit_row(row) for row in page.rows]}


# ---- shapes


def _head(bridges: Bridges, session: str) -> dict[str, Json]:
    return {"v": 1, "sessionId": session, "workspaceCwd": str(bridges.workspace)}


def _summary(bridges: Bridges, live: LiveSessions, who: Principal, session: Session) -> dict[str, Any]:
    """Its name may have changed since it was taken up: `session` is how it is now."""
    activity, bridge = live.activity(who.tenant, session), bridges.find(who, session.id)
    failure = None if bridge is None else bridge.translator.failure
    return {
        "session_id": session.id,
        "workspace_cwd": str(bridges.workspace),
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "display_name": session.title,
        "source_type": session.source,
        "client_count": 0 if bridge is None else len(bridge.clients),
        "has_active_prompt": bool(activity.prompts),
        "active_work_state": "active" if activity.prompts else "idle",
        "is_waiting_for_permission": bool(activity.permissions),
        "pending_interaction_count": len(activity.permissions),
        "pending_interactions": [_interaction(request) for request in activity.permissions],
        "has_turn_error": failure is not None,
        "turn_error": None if failure is None else {"message": failure.message, "code": failure.code},
    }


def _interaction(request: PermissionRequest) -> dict[str, Json]:
    options: list[Json] = []
    for choice in request.choices:
        option = option_of(choice)
        options.append({"optionId": option["optionId"], "label": option["name"], "kind": option["kind"]})
    asked_at = None if request.terms is None else to_iso(request.terms.asked_at)
    return {
        "requestId": request.id,
        "kind": "permission",
        "createdAt": asked_at,
        "action": {"type": request.kind, "title": request.title, "input": dict(request.arguments)},
        "options": options,
    }


def _room_budget(spent: RoomSpent) -> dict[str, Json]:
    return {
        "channel": spent.room.channel,
        "chatId": spent.room.chat,
        "limitUsd": spent.limit_usd,
        "spentUsd": spent.spent_usd,
        "estimatedUsd": spent.estimated_usd,
        "limitTokens": spent.limit_tokens,
        "tokens": spent.tokens,
        "resetsAt": None if spent.until is None else to_iso(spent.until),
    }


def _audit_row(row: AuditRow) -> dict[str, Json]:
    details = {_camel(name): value for name, value in row.details.items()}
    return {
        "kind": row.action,
        "recordedAtMs": milliseconds(row.at),
        "actor": row.actor,
        "outcome": row.outcome,
        "runId": row.run,
        "scope": None if row.scope is None else str(row.scope),
        "clientId": row.client,
        "requestId": details.pop("permission", None),
        "sessionId": details.pop("session", None),
        **details,
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


# ---- what was sent


async def _each(
    body: SessionIdsBody, work: Callable[[str], Awaitable[bool]]
) -> tuple[list[str], list[str], list[str], list[SessionFailure]]:
    """Of which it holds now, of which it did before, which are not there, and what else went wrong."""
    changed, before, lost, errors = list[str](), list[str](), list[str](), list[SessionFailure]()
    for id in dict.fromkeys(_ids(body.session_ids)):
        try:
            (changed if await work(id) else before).append(id)
        except NotFound:
            lost.append(id)
        except CommonplaceError as error:
            errors.append(SessionFailure(session_id=id, error=error.message))
    return changed, before, lost, errors


def _ids(value: object) -> list[str]:
    """Raises InvalidInput."""
    ids: Sequence[object] = cast(Sequence[object], value) if isinstance(value, list) else ()
    if not ids or len(ids) > _MOST_IDS or not all(isinstance(id, str) and 0 < len(id) <= 128 for id in ids):
        raise InvalidInput(f"`sessionIds` must be a list of 1 to {_MOST_IDS} ids")
    return [str(id) for id in ids]


def _number(text: str | None, name: str, *, default: int, most: int) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= most:
        raise InvalidInput(f"`{name}` must be a whole number from 1 to {most}")
    return int(text)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 16):
        raise InvalidCursor
    return int(cursor)
