"""
Waiting for the end of a task in one request, instead of looking at it again and again.

A worker of this process tells of each end at once, and the log of events, which every daemon follows, tells of those of others.
Some ends are told by nobody (that of a job whose last worker died), so whoever waits also looks by itself, seldom, and less seldom
where nobody follows the log. Places are few: whoever finds none is told at once how the task stands, as an older daemon would
tell, and asks again after a pause.
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
    """For how many seconds somebody waits. `left` returns when they have gone away, and never while they are there."""

    seconds: float = 0.0
    left: Callable[[], Awaitable[object]] | None = None


class JobWaiter:
    """`told` and `hear` are for those who know of ends, `until` for those who wait. `close` it before requests are waited for."""

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
            self.told(str(event.news.data.get("job")))

    @contextmanager
    def followed(self) -> Generator[None]:
        """Meanwhile the log is followed, and `hear` hears all of it."""
        self._is_followed = True
        try:
            yield
        finally:
            self._is_followed = False

    def told(self, id: str) -> None:
        """The job has ended, or has begun anew: it is worth a look."""
        for rung in self._places.get(id, ()):
            rung.set()

    def close(self) -> None:
        """Whoever waits is told how the task stands, now; nobody waits any more."""
        self._closed = True
        for places in self._places.values():
            for rung in places:
                rung.set()

    async def until(self, who: Principal, id: str, wait: Wait, look: Callable[[], Awaitable[T]]) -> T:
        """What `look` finds, as soon as that is over; as it stands when the wait is. Raises what `look` raises."""
        name = f"{who.tenant} {who.identity}"
        if wait.seconds <= 0 or self._closed or self._held[name] >= self._each or self.waiting >= self._most:
            return await look()
        with self._place(name, id) as rung:
            leaving = None if wait.left is None else asyncio.ensure_future(_rung(rung, wait.left))
            try:
                return await self._found(rung, wait.seconds, look, lambda: leaving is not None and leaving.done())
            finally:
                if leaving is not None:
                    leaving.cancel()
                    await asyncio.gather(leaving, return_exceptions=True)

    async def _found(
        self, rung: asyncio.Event, seconds: float, look: Callable[[], Awaitable[T]], has_left: Callable[[], bool]
    ) -> T:
        now, pause = asyncio.get_running_loop().time, self._look_every
        until = now() + seconds
        while True:
            # Before the look: what ends after it rings again.
            rung.clear()
            found = await look()
            left = until - now()
            if found.is_over or left <= 0 or self._closed or has_left():
                return found
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause, left)):
                    await rung.wait()
            pause = min(2 * pause, _LOOK_SELDOM) if self._is_followed else self._look_every

    @contextmanager
    def _place(self, name: str, id: str) -> Generator[asyncio.Event]:
        rung = asyncio.Event()
        self._places.setdefault(id, set()).add(rung)
        self._held[name] += 1
        try:
            yield rung
        finally:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]
            self._places[id].discard(rung)
            if not self._places[id]:
                del self._places[id]


async def _rung(rung: asyncio.Event, left: Callable[[], Awaitable[object]]) -> None:
    await left()
    rung.set()
