"""Counters that several daemons spend from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol


class Quotas(Protocol):
    """`tests/contracts/test_quotas.py` holds each implementation to this."""

    async def spend(
        self, tenant: str, name: str, window: timedelta, amounts: Mapping[str, int], limits: Mapping[str, int]
    ) -> bool:
        """
        Add `amounts` to the counters of `name` in the window that is running now, unless one of them would then pass its
        limit: then nothing is added and the answer is False. A window begins when the first one after its end is spent.
        An amount without a limit is only counted. A negative one gives back what was not used; no counter falls below zero,
        so that giving back after the window's end makes the next one no larger. One statement decides, so that two callers
        cannot both have the last.
        """
        ...

    async def spent(self, tenant: str, name: str, window: timedelta) -> dict[str, int]:
        """The counters of the window that is running now; empty where none is."""
        ...

    async def trim_quotas(self) -> int:
        """Forget the windows that are over; answers how many there were."""
        ...
