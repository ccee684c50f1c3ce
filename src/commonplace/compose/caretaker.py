"""
What a daemon does every hour, for a memory inside a program: sessions that nobody has written to for long end, in memory and in the history, old runs
and artifacts go, the audit is sealed, and room on the disk is reserved. It is done when the memory is closed, and every hour while it is open; never more than once an hour a store, and no
write waits for it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from commonplace.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.service.services import Services

EVERY: Final = timedelta(hours=1)
PATIENCE: Final = 2.0
"""Seconds that closing may take longer for it. What is not done by then is done the next time."""


class Caretaker:
    """`begin` it in a running loop, and `aclose` it before the store."""

    def __init__(self, services: Services, *, every: timedelta = EVERY, patience: float = PATIENCE) -> None:
        self._services = services
        self._every = every
        self._patience = patience
        self._hourly: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._hourly = asyncio.create_task(self._again_and_again())

    async def aclose(self) -> None:
        """Stop, and do what is due."""
        if self._hourly is not None:
            self._hourly.cancel()
            await asyncio.wait({self._hourly})
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self.look_after()

    async def look_after(self) -> bool:
        """Do it all, unless somebody did within the hour; the last seal tells. A store that cannot be written is left as it is."""
        # They load slowly, and a program that closes its memory within the hour needs none of them.
        from commonplace.service.seals import seal_audit  # noqa: PLC0415
        from commonplace.service.upkeep import tidy_files  # noqa: PLC0415

        desk = self._services.desk
        with suppress(CommonplaceError):
            seals = (await desk.store.seals.state(1)).seals
            if seals and desk.clock.now() - seals[0].at < self._every:
                return False
            await desk.store.maintenance.keep_reserve()
            await self._services.keeping.end_sessions()
            await self._services.history.expire()
            await seal_audit(desk)
            await tidy_files(self._services)
            return True
        return False

    async def _again_and_again(self) -> None:
        while True:
            await asyncio.sleep(self._every.total_seconds())
            await self.look_after()
