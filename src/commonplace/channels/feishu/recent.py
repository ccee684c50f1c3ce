"""Work that is done once for each of the last events, however often the platform brings one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, Final

from commonplace.ports.clock import Clock
from commonplace.values.json import Json

Answer = dict[str, Json]
_MEMORY: Final = timedelta(minutes=5)
_MOST: Final = 5_000


class RecentWork:
    """Work that fails is forgotten, so that it is done when the event is brought again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: OrderedDict[str, tuple[datetime, asyncio.Task[Answer]]] = OrderedDict()

    def begin(self, key: str, work: Callable[[], Coroutine[Any, Any, Answer]]) -> asyncio.Task[Answer]:
        """The work that is done for the key, or was."""
        now = self._clock.now()
        self._drop(now)
        if key in self._entries:
            return self._entries[key][1]
        task = asyncio.create_task(work())
        self._entries[key] = (now, task)
        task.add_done_callback(lambda task: self._forget_failure(key, task))
        return task

    async def aclose(self) -> None:
        tasks = {task for _, task in self._entries.values() if not task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._entries.clear()

    def _forget_failure(self, key: str, task: asyncio.Task[Answer]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._entries.pop(key, None)

    def _drop(self, now: datetime) -> None:
        for key, (at, task) in list(self._entries.items()):
            if now - at <= _MEMORY and len(self._entries) <= _MOST:
                return
            if task.done():
                del self._entries[key]
