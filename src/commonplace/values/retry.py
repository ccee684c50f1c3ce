"""How often to try again, and how long to pause in between."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

_MOST_DOUBLINGS: Final = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """
    The pauses between attempts: `first` seconds, then twice as long each time, at most `longest`. A factor between the two of
    `jitter` is drawn for each, so that callers who failed together do not come back together.
    """

    first: float
    longest: float = math.inf
    jitter: tuple[float, float] = (1.0, 1.0)

    def after(self, attempt: int) -> float:
        """Seconds to pause after this attempt, of which the first is 1."""
        pause = math.ldexp(self.first, min(attempt - 1, _MOST_DOUBLINGS))
        return min(pause, self.longest) * random.uniform(*self.jitter)


CONFLICT: Final = Backoff(first=0.02, longest=0.02, jitter=(0.0, 1.0))
"""After a write that somebody else was faster with. What they wrote decides what to write now."""


class _Attempts:
    def __init__(self, limit: int, backoff: Backoff, sleep: Callable[[float], Awaitable[object]]) -> None:
        self._limit = limit
        self._backoff = backoff
        self._sleep = sleep
        self._number = 0

    def __aiter__(self) -> AsyncIterator[int]:
        return self

    async def __anext__(self) -> int:
        if self._number >= self._limit:
            raise StopAsyncIteration
        if self._number:
            await self._sleep(self._backoff.after(self._number))
        self._number += 1
        return self._number


def attempts(
    limit: int, backoff: Backoff = CONFLICT, *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> AsyncIterator[int]:
    """
    The numbers 1 to `limit`, with a pause before each but the first. Leave the loop as soon as an attempt succeeds:

        async for _ in attempts(20):
            try:
                return await write()
            except RecordChanged:
                continue
        raise RecordChanged
    """
    return _Attempts(limit, backoff, sleep)
