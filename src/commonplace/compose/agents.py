"""
The agents of a daemon, or of a command without one: sessions that are live, and what plays their turns.

What talks to models takes seconds to load, and is an extra: it is loaded when somebody first says something.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from commonplace.agent.live_session import Play
from commonplace.agent.live_sessions import LiveSessions, SessionParts
from commonplace.agent.permissions import Permissions, WorkspaceRules
from commonplace.errors import ModelUnavailable

if TYPE_CHECKING:
    from commonplace.service.services import Services
    from commonplace.settings import Settings
    from commonplace.values.principal import Principal
    from commonplace.values.session import Session

_MISSING: Final = "An agent needs an extra: pip install 'commonplace[agent]'."
_LOOP: Final = "commonplace.compose.agent_loop"


@asynccontextmanager
async def live_sessions(settings: Settings, services: Services) -> AsyncGenerator[LiveSessions]:
    """Sessions over these services, stopped at the end."""
    async with AsyncExitStack() as stack:
        loading = asyncio.Lock()
        loops: list[Play] = []

        async def load() -> Play:
            async with loading:
                if not loops:
                    loops.append(await _loaded(settings, services, stack))
                return loops[0]

        sessions = LiveSessions(
            SessionParts(
                history=services.history,
                permissions=partial(_permissions, settings),
                load=load,
                clock=services.desk.clock,
            ),
            most=settings.agent_sessions,
            alone=settings.workers == 1,
        )
        try:
            yield sessions
        finally:
            # Before what their turns use is closed.
            await sessions.aclose()


async def _loaded(settings: Settings, services: Services, stack: AsyncExitStack) -> Play:
    try:
        module = await asyncio.to_thread(import_module, _LOOP)
    except ImportError as error:
        raise ModelUnavailable(_MISSING) from error
    loop = await stack.enter_async_context(module.turn_loop(settings, services))
    return loop.play


def _permissions(settings: Settings, who: Principal, session: Session) -> Permissions:
    workspace = session.workspace or session.folder
    rules = (
        WorkspaceRules(home=settings.home, tenant=who.tenant, subject=who.subject, workspace=workspace)
        if workspace
        else None
    )
    return Permissions(rules, seconds=settings.agent_permission_seconds, allow_all=settings.agent_allow_all)
