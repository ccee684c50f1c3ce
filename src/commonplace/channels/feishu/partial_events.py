"""Events that came in several frames, until their last part is there. What never becomes whole is dropped."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from commonplace.ports.clock import Clock

MOST_PARTS: Final = 128
MOST_EVENTS: Final = 64
MOST_BYTES: Final = 8 << 20
"""Of all that wait."""
_PATIENCE: Final = timedelta(seconds=60)


@dataclass(kw_only=True, slots=True)
class _Event:
    parts: int
    since: datetime
    contents: dict[int, bytes] = field(default_factory=dict[int, bytes])

    @property
    def size(self) -> int:
        return sum(map(len, self.contents.values()))


class PartialEvents:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._events: OrderedDict[str, _Event] = OrderedDict()

    def put(self, id: str, parts: int, place: int, content: bytes) -> bytes | None:
        """
        The whole event, once its last part has come; in which order they come is all the same.

        Raises:
            ValueError: there is no such part, or too many.
        """
        if not (0 <= place < parts <= MOST_PARTS):
            raise ValueError(f"There is no part {place} of {parts}.")
        now = self._clock.now()
        self._drop(now)
        event = self._events.setdefault(id, _Event(parts=parts, since=now))
        if event.parts != parts:
            raise ValueError("The parts of an event differ in their number.")
        event.contents[place] = content
        if len(event.contents) == parts:
            del self._events[id]
            return b"".join(event.contents[number] for number in range(parts))
        while len(self._events) > MOST_EVENTS or sum(event.size for event in self._events.values()) > MOST_BYTES:
            self._events.popitem(last=False)
        return None

    def _drop(self, now: datetime) -> None:
        """What has waited too long. The events are in the order in which they began."""
        while self._events and now - next(iter(self._events.values())).since > _PATIENCE:
            self._events.popitem(last=False)
