"""What reads of a damaged store could not read, so that somebody is told: in the log, at `/ready`, in the metrics."""

from __future__ import annotations

import logging
import threading
from typing import Final

from commonplace.values.record import Unreadable

_MOST: Final = 1_000
log = logging.getLogger("commonplace")


class DamageLog:
    """Of one open store. Each thing is logged once; beyond a thousand things they are only counted as damage."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[str, Unreadable] = {}

    def note(self, id: str, reason: str) -> Unreadable:
        item = Unreadable(id=id, reason=reason)
        with self._lock:
            if id in self._items or len(self._items) >= _MOST:
                return item
            self._items[id] = item
        log.warning("unreadable", extra={"told": {"id": id, "reason": reason}})
        return item

    @property
    def items(self) -> tuple[Unreadable, ...]:
        with self._lock:
            return tuple(self._items.values())
