"""
The agents of a daemon, or of a command without one: sessions that are live, and what plays their turns.

What talks to models takes seconds to load, and is an extra: it is loaded when somebody first says something.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from commonplace.agent.live_session import PermissionParts, Player
from commonplace.agent.live_sessions import LiveSessions, SessionParts
from commonplace.agent.mediator import MediatorOptions
from commonplace.agent.permissions import Permissions, WorkspaceRules
from commonplace.agent.rooms import RoomRegistry
from commonplace.agent.session_claims import ClaimedHistory, SessionClaims
from commonplace.errors import ModelUnavailable
from commonplace.jobs.leases import worker_name
from commonplace.values.session_lease import LeaseHolder

if TYPE_CHECKING:
    from commonplace.service.services import Services
    from commonplace.settings import Settings
    from commonplace.values.permission_entry import PermissionEntry
    from commonplace.values.principal import Principal
    from commonplace.values.session import Session

_MISSING: Final = "An agent needs an extra: pip install 'commonplace[agent]'."
_NO_QUORUM: Final = (
    "agent_permission_quorum counts only if agent_permission_policy is consensus. Remove the one, or set the other."
)
_LOOP: Final = "commonplace.compose.agent_loop"


@asynccontextmanager
async def live_sessions(
    settings: Settings,
    services: Services,
    *,
    holder: LeaseHolder | None = None,
    rooms: RoomRegistry | None = None,
) -> AsyncGenerator[LiveSessions]:
    """
    Sessions over these services, stopped at the end. `holder` is this process, if requests reach it; a program that is no daemon has none. `rooms`
    says which sessions are those of rooms.
    """
    registry = rooms or RoomRegistry()
    if settings.agent_permission_quorum is not None and settings.agent_permission_policy != "consensus":
        # Python shows the same warning of the same line once.
        warnings.warn(_NO_QUORUM, stacklevel=2)
    async with AsyncExitStack() as stack:
        claims = claims_of(settings, services, holder or LeaseHolder(process=worker_name()))
        history = ClaimedHistory(services.history, claims)
        loading = asyncio.Lock()
        loops: list[Player] = []

        async def load() -> Player:
            async with loading:
                if not loops:
                    loops.append(await _loaded(settings, services, history, stack, registry))
                return loops[0]

        sessions = LiveSessions(
            SessionParts(
                history=history,
                permissions=PermissionParts(
                    rules=partial(_permissions, settings),
                    clock=services.desk.clock,
                    options=MediatorOptions(
                        policy=settings.agent_permission_policy,
                        quorum=settings.agent_permission_quorum,
                        seconds=settings.agent_permission_seconds,
                    ),
                    note=partial(_note_permissions, services, registry),
                    options_of=registry.permission_options,
                ),
                load=load,
                clock=services.desk.clock,
                claims=claims,
            ),
            most=settings.agent_sessions,
        )
        try:
            yield sessions
        finally:
            # Before what their turns use is closed.
            await sessions.aclose()


def claims_of(settings: Settings, services: Services, holder: LeaseHolder) -> SessionClaims:
    """What this process leads, of which there is nothing yet."""
    leases, lease = services.desk.store.session_leases, timedelta(seconds=settings.agent_lease_seconds)
    return SessionClaims(leases, services.desk.clock, holder, lease=lease)


async def _loaded(
    settings: Settings, services: Services, history: ClaimedHistory, stack: AsyncExitStack, rooms: RoomRegistry
) -> Player:
    try:
        module = await asyncio.to_thread(import_module, _LOOP)
    except ImportError as error:
        raise ModelUnavailable(_MISSING) from error
    return await stack.enter_async_context(module.player(settings, services, history, rooms))


async def _note_permissions(
    services: Services, rooms: RoomRegistry, tenant: str, session: Session, entries: Sequence[PermissionEntry]
) -> None:
    await services.permission_log.note(tenant, session, entries, room=rooms.scope(tenant, session.id))


def _permissions(settings: Settings, who: Principal, session: Session) -> Permissions:
    workspace = session.workspace or session.folder
    rules = (
        WorkspaceRules(home=settings.home, tenant=who.tenant, subject=who.subject, workspace=workspace)
        if workspace
        else None
    )
    return Permissions(rules, allow_all=settings.agent_allow_all)
