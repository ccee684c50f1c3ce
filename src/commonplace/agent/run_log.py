"""
The events of a turn in its run. They are kept in their order, several at once where they come quickly, and nothing waits for them but the end of the
turn: what must survive a killed process is in the history.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from commonplace.errors import CommonplaceError
from commonplace.service.runs import Runs
from commonplace.values.json import Json
from commonplace.values.principal import Principal
from commonplace.values.run import PatchDraft, RunDraft, RunEventDraft, RunStatus

LOGGER: Final = logging.getLogger("commonplace")


class TurnRun:
    """`draft` is the run as it is made, with the first event."""

    def __init__(self, runs: Runs, who: Principal, draft: RunDraft) -> None:
        self._runs = runs
        self._who = who
        self._draft = draft
        self._run: str | None = None
        self._events: list[RunEventDraft] = []
        self._work: asyncio.Task[None] | None = None

    def note(
        self,
        type: str,  # noqa: A002 - as runs call it
        payload: Mapping[str, Json],
        *,
        status: RunStatus | None = None,
        patch: PatchDraft | None = None,
    ) -> None:
        self._events.append(RunEventDraft(type=type, payload=payload, status=status, patch=patch))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._keep())

    async def settle(self) -> None:
        """Wait until all is kept."""
        while self._work is not None and not self._work.done():
            await asyncio.wait({self._work})

    async def _keep(self) -> None:
        try:
            if self._run is None:
                self._run = (await self._runs.create(self._who, self._draft)).run_id
            while self._events:
                events, self._events = self._events, []
                await self._runs.append_all(self._who, self._run, events)
        except CommonplaceError as error:
            # A turn does not fail because it cannot be replayed.
            LOGGER.warning("a run is not kept: %s", error.code)
            self._events.clear()
