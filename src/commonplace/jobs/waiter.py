"""
Waiting for the end of a job in one request, instead of polling.

A worker of this process reports each end at once, and the log of events, which every daemon follows, reports those of others.
Nobody reports some ends (that of a job whose last worker died), so each waiting request also polls, seldom, and more often if
nobody follows the log. Places are few: a request that gets none is answered at once with the job as it is, and the caller asks
again after a pause.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from commonplace.values.event import Event
from commonplace.values.principal import Principal

EACH: Final = 64
"""Requests of one caller that wait in this process."""
MOST: Final = 512
"""Requests that wait in this process."""

_LOOK_EVERY: Final = 0.25
_LOOK_SELDOM: Final = 2.0
_ENDS: Final = frozenset({"job.done", "job.failed", "job.dropped"})


class Ending(Protocol):
    @property
    def is_over(self) -> bool: ...


T = TypeVar("T", bound=Ending)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """How many seconds a caller waits. `disconnect` returns when the caller has gone away, and never before."""

    seconds: float = 0.0
    disconnect: Callable[[], Awaitable[object]] | None = None


class JobWaiter:
    """Workers call `wake` and the log of events `hear`; requests wait in `until`. `close` it before you wait for open requests."""

    def __init__(self, *, each: int = EACH, most: int = MOST, look_every: float = _LOOK_EVERY) -> None:
        self._look_every = look_every
        self._each = each
        self._most = most
        self._places: dict[str, set[asyncio.Event]] = {}
        self._held: Counter[str] = Counter()
        self._closed = False
        self._is_followed = False

    @property
    def waiting(self) -> int:
        return self._held.total()

    def hear(self, event: Event) -> None:
        """An event of the log, of whatever daemon."""
        if event.news.type in _ENDS:
            self.wake(str(event.news.data.get("job")))

    @contextmanager
    def followed(self) -> Generator[None]:
        """Inside this block the log is followed, and `hear` gets all of it."""
        self._is_followed = True
        try:
            yield
        finally:
            self._is_followed = False

    def wake(self, id: str) -> None:
        """The job has ended, or has started again: requests that wait for it look at it."""
        for bell in self._places.get(id, ()):
            bell.set()

    def close(self) -> None:
        """Answer every waiting request now, with its job as it is; no request waits any more."""
        self._closed = True
        for places in self._places.values():
            for bell in places:
                bell.set()

    async def until(self, who: Principal, id: str, wait: Wait, look: Callable[[], Awaitable[T]]) -> T:
        """What `look` returns, as soon as that is over or the wait is. Raises what `look` raises."""
        name = f"{who.tenant} {who.identity}"
        if wait.seconds <= 0 or self._closed or self._held[name] >= self._each or self.waiting >= self._most:
            return await look()
        with self._place(name, id) as bell:
            leaving = None if wait.disconnect is None else asyncio.ensure_future(_wake_on(bell, wait.disconnect))
            try:
                return await self._poll(bell, wait.seconds, look, lambda: leaving is not None and leaving.done())
            finally:
                if leaving is not None:
                    leaving.cancel()
                    await asyncio.gather(leaving, return_exceptions=True)

    async def _poll(
        self, bell: asyncio.Event, seconds: float, look: Callable[[], Awaitable[T]], has_left: Callable[[], bool]
    ) -> T:
        now, pause = asyncio.get_running_loop().time, self._look_every
        until = now() + seconds
        while True:
            # Before the look: a job that ends after it rings again.
            bell.clear()
            task = await look()
            remaining = until - now()
            if task.is_over or remaining <= 0 or self._closed or has_left():
                return task
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause, remaining)):
                    await bell.wait()
            pause = min(2 * pause, _LOOK_SELDOM) if self._is_followed else self._look_every

    @contextmanager
    def _place(self, name: str, id: str) -> Generator[asyncio.Event]:
        bell = asyncio.Event()
        self._places.setdefault(id, set()).add(bell)
        self._held[name] += 1
        try:
            yield bell
        finally:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]
            self._places[id].discard(bell)
            if not self._places[id]:
                del self._places[id]


async def _wake_on(bell: asyncio.Event, disconnect: Callable[[], Awaitable[object]]) -> None:
    await disconnect()
    bell.set()
