"""The log of events, shared by every daemon on a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from commonplace.values.event import Event


class EventLog(Protocol):
    """
    Events are written through a `Journal`, with what they tell of. `tests/contracts/test_event_log.py` holds each
    implementation to this.
    """

    async def read_events(self, after: int, limit: int, *, tenant: str | None = None) -> list[Event]:
        """Events with greater ids than `after`, in order. None: of every tenant."""
        ...

    async def event_range(self) -> tuple[int, int]:
        """
        The earliest id that is kept and the latest one given. After everything was trimmed the earliest is the one after
        the latest; a new log has (1, 0).
        """
        ...

    def follow_events(self, after: int) -> AsyncIterator[Sequence[Event]]:
        """
        Every event with a greater id than `after`, in order, each once, as soon as it is there; it ends only when the
        store is closed or the iterator is. A store that goes away is waited for.
        """
        ...

    async def trim_events(self, *, before: datetime, keep: int) -> int:
        """Forget events older than `before`, and the oldest beyond `keep`. A group goes as a whole. How many that were."""
        ...
