"""What a daemon does besides answering: tasks that run from its start to its end."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import anyio

from commonplace.compose.work import (
    follow_embedders,
    follow_events,
    follow_files,
    follow_sessions,
    look_for_damage,
    warm_up,
    work_on_jobs,
)
from commonplace.server.auth import AppState
from commonplace.server.logs import log
from commonplace.settings import Settings
from commonplace.values.retry import Backoff

Background: TypeAlias = Callable[[AppState, Settings], Awaitable[None]]

BACKGROUND: Final[tuple[Background, ...]] = (
    follow_events,
    follow_files,
    follow_embedders,
    follow_sessions,
    work_on_jobs,
    warm_up,
    look_for_damage,
)
"""Each runs in every worker; what must happen once is claimed by lease."""

_BACKOFF: Final = Backoff(first=1.0, longest=60.0)


@asynccontextmanager
async def at_work(tasks: Sequence[Background], app_state: AppState, settings: Settings) -> AsyncGenerator[None]:
    """All tasks at work, until the block ends."""
    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(_kept_at_work, task, app_state, settings)
        yield
        group.cancel_scope.cancel()


async def _kept_at_work(task: Background, app_state: AppState, settings: Settings) -> None:
    """A task that fails is logged and begun again, after a pause that grows."""
    failures = 1
    while True:
        begun = anyio.current_time()
        try:
            await task(app_state, settings)
        except Exception as error:
            log(logging.ERROR, "background", error, task=getattr(task, "__name__", "task"))
        else:
            return
        failures = 1 if anyio.current_time() - begun > _BACKOFF.longest else failures + 1
        await anyio.sleep(_BACKOFF.after(failures))
