"""The doors that a daemon has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from commonplace.doors.beaver import routes as beaver
from commonplace.doors.mcp import http as mcp
from commonplace.doors.native import routes as native
from commonplace.doors.qwen import routes as qwen
from commonplace.doors.qwen.session_bridges import Bridges, SessionDoorOptions
from commonplace.doors.rondoflow import routes as rondoflow
from commonplace.doors.tandem import routes as tandem
from commonplace.server.door import ApiDoor

if TYPE_CHECKING:
    from commonplace.agent.live_sessions import LiveSessions
    from commonplace.service.services import Services
    from commonplace.settings import Settings

DOORS: Final[tuple[ApiDoor, ...]] = (native.DOOR, rondoflow.DOOR, tandem.DOOR, beaver.DOOR, qwen.DOOR, mcp.DOOR)


def live_use_cases(settings: Settings, services: Services, sessions: LiveSessions) -> list[object]:
    """What the routes of sessions that are in use work with, one of each in a process."""
    options = SessionDoorOptions(
        shared=settings.agent_shared_sessions,
        most=settings.agent_sessions,
        policy=settings.agent_permission_policy,
    )
    return [sessions, Bridges(services, sessions, options)]
