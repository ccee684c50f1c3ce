"""How long recalls took lately, minute by minute, in the process that answered them."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from commonplace.values.census import Latency, Quantiles

MINUTES: Final = 60
MOST: Final = 2_000
"""Times kept of a minute. Of more, a fair sample is."""


@dataclass(slots=True)
class _Minute:
    number: int
    count: int = 0
    times: list[float] = field(default_factory=list[float])

    def add(self, seconds: float) -> None:
        self.count += 1
        if len(self.times) < MOST:
            self.times.append(seconds)
        elif (place := random.randrange(self.count)) < MOST:
            self.times[place] = seconds


class Latencies:
    """`now` tells seconds since 1970."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._since = now()
        self._minutes: deque[_Minute] = deque(maxlen=MINUTES)

    def add(self, seconds: float) -> None:
        number = int(self._now() // 60)
        if not self._minutes or self._minutes[-1].number != number:
            self._minutes.append(_Minute(number))
        self._minutes[-1].add(seconds)

    def told(self) -> Latency:
        first = int(self._now() // 60) - MINUTES
        minutes = [one for one in self._minutes if one.number > first]
        times = [seconds for one in minutes for seconds in one.times]
        return Latency(
            since=_moment(self._since),
            whole=_quantiles(times, sum(one.count for one in minutes)),
            minutes=tuple((_moment(one.number * 60.0), _quantiles(one.times, one.count)) for one in minutes),
        )


def _quantiles(times: Sequence[float], count: int) -> Quantiles:
    if not times:
        return Quantiles()
    ordered = sorted(times)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    return Quantiles(count=count, p50=at(0.5), p95=at(0.95), p99=at(0.99))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
