"""
What qwen-code's daemon does with a session and this one does not: said with a code of its own, so that nobody takes it for a wrong address.

`/capabilities` names none of it.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request

from commonplace.doors.qwen.session_errors import NotSupported
from commonplace.doors.qwen.session_routes import Hears

router = APIRouter(tags=["sessions"], include_in_schema=False)

UNSUPPORTED: Final = (
    "POST /session/{id}/mid-turn-message",
    "GET /session/{id}/mid-turn-messages",
    "DELETE /session/{id}/mid-turn-messages/{message}",
    "POST /session/{id}/branch",
    "POST /session/{id}/fork",
    "POST /session/{id}/side-task",
    "POST /session/{id}/rewind",
    "GET /session/{id}/rewind/snapshots",
    "POST /session/{id}/recap",
    "POST /session/{id}/btw",
    "POST /session/{id}/shell",
    "POST /session/{id}/continue",
    "POST /session/{id}/config-option",
    "POST /session/{id}/language",
    "POST /session/{id}/attachments",
    "GET /session/{id}/attachments",
    "GET /session/{id}/artifacts",
    "GET /session/{id}/export",
    "GET /session/{id}/goal",
    "GET /session/{id}/hooks",
    "GET /session/{id}/resources",
    "GET /session/{id}/supported-commands",
    "GET /session/{id}/tasks",
    "GET /session/{id}/turn-index",
)


async def refuse(request: Request, speaker: Hears) -> None:
    """Whoever does not reach the session is told that it is not there, as everywhere."""
    operation = request.scope["route"].path.removeprefix("/session/{id}/").partition("/")[0]
    raise NotSupported.of(operation, speaker.session)


for _method, _, _path in (route.partition(" ") for route in UNSUPPORTED):
    router.add_api_route(_path, refuse, methods=[_method])
