"""How much one sender may say in a short while, so that others are served too."""

from __future__ import annotations

from collections import OrderedDict, deque
from datetime import datetime, timedelta
from typing import Final, Literal

MOST: Final = 10
WINDOW: Final = timedelta(seconds=30)
_SENDERS: Final = 4_096


class SenderLimits:
    """At most `most` messages of one sender in a window. Who goes beyond is told once, and then left unanswered until it is over."""

    def __init__(self, most: int = MOST, window: timedelta = WINDOW) -> None:
        self._most = most
        self._window = window
        self._times: OrderedDict[str, deque[datetime]] = OrderedDict()
        self._told: set[str] = set()

    def take(self, sender: str, now: datetime) -> Literal["taken", "refused", "refused_again"]:
        times = self._times.setdefault(sender, deque())
        self._times.move_to_end(sender)
        while len(self._times) > _SENDERS:
            self._told.discard(self._times.popitem(last=False)[0])
        while times and now - times[0] >= self._window:
            times.popleft()
        if len(times) < self._most:
            times.append(now)
            self._told.discard(sender)
            return "taken"
        if sender in self._told:
            return "refused_again"
        self._told.add(sender)
        return "refused"
